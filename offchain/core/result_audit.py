"""Adaptive audit of results: which results of a host are computed again on another host.

The rule is that of BOINC's adaptive replication: every result of a host without a record is audited, and at random
those of a host with one. A wrong result ends the host's record, so that its next results are all audited again.
"""

from __future__ import annotations

import hashlib
from typing import Final

PPM: Final = 1_000_000
ALWAYS_BELOW: Final = 10
"""Consecutive valid results below which every result is audited."""
LEAST_CHANCE_PPM: Final = 50_000
"""Chance that a result of any host is audited, at least."""


def audit_chance_ppm(consecutive_valid: int) -> int:
    """Return the chance that the next result of a host is audited, in parts per million.

    `consecutive_valid`: results of the host that were accepted since the last wrong one, audited or not. Below 10 the
    chance is 1, then max(5 %, 1 / consecutive_valid).
    """
    if consecutive_valid < ALWAYS_BELOW:
        return PPM
    return max(LEAST_CHANCE_PPM, PPM // consecutive_valid)


def is_audited(consecutive_valid: int, task: int, randomness: bytes) -> bool:
    """Return whether the result of a task is audited.

    `randomness`: unknown to the host when it commits to the result, such as the VRF output of a later block.
    """
    ticket = hashlib.blake2b(b"gantry/audit/v1" + task.to_bytes(8, "little") + randomness, digest_size=8).digest()
    return int.from_bytes(ticket, "little") % PPM < audit_chance_ppm(consecutive_valid)


def least_slash(gain: int, consecutive_valid: int) -> int:
    """Return the smallest slash with which a wrong result does not pay: gain · (1 - p) / p, rounded up.

    `gain`: what a wrong result saves its host, in base units; p: the chance of an audit (docs/economics.md).
    """
    chance = audit_chance_ppm(consecutive_valid)
    return -(-gain * (PPM - chance) // chance)
