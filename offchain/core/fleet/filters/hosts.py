"""Only hosts that the tenant has picked, where it has."""

from __future__ import annotations

from offchain.core.fit import Misfit
from offchain.core.fleet.facts import Facts
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Bools


class HostNotWanted:
    """Source: the chain's rule of the same name, docs/protocol.md."""

    misfit = Misfit.HOST_NOT_WANTED

    def allows(self, want: Want, facts: Facts) -> Bools | None:
        """For each host, whether it may be there."""
        wanted = want.placement.hosts
        return facts.hosts.among(wanted, facts.host) if wanted else None
