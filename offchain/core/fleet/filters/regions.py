"""Only regions that the tenant allows, where it names any."""

from __future__ import annotations

from offchain.core.fit import Misfit
from offchain.core.fleet.facts import Facts
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Bools


class RegionNotWanted:
    """Source: the chain's rule of the same name, docs/protocol.md."""

    misfit = Misfit.REGION_NOT_WANTED

    def allows(self, want: Want, facts: Facts) -> Bools | None:
        """For each host, whether it may be there."""
        wanted = want.placement.regions
        return facts.regions.among(wanted, facts.region) if wanted else None
