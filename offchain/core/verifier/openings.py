"""Which hosts a verifier challenges, and when: drawn from the randomness of each final block.

All verifiers draw the same: whether a host is due, and which verifier opens the challenge. So several verifiers do not
open one challenge each, and neither a host nor the verifier knows the block before. A block that a verifier does not
see, or an opener that is absent, only delays: each later block draws again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from offchain.schema.chain_types._generated_chain import (
    HostChallenges,
    HostRecord,
    HostScore,
    HostStatusOnline,
    HostStatusUnverified,
    HostStatusVerified,
)

PPM: Final = 1_000_000
UNVERIFIED_PER_BLOCK_PPM: Final = 200_000
"""Chance in each block that an unverified host is challenged: on average after five blocks."""
LEAST_PER_PERIOD_PPM: Final = 40_000
"""Chance in each `challenge_rest_ms` of a host with the best score: with 6 h, about once in 6 days."""
EVIDENCE_UNIT: Final = PPM
"""Weight of one piece of evidence in a score."""
WHOLE_DEVICE: Final = 1_000
"""Free thousandths of a device without a lease."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A challenge to open."""

    host: str
    device: int


@dataclass(frozen=True, slots=True)
class BlockDraw:
    """Facts of the final block by which challenges are drawn.

    `randomness`: VRF output of its author, None if it has none of its own. `block_ms`: time between two blocks;
    `rest_ms`: `challenge_rest_ms`. `verifiers`: accounts on the list, as 32 bytes by address.
    """

    randomness: bytes | None
    now: int
    block_ms: int
    rest_ms: int
    verifiers: Mapping[str, bytes]


def chance_per_period_ppm(score: HostScore | None) -> int:
    """Return the chance of a verified host in each `challenge_rest_ms`: falls with good evidence, never to zero.

    Without evidence it is 1; with p for and n against the host, (n + 1) / (p + n + 1).
    """
    good, bad = (0, 0) if score is None else (score.verified.positive, score.verified.negative)
    return max(LEAST_PER_PERIOD_PPM, PPM * (bad + EVIDENCE_UNIT) // (good + bad + EVIDENCE_UNIT))


def is_repetition_due(of_host: HostChallenges | None) -> bool:
    """Return whether no verifier has opened a challenge since the host missed one.

    A miss has no consequence alone, so a device that is too slow would rather miss than answer late.
    """
    if of_host is None or of_host.missed_at is None:
        return False
    return of_host.by_verifier_at is None or of_host.by_verifier_at < of_host.missed_at


def chance_per_block_ppm(
    record: HostRecord, score: HostScore | None, of_host: HostChallenges | None, draw: BlockDraw
) -> int:
    """Return the chance that this block's draw has the host challenged.

    After a miss it is 1 in each `challenge_rest_ms`, until the challenge is repeated.
    """
    if isinstance(record.status, HostStatusUnverified):
        return UNVERIFIED_PER_BLOCK_PPM
    if not isinstance(record.status, (HostStatusVerified, HostStatusOnline)):
        return 0
    chance_ppm = PPM if is_repetition_due(of_host) else chance_per_period_ppm(score)
    return max(1, min(PPM, chance_ppm * draw.block_ms // max(1, draw.rest_ms)))


def drawn_opening(
    me: str,
    host: str,
    key: bytes,
    record: HostRecord,
    score: HostScore | None,
    of_host: HostChallenges | None,
    draw: BlockDraw,
) -> Opening | None:
    """Return the challenge of this host that `me` has to open by this block's draw. `key`: the host's, 32 bytes."""
    if draw.randomness is None or not record.answers_challenges:
        return None
    ticket = _hash(draw.randomness, key)
    if int.from_bytes(ticket[:8], "little") % PPM >= chance_per_block_ppm(record, score, of_host, draw):
        return None
    candidates = {who: raw for who, raw in draw.verifiers.items() if who not in (record.provider, host)}
    if not candidates or min(candidates, key=lambda who: _hash(ticket, candidates[who])) != me:
        return None
    free = free_devices(record)
    return Opening(host, free[ticket[8] % len(free)]) if free else None


def free_devices(record: HostRecord) -> Sequence[int]:
    """Return the devices that verifiers may challenge: healthy, and without a lease."""
    return [
        index
        for index, device in enumerate(record.devices)
        if device.healthy and device.milli_free == WHOLE_DEVICE and device.shared_by is None
    ]


def may_be_opened(record: HostRecord, of_host: HostChallenges | None, draw: BlockDraw, absence_ms: int) -> bool:
    """Return whether the chain accepts a challenge of this host by a verifier now, as far as its records tell."""
    if record.challenged is not None or record.last_heartbeat + absence_ms < draw.now:
        return False
    if of_host is None:
        return True
    last = of_host.by_verifier_at
    return of_host.open is None and (last is None or draw.now >= last + draw.rest_ms)


def _hash(*parts: bytes) -> bytes:
    return hashlib.blake2b(b"gantry/opening/v1" + b"".join(parts), digest_size=32).digest()
