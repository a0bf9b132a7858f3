"""Hosts of different providers work out the same job; their results are bound, shown and compared."""

import pytest
from verification_hashes import result_commitment
from verification_network import (
    FEE,
    PRICE,
    TREASURY_FEE,
    WEIGHT_OF_DEPOSIT,
    WEIGHT_OF_PRICE,
    Job,
    Network,
    result,
    scenario,
)
from verification_results import all_commit_and_tag, all_reveal, commit, reveal, salt_of, shows, tag, tags
from verification_roles import ANYONE, BOND, Roles

from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import calls, storage
from tests.support import _generated_events as chain_events
from tests.support.chain_records import ANY_RATE

pytestmark = pytest.mark.asyncio(loop_scope="session")
RIGHT, WRONG, ODD = result(1), result(2), result(3)
SLASH = BOND
"""Three deposits of such a job are more than the bond."""
TO_TENANT, TO_HOST = 2 * TREASURY_FEE // 4, 2 * TREASURY_FEE // 4 // 2
"""A quarter of the treasury's fees for two leases that agree, and half of another one."""


async def a_third_is_asked(net: Network, roles: Roles, job: Job, wanted: int) -> Job:
    """The third host takes the pod that is wanted, and starts it."""
    asked = await net.client.event(chain_events.VerificationExtraPodWanted, task=job.task)
    assert asked.event.wanted == wanted
    pod = gen.PodPlacement(2, roles.hosts[2].address, b"\0", ANY_RATE)
    placed = await net.client.do(roles.tenant, calls.tasks_assign(task=job.task, pods=[pod]))
    ((lease, *_),) = placed.one(chain_events.TasksAssigned).leases
    await net.started(roles, 2, lease)
    return Job(job.task, (*job.leases, lease))


