"""Somebody says that a result is wrong: evidence, juries, appeals, and who pays in the end."""

from collections.abc import Sequence

import pytest
from verification_dispute import LOG, disputed
from verification_network import FEE, PRICE, WEIGHT_OF_DEPOSIT, WEIGHT_OF_PRICE, Network, scenario
from verification_roles import ANYONE, BOND, VERIFIERS, Roles
from verification_votes import NO, YES, Committee, committee

from offchain.adapters.chain.typed import GantryChain
from offchain.ports import Block, Call, Signer
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import calls, storage
from tests.support import _generated_events as chain_events

pytestmark = pytest.mark.asyncio(loop_scope="session")
CONTRACT, PHOTO = (bytes([number] * 32) for number in (22, 23))
OPENER = list(VERIFIERS.values())[2]
SLASHED = BOND * 3 // 10


async def jury_of(
    net: Network, roles: Roles, matter: gen.MatterDispute, former: Sequence[Committee] = (), by: Signer | None = None
) -> Committee:
    """The next jury: of none that is a party or sat before, and larger after an appeal."""
    parties = {who.address for who in (roles.tenant, *roles.providers, by or roles.tenant)}
    gone = [member.address for jury in former for member in jury.members]
    size = net.params.appeal_jury_size if former else net.params.jury_size
    return await committee(net.client, matter, size=size, parties=parties, former=gone, turn=len(former))


async def decided(
    net: Network, jury: Committee, verdict: gen.Vote, level: int
) -> chain_events.VerificationDisputeDecided:
    """The jury votes: all say the same but the last, who loses for it."""
    other = NO if verdict == YES else YES
    *majority, last = jury.members
    await jury.votes(*[verdict] * len(majority), other)
    found = await net.client.event(chain_events.VerificationDisputeDecided, task=jury.matter.value, level=level)
    assert found.event.verdict == verdict
    lost, fee = net.params.minority_penalty, net.params.jury_fee
    rewarded = {
        e.who: e.amount for e in net.client.events(chain_events.VerificationVerifierRewarded, matter=jury.matter)
    }
    penalised = {e.who: e for e in net.client.events(chain_events.VerificationVerifierPenalised, matter=jury.matter)}
    assert {who.address: rewarded.get(who.address) for who in majority} == dict.fromkeys(
        (who.address for who in majority), (fee + lost) // len(majority)
    )
    assert (penalised[last.address].reason, penalised[last.address].amount) == (gen.PenaltyReason.MINORITY, lost)
    return found.event


async def closed(net: Network, matter: gen.MatterDispute, outcome: gen.DisputeOutcome) -> Block:
    found = await net.client.event(chain_events.VerificationDisputeClosed, task=matter.value)
    assert found.event.outcome == outcome
    assert await net.client.read(storage.verification_disputes, matter.value) is None
    resolved = await net.client.event(chain_events.TasksDisputeResolved, task=matter.value)
    assert (resolved.block, resolved.event.upheld) == (found.block, outcome == gen.DisputeOutcome.UPHELD)
    return found.block


