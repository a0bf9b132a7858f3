"""Committees and juries: drawn again by the client, and led through their ballots."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256

from verification_client import Client, Done
from verification_hashes import drawn, vote_commitment
from verification_roles import VERIFIERS

from offchain.ports import Block, Call, Signer
from offchain.schema.chain_types._generated_chain import Ballot, MatterChallenge, MatterDispute, Vote, calls, storage
from tests.support._generated_events import (
    VerificationCommitteeDrawn,
    VerificationConfirmationAwaited,
    VerificationRevealsOpened,
)
from tests.support.committee_draw import committee_seed

Contested = MatterChallenge | MatterDispute
"""What is voted on."""
YES, NO = Vote.YES, Vote.NO


def salt_of(who: str) -> bytes:
    """The random bytes of a member; those of this client need not be secret."""
    return sha256(b"salt of " + who.encode()).digest()


@dataclass(frozen=True)
class Committee:
    """The members of a committee, and the block in which they were drawn."""

    client: Client
    matter: Contested
    turn: int
    members: tuple[Signer, ...]
    seed: bytes
    block: Block

    def commitment(self, member: Signer, vote: Vote) -> bytes:
        return vote_commitment(self.matter, self.turn, vote, salt_of(member.address), member.address)

    async def commit(self, *votes: Vote) -> list[Done]:
        """The first members commit these votes, in the order of their seats."""
        pairs = zip(self.members, votes, strict=False)
        return await asyncio.gather(*(self.commit_of(member, vote) for member, vote in pairs))

    async def commit_of(self, member: Signer, vote: Vote) -> Done:
        call = calls.verification_commit_vote(matter=self.matter, commitment=self.commitment(member, vote))
        return await self.client.do(member, call)

    async def reveal(self, *votes: Vote) -> list[Done]:
        """Once reveals are open, the first members show these votes."""
        await self.client.event(VerificationRevealsOpened, matter=self.matter)
        pairs = zip(self.members, votes, strict=False)
        return await asyncio.gather(*(self.client.do(member, self.shows(member, vote)) for member, vote in pairs))

    def shows(self, member: Signer, vote: Vote) -> Call:
        return calls.verification_reveal_vote(matter=self.matter, vote=vote, salt=salt_of(member.address))

    async def votes(self, *votes: Vote) -> None:
        """All commit, then all reveal."""
        assert len(votes) == len(self.members)
        await self.commit(*votes)
        await self.reveal(*votes)

    async def confirming(self, *, parties: Collection[str]) -> Committee:
        """Wait for the committee that has to confirm a verdict of this one, and draw it again."""
        challenge, turn = self.matter.value, self.turn + 1
        found = await self.client.event(VerificationConfirmationAwaited, challenge=challenge, round=turn)
        ballot = await ballot_of(self.client, self.matter, at=found.block.ref.hash)
        assert ballot.seed == self.seed, "it judges the answer to the same seed"
        former = [member.address for member in self.members]
        listed = await self.client.must(storage.verification_verifier_list, at=found.block.parent_hash)
        members = drawn(self.seed, listed, len(self.members), ballot.asked_in, {*parties, *former})
        assert found.event.members == members == tuple(seat.who for seat in ballot.seats)
        assert set(former) <= set(ballot.former)
        return Committee(
            self.client, self.matter, turn, tuple(VERIFIERS[who] for who in members), self.seed, found.block
        )


async def ballot_of(client: Client, matter: Contested, at: bytes | None = None) -> Ballot:
    if isinstance(matter, MatterChallenge):
        return (await client.must(storage.verification_challenges, matter.value, at=at)).ballot
    return (await client.must(storage.verification_disputes, matter.value, at=at)).ballot


async def committee(
    client: Client, matter: Contested, *, size: int, parties: Collection[str], former: Sequence[str] = (), turn: int = 0
) -> Committee:
    """Waits for the committee of a matter, draws it again, and finds the same seed and members."""
    found = await client.event(VerificationCommitteeDrawn, matter=matter, round=turn)
    said, block = found.event, found.block
    before = await ballot_of(client, matter, at=block.parent_hash)
    assert (before.seats, before.seed) == ((), None), "nobody sat before the draw"
    assert before.asked_in < said.block < block.ref.number, "the randomness is of a block after the one that asked"

    left_by = await client.link.block_ref(said.block)
    randomness = await client.link.query("Babe", "AuthorVrfRandomness", at=left_by.hash)
    assert isinstance(randomness, bytes)
    seed = committee_seed(matter, turn, randomness)
    assert said.seed == seed
    listed = await client.must(storage.verification_verifier_list, at=block.parent_hash)
    members = drawn(seed, listed, size, before.asked_in, {*parties, *former})
    assert said.members == members
    assert len(members) == size

    after = await ballot_of(client, matter, at=block.ref.hash)
    assert (after.seed, tuple(seat.who for seat in after.seats)) == (seed, members)
    assert set(after.former) == set(former)
    return Committee(client, matter, turn, tuple(VERIFIERS[who] for who in members), seed, block)
