"""Draw of committees as the chain makes it (docs/verification.md, section 2), computed again."""

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Final

from offchain.schema.chain_types._generated_chain import Matter

MAX_LOOK_UPS: Final = 32
"""Candidates with the lowest tickets of which the chain looks up whether they are hosts of a party."""


def blake2_256(data: bytes) -> bytes:
    return blake2b(data, digest_size=32).digest()


def committee_seed(matter: Matter, turn: int, randomness: bytes) -> bytes:
    """What a committee is drawn by, from the randomness that a block left. `turn`: earlier committees of the matter."""
    return blake2_256(b"gantry/seed/v1" + matter.scale() + bytes([turn]) + randomness)


def drawn_members(
    seed: bytes, candidates: Iterable[bytes], size: int, is_involved: Callable[[bytes], bool] = lambda _who: False
) -> tuple[bytes, ...]:
    """The members of a committee: fewer than `size` if there are not enough, and then the chain draws none.

    `candidates`: public keys of those on the list since before the request, without parties and earlier members.
    """
    by_ticket = sorted(candidates, key=lambda who: blake2_256(seed + who))[:MAX_LOOK_UPS]
    return tuple([who for who in by_ticket if not is_involved(who)][:size])
