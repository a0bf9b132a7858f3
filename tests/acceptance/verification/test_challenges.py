"""A host must prove that its device is real."""

from __future__ import annotations

import asyncio

import pytest
from verification_cast import BOND, GTY, VERIFIERS, Cast
from verification_votes import NO, YES, committee
from verification_world import World, story

from offchain.schema._generated_chain import (
    ChallengeOutcome,
    ChallengePhase,
    HostsDeviceAttested,
    MatterChallenge,
    VerificationAnswerAwaited,
    VerificationBallotClosed,
    VerificationChallengeClosed,
    VerificationChallengeOpened,
    VerificationVerifierRewarded,
    calls,
    storage,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")
PROOF = bytes([7] * 32)


@story(verified=False)
async def test_a_host_that_proves_its_device_is_verified_and_the_committee_is_paid(world: World, cast: Cast) -> None:
    client, host, provider = world.client, cast.hosts[0], cast.providers[0]
    assert (await world.host(host)).status.tag == "Unverified"
    start = world.now
    opened = await client.do(provider, calls.verification_open_challenge(host=host.address, device=0))
    said = opened.one(VerificationChallengeOpened)
    fee = world.params.challenge_fee
    assert (said.host, said.device, said.opener, said.fee) == (host.address, 0, provider.address, fee)
    matter = MatterChallenge(said.challenge)

    jury = await committee(client, matter, size=3, parties={host.address, provider.address})
    awaited = await client.event(VerificationAnswerAwaited, challenge=said.challenge)
    assert awaited.block == jury.drawn.block
    answered = await client.do(host, calls.verification_answer(challenge=said.challenge, digest=PROOF))
    assert answered.was_free
    record = await client.must(storage.verification_challenges, said.challenge)
    assert record.phase == ChallengePhase.COMMITTING
    assert record.answer is not None and record.answer.digest == PROOF

    await jury.votes(YES, YES, YES)
    closed = await client.event(VerificationChallengeClosed, challenge=said.challenge)
    assert (closed.event.outcome, closed.event.returned) == (ChallengeOutcome.PASSED, 0)
    (ballot,) = client.events(VerificationBallotClosed, matter=matter)
    assert ballot.verdict == YES
    assert {(e.who, e.amount) for e in client.events(VerificationVerifierRewarded, matter=matter)} == {
        (member.address, fee // 3) for member in jury.members
    }
    assert await world.gained(provider, start, closed.block) == -fee
    assert await client.read(storage.verification_challenges, said.challenge) is None
    after = await world.host(host)
    assert (after.status.tag, after.devices[0].attested, after.bond) == ("Verified", True, BOND)
    assert client.events(HostsDeviceAttested, host=host.address)[-1].attested
    await client.do(host, calls.hosts_heartbeat())
    assert (await world.host(host)).status.tag == "Online"
