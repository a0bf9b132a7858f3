"""Somebody says that a result is wrong: evidence, juries, appeals, and who pays in the end."""

from collections.abc import Sequence

import pytest
from verification_cast import ANYONE, BOND, VERIFIERS, Cast
from verification_dispute import LOG, disputed
from verification_votes import NO, YES, Committee, committee
from verification_world import FEE, PRICE, WEIGHT_OF_DEPOSIT, WEIGHT_OF_PRICE, World, story

from offchain.adapters.chain.typed import GantryChain
from offchain.ports import Block, Call, Signer
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types import _generated_events as chain_events
from offchain.schema.chain_types._generated_chain import calls, storage

pytestmark = pytest.mark.asyncio(loop_scope="session")
CONTRACT, PHOTO = (bytes([number] * 32) for number in (22, 23))
OPENER = list(VERIFIERS.values())[2]
SLASHED = BOND * 3 // 10


async def jury_of(
    world: World, cast: Cast, matter: gen.MatterDispute, former: Sequence[Committee] = (), opener: Signer | None = None
) -> Committee:
    """The next jury: of none that is a party or sat before, and larger after an appeal."""
    parties = {who.address for who in (cast.tenant, *cast.providers, opener or cast.tenant)}
    gone = [member.address for jury in former for member in jury.members]
    size = world.params.appeal_jury_size if former else world.params.jury_size
    return await committee(world.client, matter, size=size, parties=parties, former=gone, turn=len(former))


async def decided(
    world: World, jury: Committee, verdict: gen.Vote, level: int
) -> chain_events.VerificationDisputeDecided:
    """The jury votes: all say the same but the last, who loses for it."""
    other = NO if verdict == YES else YES
    *majority, last = jury.members
    await jury.votes(*[verdict] * len(majority), other)
    found = await world.client.event(chain_events.VerificationDisputeDecided, task=jury.matter.value, level=level)
    assert found.event.verdict == verdict
    lost, fee = world.params.minority_penalty, world.params.jury_fee
    rewarded = {
        e.who: e.amount for e in world.client.events(chain_events.VerificationVerifierRewarded, matter=jury.matter)
    }
    penalised = {e.who: e for e in world.client.events(chain_events.VerificationVerifierPenalised, matter=jury.matter)}
    assert {who.address: rewarded.get(who.address) for who in majority} == dict.fromkeys(
        (who.address for who in majority), (fee + lost) // len(majority)
    )
    assert (penalised[last.address].reason, penalised[last.address].amount) == (gen.PenaltyReason.MINORITY, lost)
    return found.event


async def closed(world: World, matter: gen.MatterDispute, outcome: gen.DisputeOutcome) -> Block:
    found = await world.client.event(chain_events.VerificationDisputeClosed, task=matter.value)
    assert found.event.outcome == outcome
    assert await world.client.read(storage.verification_disputes, matter.value) is None
    resolved = await world.client.event(chain_events.TasksDisputeResolved, task=matter.value)
    assert (resolved.block, resolved.event.upheld) == (found.block, outcome == gen.DisputeOutcome.UPHELD)
    return found.block


@story(hosts=1)
async def test_an_upheld_complaint_refunds_the_tenant_and_slashes_the_host(world: World, cast: Cast) -> None:
    client, tenant, provider, host = world.client, cast.tenant, cast.providers[0], cast.hosts[0]
    start, stake, fee = world.now, world.params.dispute_stake, world.params.jury_fee
    job = await world.reported(cast)
    matter = await disputed(world, tenant, job)

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
    jury = await jury_of(world, cast, matter)
    said = await decided(world, jury, YES, level=0)
    assert said.appeal_until is not None
    appeal = calls.verification_appeal(task=job.task)
    assert await client.outcomes((tenant, appeal), (ANYONE, appeal)) == ["Verification.NotLosingSide"] * 2
    record = await client.must(storage.verification_disputes, job.task)
    assert (record.phase, record.verdict) == (gen.DisputePhase.DECIDED, YES)

    end = await closed(world, matter, gen.DisputeOutcome.UPHELD)
    assert await world.state_of(job.task) == "Failed(DisputeLost)"
    assert client.events(chain_events.VerificationFeeRefunded, task=job.task) == [
        chain_events.VerificationFeeRefunded(job.task, tenant.address, fee)
    ]
    assert client.events(chain_events.VerificationStakeReturned, task=job.task) == [
        chain_events.VerificationStakeReturned(job.task, tenant.address, stake - fee)
    ]
    assert client.events(chain_events.HostsSlashed, host=host.address) == [
        chain_events.HostsSlashed(host.address, gen.Fault.WRONG_RESULT, SLASHED)
    ]
    assert await world.gained(tenant, start, world.now) == 0
    assert await world.gained(provider, start, world.now) == -SLASHED - fee
    found = await world.host(host)
    assert (found.status.tag, found.bond) == ("Online", BOND - SLASHED - fee)
    assert await world.faults_of(provider) == 2_000_000
    conduct = await world.conduct(tenant, end)
    assert (conduct.disputes.positive, conduct.disputes.negative) == (WEIGHT_OF_DEPOSIT, 0)


