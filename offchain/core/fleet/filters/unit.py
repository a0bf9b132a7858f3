"""Hosts that bill by the task's unit."""

from __future__ import annotations

from offchain.core.fit import Misfit
from offchain.core.fleet.facts import Facts
from offchain.core.fleet.offers import ALL, UNITS, Offers
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Bools


class UnitNotOffered:
    """Source: the chain's rule of the same name, docs/protocol.md."""

    misfit = Misfit.UNIT_NOT_OFFERED

    def allows(self, want: Want, facts: Facts) -> Bools:
        """For each host, whether it may be there."""
        found: Bools = self.accepts(want, facts.offers, ALL)[facts.offer]
        return found

    def accepts(self, want: Want, offers: Offers, some: slice) -> Bools:
        """For each of some price lists, whether it has the unit."""
        found: Bools = offers.factor[UNITS.index(want.unit), some] > 0
        return found
