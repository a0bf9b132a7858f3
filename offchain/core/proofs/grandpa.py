"""Finality of a header: signatures of GRANDPA's voters with more than two thirds of the weight.

A precommit for a block supports each of its ancestors. The rules are those of `finality_grandpa::validate_commit`, made
stricter where that makes a proof unambiguous: each voter counts once, and nothing is there that the proof does not
need.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from offchain.core.proofs.header import MOST_AUTHORITIES, AuthorityList, BlockHeader, read_header
from offchain.core.proofs.reader import ProofReader
from offchain.errors import ProofRefused

MOST_VOTE_ANCESTRY: Final = 1_024
"""Headers between the blocks that were voted for and the block that the votes finalise; mostly there is none."""
_PRECOMMIT: Final = 1
_MOST_WEIGHT: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class VoterSet:
    """The authorities that finalise blocks. `set_id`: the number of changes since genesis, a part of what they sign."""

    set_id: int
    authorities: AuthorityList

    @property
    def weights(self) -> dict[bytes, int]:
        """The weight of each key; a key that is listed twice has both weights."""
        found: dict[bytes, int] = {}
        for key, weight in self.authorities:
            if weight:
                found[key] = found.get(key, 0) + weight
        return found

    @property
    def threshold(self) -> int:
        """The weight that finalises a block: all but less than a third."""
        total = sum(self.weights.values())
        return total - (total - 1) // 3

    def next(self, authorities: AuthorityList) -> VoterSet:
        """Return the set after a change to these authorities."""
        return VoterSet(self.set_id + 1, authorities)


@dataclass(frozen=True, slots=True)
class Precommit:
    """A voter's signed vote for a block."""

    voter: bytes
    target_number: int
    target_hash: bytes
    signature: bytes

    def is_signed(self, round_: int, set_id: int) -> bool:
        """Return whether the voter signed this vote in this round of this set."""
        message = bytes([_PRECOMMIT]) + self.target_hash + self.target_number.to_bytes(4, "little")
        payload = message + round_.to_bytes(8, "little") + set_id.to_bytes(8, "little")
        try:
            VerifyKey(self.voter).verify(payload, self.signature)
        except (BadSignatureError, ValueError):
            return False
        return True


@dataclass(frozen=True, slots=True)
class FinalityVotes:
    """Votes of one round that finalise a block. Precommits are in the order of their voters, headers of their hashes.

    `ancestry`: headers from the blocks that were voted for down to the block that is finalised, without that.
    """

    round: int
    precommits: tuple[Precommit, ...]
    ancestry: tuple[BlockHeader, ...]


def check_finality(header: BlockHeader, votes: FinalityVotes, voters: VoterSet, where: str) -> None:
    """Check that the votes of a set finalise a header. Raises ProofRefused."""
    weights = voters.weights
    if not weights or sum(weights.values()) > _MOST_WEIGHT:
        raise ProofRefused(where, f"the authorities of set {voters.set_id} have no weight, or too much")
    _refuse_disorder([vote.voter for vote in votes.precommits], "a voter", where)
    _refuse_disorder([ancestor.hash for ancestor in votes.ancestry], "a header", where)
    ancestry = {ancestor.hash: ancestor for ancestor in votes.ancestry}
    used: set[bytes] = set()
    weight = 0
    for vote in votes.precommits:
        name = f"0x{vote.voter.hex()}"
        if vote.voter not in weights:
            raise ProofRefused(where, f"the voter {name} is not an authority of set {voters.set_id}")
        route = _route(vote, header, ancestry)
        if route is None:
            raise ProofRefused(where, f"the vote of {name} is for no descendant of {header}")
        if not vote.is_signed(votes.round, voters.set_id):
            raise ProofRefused(where, f"the signature of {name} in round {votes.round} is wrong")
        used |= route
        weight += weights[vote.voter]
    if weight < voters.threshold:
        raise ProofRefused(
            where, f"votes for {header} have the weight {weight}, and set {voters.set_id} needs {voters.threshold}"
        )
    if len(used) != len(ancestry):
        raise ProofRefused(where, "headers of votes are there that no vote needs")


