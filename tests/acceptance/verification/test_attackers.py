"""Attackers of the network whom other scenarios do not play; some of them are not caught, and the tests say so."""

from dataclasses import replace

import pytest
from verification_challenge import answer_of, drawn_and_answered, opened_by, penalties, rewards
from verification_network import JOB, PRICE, Network, result, scenario
from verification_results import all_commit_and_tag, all_reveal
from verification_roles import ANYONE, BOND, Roles
from verification_votes import YES, committee

from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import calls
from tests.support import _generated_events as chain_events

pytestmark = pytest.mark.asyncio(loop_scope="session")
RIGHT, WRONG = result(1), result(2)
START_TIMEOUT_MS = 36_000
SHORT_JOB = replace(JOB, max_duration_ms=12_000)
SERVICE = replace(JOB, kind=gen.TaskKind.SERVICE)


# --- a host that sends heartbeats but serves no pod ------------------------------------------------------------------


@scenario()
async def test_a_host_that_sends_heartbeats_and_starts_no_pod_is_unpaid_and_slashed(net: Network, roles: Roles) -> None:
    client, host, start = net.client, roles.hosts[0], net.now
    job = await net.assigned(roles)
    requeue = calls.tasks_requeue(lease=job.leases[0])
    assert await client.outcomes((ANYONE, requeue)) == ["Tasks.LeaseNotStuck"]
    await net.past(net.now.timestamp_ms + START_TIMEOUT_MS)
    await client.do(host, calls.hosts_heartbeat())
    lost = await client.do(ANYONE, requeue)

    requeued = lost.one(chain_events.TasksRequeued)
    assert (requeued.reason, [bill.paid for bill in requeued.bills]) == (gen.RequeueReasonStartTimeout(), [0])
    (slashed,) = client.events(chain_events.HostsSlashed, host=host.address)
    assert slashed.fault == gen.Fault.START_TIMEOUT
    assert BOND // 1_000 <= slashed.amount <= BOND // 200, "0.1 % to 0.5 %, by the time that the tenant waited"
    assert await net.state_of(job.task) == "Queued", "another host can take it"
    score = await net.score(host, lost.block)
    assert score.completed.positive == 0
    assert score.start_latency.negative > 0
    assert await net.gained(roles.providers[0], start, net.now) == -slashed.amount
    assert await net.gained(roles.tenant, start, net.now) == 0
    await client.do(roles.tenant, calls.tasks_cancel(task=job.task))


@scenario()
async def test_a_host_that_reports_a_start_and_computes_nothing_is_not_paid(net: Network, roles: Roles) -> None:
    client, host, start = net.client, roles.hosts[0], net.now
    job = await net.running(roles, of=SHORT_JOB)
    expire = calls.tasks_expire_lease(lease=job.leases[0])
    assert await client.outcomes((ANYONE, expire)) == ["Tasks.LeaseNotDepleted"]
    await net.past(net.now.timestamp_ms + 12_000 + 6_000 + 1_000)
    ended = (await client.do(ANYONE, expire)).one(chain_events.TasksLeaseEnded)

    assert [bill.paid for bill in ended.bills] == [0]
    assert await net.state_of(job.task) == "Failed(DurationExceeded)"
    (slashed,) = client.events(chain_events.HostsSlashed, host=host.address)
    assert slashed.fault == gen.Fault.LOST_POD
    score = await net.score(host, net.now)
    assert (score.completed.positive, score.completed.negative > 0) == (0, True)
    assert await net.gained(roles.providers[0], start, net.now) == -slashed.amount
    assert await net.gained(roles.tenant, start, net.now) == 0


@scenario()
async def test_a_host_that_reports_a_start_of_a_service_and_serves_nothing_is_paid(net: Network, roles: Roles) -> None:
    """Not caught: nothing probes whether a pod serves. The tenant ends the service, and pays until then."""
    client, start = net.client, net.now
    job = await net.running(roles, of=SERVICE)
    await net.past(net.now.timestamp_ms + 3_000)
    await client.do(roles.tenant, calls.tasks_end(task=job.task))
    await client.do(roles.tenant, calls.tasks_accept_result(task=job.task))
    await net.settle(job.task)
    assert client.events(chain_events.HostsSlashed, host=roles.hosts[0].address) == []
    assert await net.gained(roles.providers[0], start, net.now) > 0
    assert await net.gained(roles.tenant, start, net.now) < 0


