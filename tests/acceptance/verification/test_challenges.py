"""A host must prove that its device is real."""

import asyncio
from dataclasses import replace

import pytest
from verification_challenge import answer_of, drawn_and_answered, opened_by, penalties, penalty_in, rewards
from verification_hashes import blake2_256
from verification_network import Network, scenario
from verification_roles import ANYONE, BOND, HARDWARE, VERIFIERS, Roles
from verification_votes import NO, YES, committee

from offchain.adapters.keys import ss58
from offchain.ports import Call, Signer
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import calls, storage
from tests.support import _generated_events as chain_events

pytestmark = pytest.mark.asyncio(loop_scope="session")
OPENER = next(iter(VERIFIERS.values()))
ANOTHER = list(VERIFIERS.values())[1]


async def bond_of(net: Network, who: Signer, at: bytes) -> int:
    return (await net.client.must(storage.verification_verifiers, who.address, at=at)).bond


@scenario(verified=False)
async def test_a_host_that_proves_its_device_is_verified_and_pays_the_committee(net: Network, roles: Roles) -> None:
    client, host, provider = net.client, roles.hosts[0], roles.providers[0]
    assert (await net.host(host)).status.tag == "Unverified"
    start, fee = net.now, net.params.challenge_fee
    matter = await opened_by(net, provider, roles)
    found = await drawn_and_answered(net, provider, roles, matter)
    await found.votes(YES, YES, YES)

    closed = await client.event(chain_events.VerificationChallengeClosed, challenge=matter.value)
    assert (closed.event.outcome, closed.event.returned) == (gen.ChallengeOutcome.PASSED, fee)
    (ballot,) = client.events(chain_events.VerificationBallotClosed, matter=matter)
    assert ballot.verdict == YES
    assert rewards(net, matter) == {member.address: fee // 3 for member in found.members}
    assert penalties(net, matter) == {}
    assert await net.gained(provider, start, closed.block) == -fee
    assert await client.read(storage.verification_challenges, matter.value) is None

    after = await net.host(host)
    assert (after.status.tag, after.devices[0].attested, after.bond) == ("Verified", True, BOND)
    assert client.events(chain_events.HostsDeviceAttested, host=host.address)[-1].attested
    await client.do(host, calls.hosts_heartbeat())
    assert (await net.host(host)).status.tag == "Online"


@scenario()
async def test_a_host_that_cannot_prove_its_device_is_suspended_and_slashed(net: Network, roles: Roles) -> None:
    client, host, provider = net.client, roles.hosts[0], roles.providers[0]
    start, fee = net.now, net.params.challenge_fee
    matter = await opened_by(net, OPENER, roles)
    found = await drawn_and_answered(net, OPENER, roles, matter)
    assert OPENER not in found.members
    await found.votes(NO, NO, YES)
    confirming = await found.confirming(parties={host.address, provider.address, OPENER.address})
    assert (await net.host(host)).status.tag == "Online", "the verdict is not final"
    assert (rewards(net, matter), penalties(net, matter)) == (
        {member.address: fee // 2 for member in found.members[:2]},
        {},
    )
    await confirming.votes(NO, NO, YES)

    closed = await client.event(chain_events.VerificationChallengeClosed, challenge=matter.value)
    assert (closed.event.outcome, closed.event.returned) == (gen.ChallengeOutcome.FAILED, 0)
    minority, majority = confirming.members[2], confirming.members[:2]
    lost = net.params.minority_penalty
    assert penalties(net, matter) == {minority.address: (gen.PenaltyReason.MINORITY, lost)}
    paid = {member.address: (fee + lost) // 2 for member in majority}
    assert rewards(net, matter) == paid | {member.address: fee // 2 for member in found.members[:2]}
    before, after = closed.block.parent_hash, closed.block.ref.hash
    there = penalty_in(closed.block, minority)
    assert await bond_of(net, minority, before) - await bond_of(net, minority, after) == there >= lost

    slashed = BOND // 10
    assert client.events(chain_events.HostsSlashed, host=host.address) == [
        chain_events.HostsSlashed(host.address, gen.Fault.FAILED_CHALLENGE, slashed)
    ]
    record = await net.host(host)
    assert record.status == gen.HostStatusSuspended(gen.SuspendReason.FAILED_CHALLENGE)
    assert (record.bond, record.devices[0].attested) == (BOND - slashed - 2 * fee, False)
    assert await net.gained(provider, start, closed.block) == -slashed - 2 * fee, "the opener has its fees back"
    score = await net.score(host, closed.block)
    assert (score.verified.positive, score.verified.negative) == (0, 1_000_000)
    assert await net.faults_of(provider) == 1_000_000


@scenario()
async def test_a_verdict_that_is_not_confirmed_costs_the_opener_alone(net: Network, roles: Roles) -> None:
    client, host, provider = net.client, roles.hosts[0], roles.providers[0]
    start, fee = net.now, net.params.challenge_fee
    matter = await opened_by(net, OPENER, roles)
    found = await drawn_and_answered(net, OPENER, roles, matter)
    await found.votes(NO, NO, NO)
    confirming = await found.confirming(parties={host.address, provider.address, OPENER.address})
    late = calls.verification_commit_vote(matter=matter, commitment=found.commitment(found.members[0], NO))
    assert await client.outcomes((found.members[0], late)) == ["Verification.NotOnCommittee"]
    await confirming.votes(YES, YES, YES)

    closed = await client.event(chain_events.VerificationChallengeClosed, challenge=matter.value)
    assert (closed.event.outcome, closed.event.returned) == (gen.ChallengeOutcome.NO_VERDICT, 0)
    assert penalties(net, matter) == {}
    assert rewards(net, matter) == {member.address: fee // 3 for member in (*found.members, *confirming.members)}
    record = await net.host(host)
    assert (record.status.tag, record.bond) == ("Online", BOND)
    assert await net.gained(provider, start, closed.block) == 0


@scenario()
async def test_a_host_that_does_not_answer_twice_is_suspended_without_a_vote(net: Network, roles: Roles) -> None:
    client, host, provider = net.client, roles.hosts[0], roles.providers[0]
    start = net.now
    matter = await opened_by(net, provider, roles)
    parties = {host.address, provider.address}
    found = await committee(client, matter, size=net.params.committee_size, parties=parties)
    vote = calls.verification_commit_vote(matter=matter, commitment=found.commitment(found.members[0], NO))
    advance = calls.verification_advance(matter=matter)
    tried = await client.outcomes((found.members[0], vote), (ANYONE, advance))
    assert tried == ["Verification.NotCommitting", "Verification.NotDue"]

    closed = await client.event(chain_events.VerificationChallengeClosed, challenge=matter.value)
    assert (closed.event.outcome, closed.event.returned) == (gen.ChallengeOutcome.MISSED, net.params.challenge_fee)
    awaited = await client.event(chain_events.VerificationAnswerAwaited, challenge=matter.value)
    until = awaited.event.until
    # In its hook a block sees the clock of the block before; it is the first that can, or the next.
    earlier, before = (client.blocks[closed.block.ref.number - back].timestamp_ms for back in (4, 2))
    assert earlier <= until < before
    fee = net.params.challenge_fee
    assert rewards(net, matter) == {member.address: fee // 3 for member in found.members}
    assert penalties(net, matter) == {}
    assert await net.gained(provider, start, closed.block) == -fee, "the opener pays the committee"
    assert (await net.host(host)).status.tag == "Online"
    late = answer_of(matter.value)
    assert await client.not_free(host, late)

    before = net.now
    again = await opened_by(net, OPENER, roles)
    closed = await client.event(chain_events.VerificationChallengeClosed, challenge=again.value)
    assert (closed.event.outcome, closed.event.returned) == (gen.ChallengeOutcome.NOT_ANSWERED, fee)
    assert await net.gained(provider, before, closed.block) == -BOND // 10
    assert (await net.host(host)).status == gen.HostStatusSuspended(gen.SuspendReason.FAILED_CHALLENGE)


@scenario()
async def test_a_copied_or_changed_vote_cannot_be_revealed_and_is_penalised(net: Network, roles: Roles) -> None:
    client, provider = net.client, roles.providers[0]
    start, params = net.now, net.params
    matter = await opened_by(net, provider, roles)
    found = await drawn_and_answered(net, provider, roles, matter)
    honest, changing, copying = found.members

    first = found.commitment(honest, YES)
    again = calls.verification_commit_vote(matter=matter, commitment=found.commitment(honest, NO))
    outsider = next(who for who in VERIFIERS.values() if who not in found.members)
    await found.commit_of(honest, YES)
    refused = await client.outcomes((honest, again), (honest, found.shows(honest, YES)), (outsider, again))
    assert refused == [f"Verification.{name}" for name in ("AlreadyCommitted", "NotRevealing", "NotOnCommittee")]
    copy = calls.verification_commit_vote(matter=matter, commitment=first)
    await asyncio.gather(client.do(copying, copy), found.commit_of(changing, YES))

    await client.do(honest, found.shows(honest, YES))
    # With everything that the other showed, and with another vote than the one that was bound.
    refused = await client.outcomes(
        (copying, found.shows(honest, YES)), (changing, found.shows(changing, NO)), (honest, found.shows(honest, YES))
    )
    mismatch = "Verification.CommitmentMismatch"
    assert refused == [mismatch, mismatch, "Verification.AlreadyRevealed"]
    await client.do(changing, found.shows(changing, YES))

    closed = await client.event(chain_events.VerificationChallengeClosed, challenge=matter.value)
    assert closed.event.outcome == gen.ChallengeOutcome.PASSED
    assert penalties(net, matter) == {copying.address: (gen.PenaltyReason.ABSENT, params.absence_penalty)}
    share = (params.challenge_fee + params.absence_penalty) // 2
    assert rewards(net, matter) == {honest.address: share, changing.address: share}
    assert await net.gained(provider, start, closed.block) == -params.challenge_fee


@scenario()
async def test_an_absent_committee_is_replaced_once_and_gives_no_verdict(net: Network, roles: Roles) -> None:
    client, provider, params = net.client, roles.providers[0], net.params
    start = net.now
    matter = await opened_by(net, provider, roles)
    parties = {roles.hosts[0].address, provider.address}
    first = await drawn_and_answered(net, provider, roles, matter)
    await first.commit(YES)
    former = [member.address for member in first.members]
    second = await committee(client, matter, size=params.committee_size, parties=parties, former=former, turn=1)
    assert not set(second.members) & set(first.members)
    # Who committed when too few did is not at fault; the others are.
    absent = {member.address for member in first.members[1:]}
    assert penalties(net, matter) == dict.fromkeys(absent, (gen.PenaltyReason.ABSENT, params.absence_penalty))
    # It is asked again, from the new seed.
    await client.do(roles.hosts[0], answer_of(matter.value))
    old = calls.verification_commit_vote(matter=matter, commitment=first.commitment(first.members[0], YES))
    assert await client.outcomes((first.members[0], old)) == ["Verification.NotOnCommittee"]

    closed = await client.event(chain_events.VerificationChallengeClosed, challenge=matter.value)
    assert (closed.event.outcome, closed.event.returned) == (gen.ChallengeOutcome.NO_VERDICT, 2 * params.challenge_fee)
    assert set(penalties(net, matter)) == absent | {member.address for member in second.members}
    assert rewards(net, matter) == {}
    assert await net.gained(provider, start, closed.block) == 0
    assert (await net.host(roles.hosts[0])).status.tag == "Online"


@scenario()
async def test_a_host_that_changes_its_hardware_meanwhile_proves_nothing(net: Network, roles: Roles) -> None:
    client, host, provider = net.client, roles.hosts[0], roles.providers[0]
    start, params = net.now, net.params
    matter = await opened_by(net, provider, roles)
    found = await drawn_and_answered(net, provider, roles, matter)
    better = replace(HARDWARE, devices=(replace(HARDWARE.devices[0], model=b"SIM-2"),))
    content = b"gantry/hardware/v1" + net.genesis + ss58.decode(provider.address) + (1).to_bytes(4, "little")
    signature = host.sign(blake2_256(content + better.scale()))
    change = calls.hosts_change_hardware(host=host.address, hardware=better, host_signature=signature)
    await asyncio.gather(found.votes(YES, YES, YES), client.do(provider, change))

    closed = await client.event(chain_events.VerificationChallengeClosed, challenge=matter.value)
    assert (closed.event.outcome, closed.event.returned) == (
        gen.ChallengeOutcome.HARDWARE_CHANGED,
        params.challenge_fee,
    )
    assert rewards(net, matter) == {member.address: params.challenge_fee // 3 for member in found.members}
    assert await net.gained(provider, start, closed.block) == -params.challenge_fee
    record = await net.host(host)
    assert (record.status.tag, record.devices[0].attested, record.bond) == ("Unverified", False, BOND)


@scenario(hosts_pay=True)
async def test_wrong_challenges_and_answers_are_refused_by_name(net: Network, roles: Roles) -> None:
    client, host, provider = net.client, roles.hosts[0], roles.providers[0]

    def challenge(host: str, device: int = 0) -> Call:
        return calls.verification_open_challenge(host=host, device=device, lease=None)

    wrong = [
        (ANYONE, challenge(host.address), "NotVerifierNorProvider"),
        (OPENER, challenge(host.address, 1), "NoSuchDevice"),
        (OPENER, challenge(ANYONE.address), "HostNotListed"),
        (host, calls.verification_bond_verifier(), "HostCannotVerify"),
        (OPENER, calls.verification_bond_verifier(), "AlreadyBonded"),
        (OPENER, calls.verification_withdraw_verifier_bond(), "StillBonded"),
        (ANYONE, calls.verification_unbond_verifier(), "NotVerifier"),
        (ANYONE, calls.verification_advance(matter=gen.MatterChallenge(10**6)), "NoSuchChallenge"),
        (host, answer_of(10**6), "NoSuchChallenge"),
    ]
    names = await client.outcomes(*((who, call) for who, call, _ in wrong))
    assert names == [f"Verification.{expected}" for *_, expected in wrong]

    matter = await opened_by(net, provider, roles)
    assert await client.outcomes((OPENER, challenge(host.address))) == ["Verification.ChallengeOpen"]
    await client.event(chain_events.VerificationAnswerAwaited, challenge=matter.value)
    answer, expired = answer_of(matter.value), answer_of(matter.value, not_after=1)
    tried = await client.outcomes((ANYONE, answer), (host, expired), (host, answer), (host, answer))
    names = ["Verification.NotChallengedHost", "Verification.AnswerExpired", "", "Verification.NotAnswering"]
    assert tried == names
    found = await committee(client, matter, size=net.params.committee_size, parties={host.address, provider.address})
    await found.votes(YES, YES, NO)
    await client.event(chain_events.VerificationChallengeClosed, challenge=matter.value)
    assert await client.outcomes((provider, challenge(host.address))) == ["Verification.ChallengedLately"]
    # Its provider's challenge did not use up the verifiers' turn.
    before = net.now
    open_to_all = await opened_by(net, ANOTHER, roles)
    closed = await client.event(chain_events.VerificationChallengeClosed, challenge=open_to_all.value)
    assert (closed.event.outcome, closed.event.returned) == (gen.ChallengeOutcome.MISSED, net.params.challenge_fee)
    assert await net.gained(provider, before, closed.block) == 0