def _refuse_disorder(keys: list[bytes], what: str, where: str) -> None:
    for before, after in pairwise(keys):
        if before >= after:
            raise ProofRefused(where, f"{what} is there twice, or not in its order: 0x{after.hex()}")


def _route(vote: Precommit, header: BlockHeader, ancestry: Mapping[bytes, BlockHeader]) -> set[bytes] | None:
    """Return the headers from the block of a vote down to `header`, without that; None if there is no such way."""
    route: set[bytes] = set()
    digest, number = vote.target_hash, vote.target_number
    while digest != header.hash:
        step = ancestry.get(digest)
        if step is None or step.number != number or number <= header.number:
            return None
        route.add(digest)
        digest, number = step.parent_hash, number - 1
    return route if number == header.number else None


def read_votes(reader: ProofReader) -> FinalityVotes:
    """Read votes as proof files contain them. Raises ProofRefused."""
    round_ = reader.uint(8)
    precommits = tuple(
        Precommit(reader.take(32), reader.uint(4), reader.take(32), reader.take(64))
        for _ in range(reader.count(MOST_AUTHORITIES, "votes"))
    )
    ancestry = tuple(read_header(reader) for _ in range(reader.count(MOST_VOTE_ANCESTRY, "headers of votes")))
    return FinalityVotes(round_, precommits, ancestry)


@dataclass(frozen=True, slots=True)
class Justification:
    """A justification as nodes store and send it. `target_hash`, `target_number`: the block that it finalises."""

    target_hash: bytes
    target_number: int
    round: int
    precommits: tuple[Precommit, ...]
    ancestry: tuple[BlockHeader, ...]

    def quorum(self, header: BlockHeader, voters: VoterSet, where: str) -> FinalityVotes:
        """Return as few of the votes as finalise the header that the justification is for. Raises ProofRefused.

        Votes for the header itself come first, because they need no further headers. A vote that does not verify here
        is left out: nodes accept some encodings of ed25519 signatures that libsodium refuses.
        """
        if header.hash != self.target_hash:
            raise ProofRefused(where, f"the justification is not for {header}, but for block {self.target_number}")
        ancestry = {ancestor.hash: ancestor for ancestor in self.ancestry}
        weights = voters.weights
        chosen: dict[bytes, Precommit] = {}
        used: set[bytes] = set()
        weight = 0
        for vote in sorted(self.precommits, key=lambda vote: (vote.target_number, vote.voter)):
            if weight >= voters.threshold:
                break
            route = _route(vote, header, ancestry)
            if (
                route is None
                or vote.voter in chosen
                or vote.voter not in weights
                or not vote.is_signed(self.round, voters.set_id)
            ):
                continue
            chosen[vote.voter] = vote
            used |= route
            weight += weights[vote.voter]
        precommits = tuple(chosen[voter] for voter in sorted(chosen))
        votes = FinalityVotes(self.round, precommits, tuple(ancestry[digest] for digest in sorted(used)))
        check_finality(header, votes, voters, where)
        return votes


def decode_justification(raw: bytes, where: str) -> Justification:
    """Return a `GrandpaJustification` from its encoding. Raises ProofRefused."""
    reader = ProofReader(raw, where)
    round_ = reader.uint(8)
    target_hash, target_number = reader.take(32), reader.uint(4)
    precommits = []
    # A voter that signed two votes is there twice.
    for _ in range(reader.count(2 * MOST_AUTHORITIES, "votes")):
        voted_hash, voted_number = reader.take(32), reader.uint(4)
        signature = reader.take(64)
        precommits.append(Precommit(reader.take(32), voted_number, voted_hash, signature))
    ancestry = tuple(read_header(reader) for _ in range(reader.count(MOST_VOTE_ANCESTRY, "headers of votes")))
    reader.end()
    return Justification(target_hash, target_number, round_, tuple(precommits), ancestry)
