"""A challenge, as far as its ballot, and what its committee got and lost."""

from verification_network import Network
from verification_roles import Roles
from verification_votes import Committee, committee

from offchain.ports import Block, Call, Signer
from offchain.schema.chain_types._generated_chain import ChallengePhase, MatterChallenge, PenaltyReason, calls, storage
from tests.support._generated_events import (
    VerificationAnswerAwaited,
    VerificationChallengeOpened,
    VerificationVerifierPenalised,
    VerificationVerifierRewarded,
    decode_event,
)

PROOF = bytes([7] * 32)
"""SHA-256 of what a host shows its committee."""


def answer_of(challenge: int, not_after: int = 2**64 - 1) -> Call:
    """An answer that is judged until `not_after` by the chain's clock, in ms."""
    return calls.verification_answer(challenge=challenge, digest=PROOF, not_after=not_after)


async def opened_by(net: Network, opener: Signer, roles: Roles) -> MatterChallenge:
    call = calls.verification_open_challenge(host=roles.hosts[0].address, device=0, lease=None)
    said = (await net.client.do(opener, call)).one(VerificationChallengeOpened)
    assert (said.host, said.device) == (roles.hosts[0].address, 0)
    assert (said.opener, said.fee) == (opener.address, 2 * net.params.challenge_fee)
    return MatterChallenge(said.challenge)


async def drawn_and_answered(net: Network, opener: Signer, roles: Roles, matter: MatterChallenge) -> Committee:
    """The committee is drawn from the seed of a later block, and the host answers, free of charge."""
    host = roles.hosts[0]
    parties = {host.address, roles.providers[0].address, opener.address}
    found = await committee(net.client, matter, size=net.params.committee_size, parties=parties)
    awaited = await net.client.event(VerificationAnswerAwaited, challenge=matter.value)
    assert awaited.block == found.block
    answered = await net.client.do(host, answer_of(matter.value))
    assert answered.was_free
    record = await net.client.must(storage.verification_challenges, matter.value, at=answered.block.ref.hash)
    assert record.phase == ChallengePhase.COMMITTING
    assert record.answer is not None
    assert record.answer.digest == PROOF
    return found


def rewards(net: Network, matter: MatterChallenge) -> dict[str, int]:
    return {e.who: e.amount for e in net.client.events(VerificationVerifierRewarded, matter=matter)}


def penalties(net: Network, matter: MatterChallenge) -> dict[str, tuple[PenaltyReason, int]]:
    return {e.who: (e.reason, e.amount) for e in net.client.events(VerificationVerifierPenalised, matter=matter)}


def penalty_in(block: Block, who: Signer) -> int:
    """What a verifier lost in a block, for all matters: other tests run on the same chain."""
    events = (decode_event(e.pallet, e.name, e.fields) for e in block.events)
    return sum(e.amount for e in events if isinstance(e, VerificationVerifierPenalised) and e.who == who.address)
