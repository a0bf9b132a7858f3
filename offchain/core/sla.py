"""Credits to tenants for broken SLA terms.

The chain computes them in `gantry_primitives::sla`; `tests/vectors/sla.json` contains the cases that both are tested
with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from offchain.core.values import SlaTerms
from offchain.schema.durations import HOUR_MS

_PPM: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured in a period of a lease, which begins with its start or with the last credit."""

    price: int
    """Base units that the lease owes for the period."""
    rate_per_hour: int
    promised_ms: int
    """How long the host had to serve the pod."""
    down_ms: int = 0
    """How long of that it was absent."""
    late_ms: int = 0
    """By how much the pod started later than promised."""
    missing_notice_ms: int = 0
    """The part of the promised notice that was not given."""


def credit(terms: SlaTerms, measured: Measured) -> int:
    """Return the credit for a period in base units, rounded down: at most `penalty_ppm` of its price.

    Downtime up to the allowed part of the time costs nothing. Beyond it the credit grows linearly, and is the whole
    penalty at twice the allowed downtime. A late start and a missing notice cost the price of the time.
    """
    most = measured.price * min(terms.penalty_ppm, _PPM) // _PPM
    allowed_ms = measured.promised_ms * (_PPM - terms.uptime_ppm) // _PPM
    excess_ms = max(0, measured.down_ms - allowed_ms)
    if not excess_ms or not terms.uptime_ppm:
        for_downtime = 0
    elif excess_ms >= allowed_ms:
        for_downtime = most
    else:
        for_downtime = most * excess_ms // allowed_ms
    for_time = measured.rate_per_hour * (measured.late_ms + measured.missing_notice_ms) // HOUR_MS
    return min(most, for_downtime + for_time)