async def paid(net: Network, job: Job) -> dict[int, int]:
    """What each lease of the task costs its tenant, once it is settled."""
    assert await net.state_of(job.task) == "Verified"
    settled = (await net.settle(job.task)).one(chain_events.TasksSettled)
    assert all(bill.fee == bill.paid // FEE for bill in settled.bills)
    assert await net.state_of(job.task) == "Settled"
    return {bill.lease: bill.paid for bill in settled.bills}


@scenario(hosts=2)
async def test_equal_results_of_two_hosts_verify_the_task_and_both_are_paid(net: Network, roles: Roles) -> None:
    client, start = net.client, net.now
    job = await net.running(roles, replicas=2)
    await all_commit_and_tag(net, roles, job, RIGHT, RIGHT)
    await all_reveal(net, roles, job, RIGHT, RIGHT)
    closed = await client.event(chain_events.VerificationResultsClosed, task=job.task)
    assert closed.event.outcome == gen.ResultsOutcomeAgreed(RIGHT.digest, 0)
    assert (await client.event(chain_events.TasksVerified, task=job.task)).block == closed.block
    assert await client.read(storage.verification_results, job.task) is None

    assert await paid(net, job) == dict.fromkeys(job.leases, PRICE)
    assert await net.gained(roles.tenant, start, net.now) == -2 * PRICE
    for provider, host in zip(roles.providers, roles.hosts, strict=True):
        assert await net.gained(provider, start, net.now) == PRICE - PRICE // FEE
        score = await net.score(host, closed.block)
        assert (score.verified.positive, score.verified.negative) == (WEIGHT_OF_PRICE, 0)
        assert (await net.score(host, net.now)).settled_leases == 1
    assert not client.events(chain_events.VerificationReplicaRejected, task=job.task)


@scenario(hosts=3)
async def test_a_third_host_decides_and_the_wrong_host_is_unpaid_and_slashed(net: Network, roles: Roles) -> None:
    client, start = net.client, net.now
    job = await net.running(roles, replicas=2)
    await all_commit_and_tag(net, roles, job, RIGHT, WRONG)
    job = await a_third_is_asked(net, roles, job, wanted=3)
    assert not client.events(chain_events.VerificationResultRevealed, task=job.task), "there is nothing to copy"
    await commit(net, roles, job, 2, RIGHT)
    await tag(net, roles, job, 2, RIGHT)
    await all_reveal(net, roles, job, RIGHT, WRONG, RIGHT)

    closed = await client.event(chain_events.VerificationResultsClosed, task=job.task)
    assert closed.event.outcome == gen.ResultsOutcomeAgreed(RIGHT.digest, 0)
    liar, slashed = roles.hosts[1], SLASH
    rejected = chain_events.VerificationReplicaRejected(
        job.task, job.leases[1], liar.address, gen.Misconduct.WRONG_RESULT
    )
    assert client.events(chain_events.VerificationReplicaRejected, task=job.task) == [rejected]
    assert client.events(chain_events.HostsSlashed, host=liar.address) == [
        chain_events.HostsSlashed(liar.address, gen.Fault.WRONG_RESULT, slashed)
    ]
    assert client.events(chain_events.TasksLeaseEnded, lease=job.leases[1])[-1].reason.tag == "DisputeLost"
    assert await paid(net, job) == {job.leases[0]: PRICE, job.leases[1]: 0, job.leases[2]: PRICE}
    earned = PRICE - PRICE // FEE
    gained = [await net.gained(who, start, net.now) for who in (roles.tenant, *roles.providers)]
    assert gained == [TO_TENANT - 2 * PRICE, earned + TO_HOST, -slashed, earned + TO_HOST]
    shared = client.events(chain_events.VerificationSlashShared, task=job.task)
    accounts = (roles.tenant, roles.providers[0], roles.providers[2])
    assert {one.who: one.amount for one in shared} == dict(
        zip([who.address for who in accounts], (TO_TENANT, TO_HOST, TO_HOST), strict=True)
    )
    score = await net.score(liar, closed.block)
    assert (score.verified.positive, score.verified.negative) == (0, WEIGHT_OF_DEPOSIT)
    assert await net.faults_of(roles.providers[1]) == 2_000_000
    record = await net.host(liar)
    assert (record.status.tag, record.bond) == ("Suspended", BOND - slashed)


@scenario(hosts=3, hosts_pay=True)
async def test_a_copied_result_cannot_be_revealed_and_a_third_host_is_asked(net: Network, roles: Roles) -> None:
    client, start = net.client, net.now
    job = await net.running(roles, replicas=2)
    honest, copier = roles.hosts[:2]
    direct = calls.tasks_report_result(lease=job.leases[0], result=RIGHT)
    bound = result_commitment(RIGHT, salt_of(honest.address), honest.address)
    theft = calls.verification_commit_result(lease=job.leases[0], commitment=bound)
    early = (honest, tags(job, 0, RIGHT)), (honest, shows(roles, job, 0, RIGHT))
    refused = await client.outcomes((honest, direct), *early, (copier, theft))
    assert refused == ["Tasks.ResultsAreCompared", *["Verification.NoSuchResults"] * 2, "Tasks.NotHostOfLease"]

    await commit(net, roles, job, 0, RIGHT)
    refused = await client.outcomes((honest, theft), *early)
    assert refused == ["Tasks.LeaseNotActive", "Verification.NotTagging", "Verification.NotRevealing"], "bound, once"
    copied = calls.verification_commit_result(lease=job.leases[1], commitment=bound)
    await client.do(copier, copied)
    await tag(net, roles, job, 0, RIGHT)
    assert await client.outcomes((honest, tags(job, 0, WRONG))) == ["Verification.AlreadyTagged"]
    # The tag of the other, which the copier cannot know otherwise.
    opened = await tag(net, roles, job, 1, RIGHT)
    await reveal(net, roles, job, 0, RIGHT)
    # With everything that the other showed.
    stolen = calls.verification_reveal_result(lease=job.leases[1], result=RIGHT, salt=salt_of(honest.address))
    vote = calls.verification_commit_vote(matter=gen.MatterResults(job.task), commitment=bound)
    refused = await client.outcomes((copier, stolen), (copier, vote))
    assert refused == ["Verification.CommitmentMismatch", "Verification.NoVoteOnResults"]

    job = await a_third_is_asked(net, roles, job, wanted=2)
    until = opened.one(chain_events.VerificationResultsOpened).until
    asked = await client.event(chain_events.VerificationExtraPodWanted, task=job.task)
    assert client.blocks[asked.block.ref.number - 2].timestamp_ms > until, "nobody is rejected before its time"
    await commit(net, roles, job, 2, RIGHT)
    await tag(net, roles, job, 2, RIGHT)
    await reveal(net, roles, job, 2, RIGHT)
    await client.event(chain_events.VerificationResultsClosed, task=job.task)
    rejected = chain_events.VerificationReplicaRejected(
        job.task, job.leases[1], copier.address, gen.Misconduct.RESULT_NOT_REVEALED
    )
    assert client.events(chain_events.VerificationReplicaRejected, task=job.task) == [rejected]
    assert await paid(net, job) == {job.leases[0]: PRICE, job.leases[1]: 0, job.leases[2]: PRICE}
    earned = PRICE - PRICE // FEE
    gained = [await net.gained(who, start, net.now) for who in (roles.tenant, *roles.providers)]
    assert gained == [-2 * PRICE, earned, -SLASH, earned]
    advance = calls.verification_advance(matter=gen.MatterResults(job.task))
    assert await client.outcomes((ANYONE, advance)) == ["Verification.NoSuchResults"]


@scenario(hosts=3)
async def test_a_task_with_three_different_results_fails_unpaid(net: Network, roles: Roles) -> None:
    client, start = net.client, net.now
    job = await net.running(roles, replicas=2)
    await all_commit_and_tag(net, roles, job, RIGHT, WRONG)
    job = await a_third_is_asked(net, roles, job, wanted=3)
    await commit(net, roles, job, 2, ODD)
    await tag(net, roles, job, 2, ODD)
    await assert_no_agreement(net, roles, job)
    assert [await net.gained(who, start, net.now) for who in (roles.tenant, *roles.providers)] == [0] * 4
    assert client.events(chain_events.VerificationReplicaRejected, task=job.task) == []
    assert client.events(chain_events.VerificationResultRevealed, task=job.task) == []


@scenario(hosts=2)
async def test_a_task_without_a_third_host_in_time_fails_unpaid(net: Network, roles: Roles) -> None:
    start = net.now
    job = await net.running(roles, replicas=2)
    await all_commit_and_tag(net, roles, job, RIGHT, WRONG)
    asked = await net.client.event(chain_events.VerificationExtraPodWanted, task=job.task)
    closed = await assert_no_agreement(net, roles, job)
    assert closed - asked.block.timestamp_ms > net.params.result_commit_ms
    assert [await net.gained(who, start, net.now) for who in (roles.tenant, *roles.providers)] == [0] * 3


async def assert_no_agreement(net: Network, roles: Roles, job: Job) -> int:
    """Gives when that was found out."""
    closed = await net.client.event(chain_events.VerificationResultsClosed, task=job.task)
    assert closed.event.outcome == gen.ResultsOutcomeNoAgreement()
    assert await net.state_of(job.task) == "Failed(NoAgreement)"
    (ended,) = net.client.events(chain_events.TasksNotVerified, task=job.task)
    assert {bill.lease: bill.paid for bill in ended.bills} == dict.fromkeys(job.leases, 0)
    for host in roles.hosts:
        record = await net.host(host)
        assert (record.status.tag, record.bond, record.live_leases) == ("Online", BOND, 0)
    return closed.block.timestamp_ms
