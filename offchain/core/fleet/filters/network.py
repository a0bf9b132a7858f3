"""A network that is as fast as the task needs, in both directions."""

from __future__ import annotations

from offchain.core.fit import Misfit
from offchain.core.fleet.facts import Facts
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Bools


class NotEnoughNetwork:
    """Source: the chain's rule of the same name, docs/protocol.md."""

    misfit = Misfit.NOT_ENOUGH_NETWORK

    def allows(self, want: Want, facts: Facts) -> Bools | None:
        """For each host, whether it may be there."""
        least = want.placement.min_network_mbps
        return facts.mbps >= least if least else None
