"""What a lease owes: the rule of `gantry_primitives::escrow`, for those who only read.

The chain computes the same; `tests/vectors/escrow.json` holds the cases that both run.
"""

from __future__ import annotations

from offchain.core.rate import owed
from offchain.core.values import Escrow
from offchain.schema.escrow import billed_ms


def owed_by(escrow: Escrow, now: int, host_downtime: int) -> int:
    """What is owed in all at chain time `now`, by the escrow's unit: never over the deposit, never under what is paid.

    `host_downtime`: how long the host was away so far in ms, an absence that goes on included.
    """
    if escrow.since is None:
        return max(escrow.accrued, escrow.paid)
    rest = escrow.deposit - escrow.accrued
    running = owed(escrow.unit, rest, escrow.rate_per_hour, billed_ms(escrow, now, host_downtime))
    return max(escrow.accrued + running, escrow.paid)
