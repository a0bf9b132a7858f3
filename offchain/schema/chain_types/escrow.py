"""Billed time and amount owed of a lease, by the rules of `gantry_primitives::escrow`.

`host_downtime` is the host's whole downtime in ms: its increase since the running segment began is not billed.
`tests/vectors/escrow.json` holds test cases that the chain runs, too.
"""

from __future__ import annotations

from typing import Final

from offchain.schema.chain_types._generated_chain import BillingUnit, Escrow
from offchain.schema.durations import HOUR_MS

UNIT_MS: Final = {BillingUnit.HOUR: HOUR_MS, BillingUnit.DAY: 24 * HOUR_MS}
UNPAYABLE: Final = 1 << 128
"""Greater than any amount of coins: the limit of the chain's 128 bits."""
NEVER: Final = (1 << 64) - 1
"""The largest time on the chain: a rate of 0 never depletes a deposit."""


def billed_ms(escrow: Escrow, now: int, host_downtime: int) -> int:
    """Return the billed ms of the running segment; 0 while nothing is billed."""
    if escrow.since is None:
        return 0
    end = now if escrow.until is None else min(now, escrow.until)
    return max(0, max(0, end - escrow.since) - max(0, host_downtime - escrow.downtime_mark))


def depletes_at(escrow: Escrow, host_downtime: int) -> int | None:
    """Return the time at which the running segment depletes the deposit; None while nothing is billed."""
    if escrow.since is None:
        return None
    if escrow.rate_per_hour == 0:
        return NEVER
    covered = -(-(escrow.deposit - escrow.accrued) * HOUR_MS // escrow.rate_per_hour)
    return min(NEVER, escrow.since + covered + max(0, host_downtime - escrow.downtime_mark))


def ends_at(escrow: Escrow, host_downtime: int, reclaim_at: int | None = None) -> int | None:
    """Return the time at which a lease ends by itself: the deposit is depleted, or the provider's notice is over.

    None before the start and after the end.
    """
    depleted = depletes_at(escrow, host_downtime)
    if depleted is None:
        return None
    return min(moment for moment in (depleted, escrow.until, reclaim_at) if moment is not None)


def owed(unit: BillingUnit, deposit_held: int, rate: int, elapsed_ms: int, *, host_at_fault: bool = False) -> int:
    """Return the amount owed after `elapsed_ms`, at most the deposit.

    By the second: pro rata, rounded down. By the hour or day: whole units in advance, the first at the start and each
    further one at the end of the previous one; but pro rata if the host is at fault for the end.
    """
    if unit is not BillingUnit.SECOND and not host_at_fault:
        units = max(1, -(-elapsed_ms // UNIT_MS[unit]))
        elapsed_ms = units * UNIT_MS[unit]
    product = rate * elapsed_ms
    return deposit_held if product >= UNPAYABLE else min(deposit_held, product // HOUR_MS)


def owed_by(escrow: Escrow, now: int, host_downtime: int) -> int:
    """Return the total owed at chain time `now`, by the escrow's unit: at most the deposit, at least what is paid.

    `host_downtime`: downtime of the host so far in ms, including a present absence.
    """
    if escrow.since is None:
        return max(escrow.accrued, escrow.paid)
    rest = escrow.deposit - escrow.accrued
    running = owed(escrow.unit, rest, escrow.rate_per_hour, billed_ms(escrow, now, host_downtime))
    return max(escrow.accrued + running, escrow.paid)
