"""Everything that the task needs a host to be able to do, and the sandbox for its pods."""

from __future__ import annotations

from offchain.core.fit import Misfit
from offchain.core.fleet.facts import SANDBOXED, Facts, capability_bits
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Bools


class CapabilityMissing:
    """Source: the chain's rule of the same name, docs/protocol.md."""

    misfit = Misfit.CAPABILITY_MISSING

    def allows(self, want: Want, facts: Facts) -> Bools | None:
        """For each host, whether it may be there."""
        bits = capability_bits(want.placement.capabilities) & ~SANDBOXED
        return (facts.capabilities & bits) == bits if bits else None


class NotSandboxed:
    """Source: the chain's rule of the same name, docs/protocol.md."""

    misfit = Misfit.NOT_SANDBOXED

    def allows(self, want: Want, facts: Facts) -> Bools | None:
        """For each host, whether its pods run in a sandbox; None where the task does not ask for that."""
        return (facts.capabilities & SANDBOXED) != 0 if want.placement.capabilities.sandboxed else None