@story(hosts=1)
async def test_a_rejected_complaint_costs_its_stake_and_the_host_is_paid(world: World, cast: Cast) -> None:
    client, tenant, provider, host = world.client, cast.tenant, cast.providers[0], cast.hosts[0]
    start, stake, fee = world.now, world.params.dispute_stake, world.params.jury_fee
    job = await world.reported(cast)
    matter = await disputed(world, tenant, job)
    jury = await jury_of(world, cast, matter)
    await decided(world, jury, NO, level=0)
    assert await client.outcomes((provider, calls.verification_appeal(task=job.task))) == ["Verification.NotLosingSide"]
    end = await closed(world, matter, gen.DisputeOutcome.REJECTED)
    assert client.events(chain_events.VerificationStakeLost, task=job.task) == [
        chain_events.VerificationStakeLost(job.task, tenant.address, stake - fee)
    ]
    assert await world.state_of(job.task) == "Verified"
    (bill,) = (await world.settle(job.task)).one(chain_events.TasksSettled).bills
    assert (bill.paid, bill.fee) == (PRICE, PRICE // FEE)
    assert await world.gained(tenant, start, world.now) == -stake - PRICE
    assert await world.gained(provider, start, world.now) == PRICE - PRICE // FEE
    record = await world.host(host)
    assert (record.status.tag, record.bond) == ("Online", BOND)
    conduct = await world.conduct(tenant, end)
    assert (conduct.disputes.positive, conduct.disputes.negative) == (0, WEIGHT_OF_PRICE)


@story(hosts=1)
async def test_an_appeal_doubles_the_stake_and_a_larger_jury_decides(world: World, cast: Cast) -> None:
    client, tenant, provider, host = world.client, cast.tenant, cast.providers[0], cast.hosts[0]
    start, stake, fee = world.now, world.params.dispute_stake, world.params.jury_fee
    job = await world.reported(cast)
    matter = await disputed(world, tenant, job)
    first = await jury_of(world, cast, matter)
    await decided(world, first, NO, level=0)

    appealed = (await client.do(tenant, calls.verification_appeal(task=job.task))).one(
        chain_events.VerificationAppealed
    )
    assert (appealed.by, appealed.stake, appealed.level) == (tenant.address, 2 * stake, 1)
    await client.do(tenant, calls.verification_add_evidence(task=job.task, digest=PHOTO))
    second = await jury_of(world, cast, matter, [first])
    assert len(second.members) == world.params.appeal_jury_size > len(first.members)
    assert not set(second.members) & set(first.members)
    await decided(world, second, YES, level=1)

    await closed(world, matter, gen.DisputeOutcome.UPHELD)
    # Both juries are paid by the bond of the host; with the slash, less than half of it is left.
    assert await world.gained(tenant, start, world.now) == 0
    assert await world.gained(provider, start, world.now) == -2 * fee - SLASHED
    record = await world.host(host)
    assert record.status == gen.HostStatusSuspended(gen.SuspendReason.SLASHED)
    assert record.bond == BOND - 2 * fee - SLASHED
    assert await world.state_of(job.task) == "Failed(DisputeLost)"


@story(hosts=1)
async def test_the_third_verdict_is_final_and_the_loser_pays_all_juries(world: World, cast: Cast) -> None:
    client, tenant, provider = world.client, cast.tenant, cast.providers[0]
    start, stake, fee = world.now, world.params.dispute_stake, world.params.jury_fee
    job = await world.reported(cast)
    matter = await disputed(world, tenant, job)
    appeal = calls.verification_appeal(task=job.task)
    juries = [await jury_of(world, cast, matter)]
    await decided(world, juries[0], YES, level=0)
    assert (await client.do(provider, appeal)).one(chain_events.VerificationAppealed).stake == 2 * stake
    juries.append(await jury_of(world, cast, matter, juries))
    await decided(world, juries[1], NO, level=1)
    assert (await client.do(tenant, appeal)).one(chain_events.VerificationAppealed).stake == 4 * stake
    record = await client.must(storage.verification_disputes, job.task)
    assert record.stakes == (
        gen.Stake(tenant.address, stake - fee, fee, YES),
        gen.Stake(provider.address, 2 * stake - fee, fee, NO),
        gen.Stake(tenant.address, 4 * stake, 0, YES),
    )
    juries.append(await jury_of(world, cast, matter, juries))
    last = await decided(world, juries[2], NO, level=2)
    assert last.appeal_until is None

    await closed(world, matter, gen.DisputeOutcome.REJECTED)
    assert client.events(chain_events.VerificationFeeRefunded, task=job.task) == [
        chain_events.VerificationFeeRefunded(job.task, provider.address, fee)
    ]
    lost = [e.amount for e in client.events(chain_events.VerificationStakeLost, task=job.task, who=tenant.address)]
    assert lost == [fee, stake - 2 * fee, 4 * stake - fee]
    await world.settle(job.task)
    assert await world.gained(tenant, start, world.now) == -5 * stake - PRICE
    assert await world.gained(provider, start, world.now) == PRICE - PRICE // FEE
    seated = [member for jury in juries for member in jury.members]
    assert len(set(seated)) == len(seated) == 3 + 5 + 5


@story(hosts=1)
async def test_without_a_jury_the_result_stands_and_the_stake_is_returned(world: World, cast: Cast) -> None:
    client, provider = world.client, cast.providers[0]
    start, away = world.now, world.params.absence_penalty
    job = await world.reported(cast)
    matter = await disputed(world, OPENER, job)
    first = await jury_of(world, cast, matter, opener=OPENER)
    parties = {who.address for who in (cast.tenant, provider, OPENER)}
    former = [member.address for member in first.members]
    second = await committee(client, matter, size=world.params.jury_size, parties=parties, former=former, turn=1)
    await second.commit(YES)
    await closed(world, matter, gen.DisputeOutcome.NO_VERDICT)
    absent = [*first.members, *second.members[1:]]
    assert {
        (e.who, e.reason, e.amount) for e in client.events(chain_events.VerificationVerifierPenalised, matter=matter)
    } == {(who.address, gen.PenaltyReason.ABSENT, away) for who in absent}
    assert client.events(chain_events.VerificationStakeReturned, task=job.task) == [
        chain_events.VerificationStakeReturned(job.task, OPENER.address, world.params.dispute_stake)
    ]
    await world.settle(job.task)
    assert await world.gained(provider, start, world.now) == PRICE - PRICE // FEE
    assert await world.gained(cast.tenant, start, world.now) == -PRICE


@story(hosts=1)
async def test_wrong_disputes_are_refused_by_name(world: World, cast: Cast) -> None:
    client, tenant, provider = world.client, cast.tenant, cast.providers[0]
    running = await world.running(cast)

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
    reported = await world.report(cast, running)
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
    await world.settle(running.task)
    assert await client.outcomes((tenant, dispute(running.task))) == ["Tasks.NotReported"]


async def test_a_tenant_is_not_blamed_for_the_complaint_of_another_on_which_nobody_decided(world: World) -> None:
    name = test_without_a_jury_the_result_stands_and_the_stake_is_returned.__name__
    await world.told[name]
    conduct = await world.conduct(world.casts[name].tenant, world.now)
    assert conduct.disputes.negative == 0


async def test_an_upheld_complaint_is_written_into_the_score_of_the_host(world: World) -> None:
    name = test_an_upheld_complaint_refunds_the_tenant_and_slashes_the_host.__name__
    await world.told[name]
    score = await world.score(world.casts[name].hosts[0], world.now)
    assert score.verified.negative > 0
