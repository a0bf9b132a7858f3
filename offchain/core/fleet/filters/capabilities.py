"""Everything that the task needs a host to be able to do."""

from __future__ import annotations

from offchain.core.fit import Misfit
from offchain.core.fleet.facts import Facts, capability_bits
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Bools


class CapabilityMissing:
    """Source: the chain's rule of the same name, docs/protocol.md."""

    misfit = Misfit.CAPABILITY_MISSING

    def allows(self, want: Want, facts: Facts) -> Bools | None:
        """For each host, whether it may be there."""
        bits = capability_bits(want.placement.capabilities)
        return (facts.capabilities & bits) == bits if bits else None
