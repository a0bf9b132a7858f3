"""What a filter is."""

from __future__ import annotations

from typing import Protocol

from offchain.core.fit import Misfit
from offchain.core.fleet.facts import Facts
from offchain.core.fleet.offers import Offers
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Bools


class Filter(Protocol):
    """One rule over all hosts."""

    misfit: Misfit
    """What is said of hosts that it excludes."""

    def allows(self, want: Want, facts: Facts) -> Bools | None:
        """For each host, whether the pod may go there; None: the pod does not care."""


class OfferFilter(Filter, Protocol):
    """One that looks at what hosts ask, and at nothing else of them."""

    def accepts(self, want: Want, offers: Offers, some: slice) -> Bools:
        """For each of some price lists, whether the pod may go to hosts that have it."""
