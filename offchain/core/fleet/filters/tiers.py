"""Only tiers that the tenant allows, where it names any."""

from __future__ import annotations

from offchain.core.fit import Misfit
from offchain.core.fleet.facts import Facts
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Bools


class TierNotWanted:
    """Source: the chain's rule of the same name, docs/protocol.md."""

    misfit = Misfit.TIER_NOT_WANTED

    def allows(self, want: Want, facts: Facts) -> Bools | None:
        """For each host, whether it may be there."""
        wanted = want.placement.tiers
        return facts.tiers.among(wanted, facts.tier) if wanted else None
