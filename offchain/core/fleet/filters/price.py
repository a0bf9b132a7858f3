"""Hosts that cost no more than the task's limit."""

from __future__ import annotations

import numpy as np

from offchain.core.fit import Misfit
from offchain.core.fleet.facts import Facts
from offchain.core.fleet.offers import ALL, UNITS, Offers
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Bools, Floats

_MILLION = 1e6

_ROUNDING = 1e-9
"""Columns are floating point: what is above the limit by less than this part is let through, for the exact rule."""

_PAYABLE = 1e30
"""List prices below this are far from what the chain cannot compute any more."""


class Price:
    """Looks at the cheapest devices of each host: what the chosen ones cost is checked exactly when they are chosen."""

    misfit = Misfit.PRICE

    def allows(self, want: Want, facts: Facts) -> Bools:
        """For each host, whether it may be there."""
        found: Bools = self.accepts(want, facts.offers, ALL)[facts.offer]
        return found

    def accepts(self, want: Want, offers: Offers, some: slice) -> Bools:
        """For each of some price lists, whether the limit may be kept."""
        found: Bools = least_rates(want, offers, some) <= want.max_rate_per_hour * (1 + _ROUNDING)
        return found


def least_rates(want: Want, offers: Offers, some: slice) -> Floats:
    """[list]: base units per hour below which no pod can be had; 0 where the unit is not offered. Of some lists."""
    parts = _listed(want, offers, offers.cheapest, some)
    # The exact rule rounds each part down, and what comes of them.
    rounded: Floats = np.where(np.isinf(parts), 0.0, np.maximum(0.0, parts - want.resources.gpus.count - 3))
    least: Floats = np.maximum(0.0, rounded * offers.factor[UNITS.index(want.unit), some] / _MILLION - 1)
    return least


def surely_within(want: Want, offers: Offers, some: slice) -> Bools:
    """[list]: whether a pod costs no more than its limit on whatever devices, without asking the exact rule."""
    found: Bools = most_rates(want, offers, some) <= want.max_rate_per_hour * (1 - _ROUNDING)
    return found


def most_rates(want: Want, offers: Offers, some: slice) -> Floats:
    """[list]: base units per hour above which no pod costs, on whatever devices; infinite where it cannot be paid."""
    parts = np.minimum(_listed(want, offers, offers.dearest, some), _PAYABLE)
    rates = parts * offers.factor[UNITS.index(want.unit), some] / _MILLION
    return np.where(parts < _PAYABLE, rates, np.inf)


def _listed(want: Want, offers: Offers, devices: Floats, some: slice) -> Floats:
    """[list]: the list price of a pod, before rounding. `devices`: what so many of them cost together."""
    asked, gpus = want.resources, want.resources.gpus
    each = np.array([asked.cpu_milli / 1000, asked.memory_mib / 1024, float(asked.disk_gib)])
    parts: Floats = offers.price[some] @ each
    if gpus.count:
        parts = parts + devices[gpus.count - 1, some] * gpus.milli / 1000
    return parts
