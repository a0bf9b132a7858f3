"""Hosts that bill by the task's unit."""

from __future__ import annotations

from offchain.core.fit import Misfit
from offchain.core.fleet.facts import Facts
from offchain.core.fleet.offers import UNITS
from offchain.core.fleet.want import Want
from offchain.core.placing.cluster import Bools


class UnitNotOffered:
    """Source: the chain's rule of the same name, docs/protocol.md."""

    misfit = Misfit.UNIT_NOT_OFFERED

    def allows(self, want: Want, facts: Facts) -> Bools | None:
        """For each host, whether it may be there."""
        found: Bools = (facts.offers.factor[UNITS.index(want.unit)] > 0)[facts.offer]
        return found
