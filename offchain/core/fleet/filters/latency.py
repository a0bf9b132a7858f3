"""A round trip that is as short as the task needs it."""

from __future__ import annotations

from offchain.core.fit import Misfit
from offchain.core.fleet.facts import Facts
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Bools


class LatencyTooHigh:
    """Source: the chain's rule of the same name, docs/protocol.md."""

    misfit = Misfit.LATENCY_TOO_HIGH

    def allows(self, want: Want, facts: Facts) -> Bools | None:
        """For each host, whether it may be there. Not where it has measured none."""
        longest = want.placement.max_latency_ms
        return (facts.latency_ms > 0) & (facts.latency_ms <= longest) if longest else None