@scenario(hosts=1)
async def test_an_upheld_complaint_refunds_the_tenant_and_slashes_the_host(net: Network, roles: Roles) -> None:
    client, tenant, provider, host = net.client, roles.tenant, roles.providers[0], roles.hosts[0]
    start, stake, fee = net.now, net.params.dispute_stake, net.params.jury_fee
    job = await net.reported(roles)
    matter = await disputed(net, tenant, job)

    def names(digest: bytes) -> Call:
        return calls.verification_add_evidence(task=job.task, digest=digest)

    tried = await client.outcomes(
        (provider, names(CONTRACT)),
        (tenant, names(PHOTO)),
        (tenant, names(CONTRACT)),
        (ANYONE, names(PHOTO)),
        (tenant, calls.verification_appeal(task=job.task)),
        (tenant, calls.verification_open_dispute(task=job.task, accused=list(job.leases), evidence=LOG)),
        (tenant, calls.tasks_accept_result(task=job.task)),
        (ANYONE, calls.tasks_settle(task=job.task)),
    )
    assert tried == [
        "",
        "",
        "Verification.TooMuchEvidence",
        "Verification.NotParty",
        "Verification.NotAppealable",
        "Verification.AlreadyDisputed",
        "Tasks.NotReported",
        "Tasks.NotSettleable",
    ]
    record = await client.must(storage.verification_disputes, job.task)
    assert [(one.by, one.digest) for one in record.evidence if one.by == tenant.address] == [
        (tenant.address, LOG),
        (tenant.address, PHOTO),
    ]
    assert (provider.address, CONTRACT) in [(one.by, one.digest) for one in record.evidence]
    assert record.stakes == (gen.Stake(tenant.address, stake, 0, YES),)

    await client.event(chain_events.VerificationJuryAwaited, task=job.task, level=0)
    late = await client.outcomes((tenant, names(PHOTO)), (ANYONE, calls.verification_advance(matter=matter)))
    assert late[0] == "Verification.NotHearing"
    assert late[1] in ("Verification.WaitsForSeed", "Verification.NotDue")
    jury = await jury_of(net, roles, matter)
    said = await decided(net, jury, YES, level=0)
    assert said.appeal_until is not None
    appeal = calls.verification_appeal(task=job.task)
    assert await client.outcomes((tenant, appeal), (ANYONE, appeal)) == ["Verification.NotLosingSide"] * 2
    record = await client.must(storage.verification_disputes, job.task)
    assert (record.phase, record.verdict) == (gen.DisputePhase.DECIDED, YES)

    end = await closed(net, matter, gen.DisputeOutcome.UPHELD)
    assert await net.state_of(job.task) == "Failed(DisputeLost)"
    assert client.events(chain_events.VerificationFeeRefunded, task=job.task) == [
        chain_events.VerificationFeeRefunded(job.task, tenant.address, fee)
    ]
    assert client.events(chain_events.VerificationStakeReturned, task=job.task) == [
        chain_events.VerificationStakeReturned(job.task, tenant.address, stake - fee)
    ]
    assert client.events(chain_events.HostsSlashed, host=host.address) == [
        chain_events.HostsSlashed(host.address, gen.Fault.WRONG_RESULT, SLASHED)
    ]
    assert await net.gained(tenant, start, net.now) == 0
    assert await net.gained(provider, start, net.now) == -SLASHED - fee
    found = await net.host(host)
    assert (found.status.tag, found.bond) == ("Online", BOND - SLASHED - fee)
    assert await net.faults_of(provider) == 2_000_000
    conduct = await net.conduct(tenant, end)
    assert (conduct.disputes.positive, conduct.disputes.negative) == (WEIGHT_OF_DEPOSIT, 0)


