"""What the chain hashes to draw committees and to bind votes and results, computed again from docs/verification.md."""

from collections.abc import Callable, Collection, Iterable
from hashlib import blake2b

from offchain.adapters.keys import ss58
from offchain.schema.chain_types._generated_chain import ListedVerifier, Matter, PodResult, Vote


def blake2_256(data: bytes) -> bytes:
    return blake2b(data, digest_size=32).digest()


def vote_commitment(matter: Matter, turn: int, vote: Vote, salt: bytes, voter: str) -> bytes:
    """What binds a member to its vote. `turn`: how many committees the matter had before."""
    return blake2_256(b"gantry/vote/v1" + matter.scale() + bytes([turn]) + vote.scale() + salt + ss58.decode(voter))


def result_commitment(result: PodResult, salt: bytes, host: str) -> bytes:
    """What binds a host to its result."""
    return blake2_256(b"gantry/result/v1" + result.scale() + salt + ss58.decode(host))


def seed_of(matter: Matter, turn: int, randomness: bytes) -> bytes:
    """What a committee is drawn by, from the randomness that a block left."""
    return blake2_256(b"gantry/seed/v1" + matter.scale() + bytes([turn]) + randomness)


def drawn(
    seed: bytes,
    listed: Iterable[ListedVerifier],
    size: int,
    asked_in: int,
    excluded: Collection[str],
    is_involved: Callable[[str], bool] = lambda _who: False,
) -> tuple[str, ...]:
    """Who sits: the lowest tickets of those who were on the list before they were asked for, and are no party."""
    may_sit = [one.who for one in listed if one.since < asked_in and one.who not in excluded]
    by_ticket = sorted(may_sit, key=lambda who: blake2_256(seed + ss58.decode(who)))[:32]
    return tuple([who for who in by_ticket if not is_involved(who)][:size])