# --- hosts that collude ----------------------------------------------------------------------------------------------


@scenario(hosts=2)
async def test_two_colluding_hosts_verify_a_wrong_result(net: Network, roles: Roles) -> None:
    """Not caught: the chain compares results, and nobody computes them again."""
    client, start = net.client, net.now
    job = await net.running(roles, replicas=2)
    await all_commit_and_tag(net, roles, job, WRONG, WRONG)
    await all_reveal(net, roles, job, WRONG, WRONG)
    closed = await client.event(chain_events.VerificationResultsClosed, task=job.task)
    assert closed.event.outcome == gen.ResultsOutcomeAgreed(WRONG.digest, 0)
    await net.settle(job.task)
    assert await net.gained(roles.tenant, start, net.now) == -2 * PRICE
    assert client.events(chain_events.VerificationReplicaRejected, task=job.task) == []


@scenario(hosts=3)
async def test_two_of_three_colluding_hosts_have_the_honest_one_slashed(net: Network, roles: Roles) -> None:
    """Not caught, and an honest host pays for it: three replicas do not help against two of one owner."""
    client, start = net.client, net.now
    job = await net.running(roles, replicas=3)
    what = (RIGHT, WRONG, WRONG)
    await all_commit_and_tag(net, roles, job, *what)
    await all_reveal(net, roles, job, *what)
    closed = await client.event(chain_events.VerificationResultsClosed, task=job.task)
    assert closed.event.outcome == gen.ResultsOutcomeAgreed(WRONG.digest, 0)
    honest, slashed = roles.hosts[0], BOND  # three deposits of such a job are more
    assert client.events(chain_events.HostsSlashed, host=honest.address) == [
        chain_events.HostsSlashed(honest.address, gen.Fault.WRONG_RESULT, slashed)
    ]
    await net.settle(job.task)
    assert await net.gained(roles.providers[0], start, net.now) == -slashed


# --- votes that are not revealed -------------------------------------------------------------------------------------


@scenario(verified=False)
async def test_members_that_withhold_their_reveals_lose_more_than_they_delay(net: Network, roles: Roles) -> None:
    """Two of three members commit and do not reveal: another committee judges, and the host is verified by it."""
    client, provider, params = net.client, roles.providers[0], net.params
    matter = await opened_by(net, provider, roles)
    first = await drawn_and_answered(net, provider, roles, matter)
    await first.commit(YES, YES, YES)
    await first.reveal(YES)
    former = [member.address for member in first.members]
    parties = {roles.hosts[0].address, provider.address}
    second = await committee(client, matter, size=params.committee_size, parties=parties, former=former, turn=1)
    withholding = {member.address for member in first.members[1:]}
    assert penalties(net, matter) == dict.fromkeys(withholding, (gen.PenaltyReason.ABSENT, params.absence_penalty))
    assert not withholding & {member.address for member in second.members}, "nobody judges the same matter twice"

    await client.do(roles.hosts[0], answer_of(matter.value))
    await second.votes(YES, YES, YES)
    closed = await client.event(chain_events.VerificationChallengeClosed, challenge=matter.value)
    assert closed.event.outcome == gen.ChallengeOutcome.PASSED
    assert set(rewards(net, matter)) == {member.address for member in second.members}, "nobody gains by withholding"
    assert (await net.host(roles.hosts[0])).status.tag == "Verified"


@scenario(verified=False)
async def test_one_member_that_withholds_its_reveal_changes_nothing_and_pays_the_others(
    net: Network, roles: Roles
) -> None:
    client, provider, params = net.client, roles.providers[0], net.params
    matter = await opened_by(net, provider, roles)
    found = await drawn_and_answered(net, provider, roles, matter)
    await found.commit(YES, YES, YES)
    await found.reveal(YES, YES)
    closed = await client.event(chain_events.VerificationChallengeClosed, challenge=matter.value)
    assert closed.event.outcome == gen.ChallengeOutcome.PASSED
    silent = found.members[2].address
    assert penalties(net, matter) == {silent: (gen.PenaltyReason.ABSENT, params.absence_penalty)}
    share = (params.challenge_fee + params.absence_penalty) // 2
    assert rewards(net, matter) == {member.address: share for member in found.members[:2]}