@scenario(hosts=1)
async def test_a_rejected_complaint_costs_its_stake_and_the_host_is_paid(net: Network, roles: Roles) -> None:
    client, tenant, provider, host = net.client, roles.tenant, roles.providers[0], roles.hosts[0]
    start, stake, fee = net.now, net.params.dispute_stake, net.params.jury_fee
    job = await net.reported(roles)
    matter = await disputed(net, tenant, job)
    jury = await jury_of(net, roles, matter)
    await decided(net, jury, NO, level=0)
    assert await client.outcomes((provider, calls.verification_appeal(task=job.task))) == ["Verification.NotLosingSide"]
    end = await closed(net, matter, gen.DisputeOutcome.REJECTED)
    assert client.events(chain_events.VerificationStakeLost, task=job.task) == [
        chain_events.VerificationStakeLost(job.task, tenant.address, stake - fee)
    ]
    assert await net.state_of(job.task) == "Verified"
    (bill,) = (await net.settle(job.task)).one(chain_events.TasksSettled).bills
    assert (bill.paid, bill.fee) == (PRICE, PRICE // FEE)
    assert await net.gained(tenant, start, net.now) == -stake - PRICE
    assert await net.gained(provider, start, net.now) == PRICE - PRICE // FEE
    record = await net.host(host)
    assert (record.status.tag, record.bond) == ("Online", BOND)
    conduct = await net.conduct(tenant, end)
    assert (conduct.disputes.positive, conduct.disputes.negative) == (0, WEIGHT_OF_PRICE)


@scenario(hosts=1)
async def test_an_appeal_doubles_the_stake_and_a_larger_jury_decides(net: Network, roles: Roles) -> None:
    client, tenant, provider, host = net.client, roles.tenant, roles.providers[0], roles.hosts[0]
    start, stake, fee = net.now, net.params.dispute_stake, net.params.jury_fee
    job = await net.reported(roles)
    matter = await disputed(net, tenant, job)
    first = await jury_of(net, roles, matter)
    await decided(net, first, NO, level=0)

    appealed = (await client.do(tenant, calls.verification_appeal(task=job.task))).one(
        chain_events.VerificationAppealed
    )
    assert (appealed.by, appealed.stake, appealed.level) == (tenant.address, 2 * stake, 1)
    await client.do(tenant, calls.verification_add_evidence(task=job.task, digest=PHOTO))
    second = await jury_of(net, roles, matter, [first])
    assert len(second.members) == net.params.appeal_jury_size > len(first.members)
    assert not set(second.members) & set(first.members)
    await decided(net, second, YES, level=1)

    await closed(net, matter, gen.DisputeOutcome.UPHELD)
    # Both juries are paid by the bond of the host; with the slash, less than half of it is left.
    assert await net.gained(tenant, start, net.now) == 0
    assert await net.gained(provider, start, net.now) == -2 * fee - SLASHED
    record = await net.host(host)
    assert record.status == gen.HostStatusSuspended(gen.SuspendReason.SLASHED)
    assert record.bond == BOND - 2 * fee - SLASHED
    assert await net.state_of(job.task) == "Failed(DisputeLost)"


@scenario(hosts=1)
async def test_the_third_verdict_is_final_and_the_loser_pays_all_juries(net: Network, roles: Roles) -> None:
    client, tenant, provider = net.client, roles.tenant, roles.providers[0]
    start, stake, fee = net.now, net.params.dispute_stake, net.params.jury_fee
    job = await net.reported(roles)
    matter = await disputed(net, tenant, job)
    appeal = calls.verification_appeal(task=job.task)
    juries = [await jury_of(net, roles, matter)]
    await decided(net, juries[0], YES, level=0)
    assert (await client.do(provider, appeal)).one(chain_events.VerificationAppealed).stake == 2 * stake
    juries.append(await jury_of(net, roles, matter, juries))
    await decided(net, juries[1], NO, level=1)
    assert (await client.do(tenant, appeal)).one(chain_events.VerificationAppealed).stake == 4 * stake
    record = await client.must(storage.verification_disputes, job.task)
    assert record.stakes == (
        gen.Stake(tenant.address, stake - fee, fee, YES),
        gen.Stake(provider.address, 2 * stake - fee, fee, NO),
        gen.Stake(tenant.address, 4 * stake, 0, YES),
    )
    juries.append(await jury_of(net, roles, matter, juries))
    last = await decided(net, juries[2], NO, level=2)
    assert last.appeal_until is None

    await closed(net, matter, gen.DisputeOutcome.REJECTED)
    assert client.events(chain_events.VerificationFeeRefunded, task=job.task) == [
        chain_events.VerificationFeeRefunded(job.task, provider.address, fee)
    ]
    lost = [e.amount for e in client.events(chain_events.VerificationStakeLost, task=job.task, who=tenant.address)]
    assert lost == [fee, stake - 2 * fee, 4 * stake - fee]
    await net.settle(job.task)
    assert await net.gained(tenant, start, net.now) == -5 * stake - PRICE
    assert await net.gained(provider, start, net.now) == PRICE - PRICE // FEE
    seated = [member for jury in juries for member in jury.members]
    assert len(set(seated)) == len(seated) == 3 + 5 + 5


@scenario(hosts=1)
async def test_without_a_jury_the_result_stands_and_the_stake_is_returned(net: Network, roles: Roles) -> None:
    client, provider = net.client, roles.providers[0]
    start, away = net.now, net.params.absence_penalty
    job = await net.reported(roles)
    matter = await disputed(net, OPENER, job)
    first = await jury_of(net, roles, matter, by=OPENER)
    parties = {who.address for who in (roles.tenant, provider, OPENER)}
    former = [member.address for member in first.members]
    second = await committee(client, matter, size=net.params.jury_size, parties=parties, former=former, turn=1)
    await second.commit(YES)
    await closed(net, matter, gen.DisputeOutcome.NO_VERDICT)
    absent = [*first.members, *second.members[1:]]
    assert {
        (e.who, e.reason, e.amount) for e in client.events(chain_events.VerificationVerifierPenalised, matter=matter)
    } == {(who.address, gen.PenaltyReason.ABSENT, away) for who in absent}
    assert client.events(chain_events.VerificationStakeReturned, task=job.task) == [
        chain_events.VerificationStakeReturned(job.task, OPENER.address, net.params.dispute_stake)
    ]
    await net.settle(job.task)
    assert await net.gained(provider, start, net.now) == PRICE - PRICE // FEE
    assert await net.gained(roles.tenant, start, net.now) == -PRICE


@scenario(hosts=1)
async def test_wrong_disputes_are_refused_by_name(net: Network, roles: Roles) -> None:
    client, tenant, provider = net.client, roles.tenant, roles.providers[0]
    running = await net.running(roles)

    def dispute(task: int, *accused: int) -> Call:
        leases = list(accused or running.leases)
        return calls.verification_open_dispute(task=task, accused=leases, evidence=LOG)

    assert await client.outcomes(
        (tenant, dispute(running.task)),
        (tenant, dispute(10**6)),
        (provider, dispute(running.task)),
        (ANYONE, dispute(running.task)),
        (tenant, calls.verification_add_evidence(task=running.task, digest=LOG)),
        (tenant, calls.verification_appeal(task=running.task)),
        (ANYONE, calls.verification_advance(matter=gen.MatterDispute(running.task))),
    ) == [
        "Tasks.NotReported",
        "Verification.NoSuchTask",
        "Verification.NotTenantNorVerifier",
        "Verification.NotTenantNorVerifier",
        *["Verification.NoSuchDispute"] * 3,
    ]
    reported = await net.report(roles, running)
    (lease,) = running.leases
    nobody = calls.verification_open_dispute(task=running.task, accused=[], evidence=LOG)
    assert await client.outcomes(
        (tenant, nobody),
        (tenant, dispute(running.task, lease, lease)),
        (tenant, dispute(running.task, lease, lease + (1 << 32))),
    ) == ["Verification.NobodyAccused", "Verification.AccusedTwice", "Tasks.NoSuchLease"]
    window = (await GantryChain(client.link).params("Tasks")).dispute_window_ms
    await client.until(lambda block: block if block.timestamp_ms >= reported.timestamp_ms + window else None)
    assert await client.outcomes((tenant, dispute(running.task))) == ["Tasks.DisputeWindowClosed"]
    await net.settle(running.task)
    assert await client.outcomes((tenant, dispute(running.task))) == ["Tasks.NotReported"]


async def test_a_tenant_is_not_blamed_for_the_complaint_of_another_on_which_nobody_decided(net: Network) -> None:
    name = test_without_a_jury_the_result_stands_and_the_stake_is_returned.__name__
    await net.runs[name]
    conduct = await net.conduct(net.roles_of[name].tenant, net.now)
    assert conduct.disputes.negative == 0


async def test_an_upheld_complaint_is_written_into_the_score_of_the_host(net: Network) -> None:
    name = test_an_upheld_complaint_refunds_the_tenant_and_slashes_the_host.__name__
    await net.runs[name]
    score = await net.score(net.roles_of[name].hosts[0], net.now)
    assert score.verified.negative > 0
