"""Hosts that cost no more than the task's limit."""

from __future__ import annotations

import numpy as np

from offchain.core.fit import Misfit
from offchain.core.fleet.facts import UNITS, Facts
from offchain.core.fleet.want import Want
from offchain.core.placing.cluster import Bools, Floats

_MILLION = 1e6

_ROUNDING = 1e-9
"""Columns are floating point: what is above the limit by less than this part is let through, for the exact rule."""

_PAYABLE = 1e30
"""List prices below this are far from what the chain cannot compute any more."""


class Price:
    """Looks at the cheapest devices of each host: what the chosen ones cost is checked exactly when they are chosen."""

    misfit = Misfit.PRICE

    def allows(self, want: Want, facts: Facts) -> Bools | None:
        """For each host, whether it may be there."""
        found: Bools = least_rate(want, facts) <= want.max_rate_per_hour * (1 + _ROUNDING)
        return found


def least_rate(want: Want, facts: Facts) -> Floats:
    """[host]: base units per hour below which no pod can be on the host; 0 where the unit is not offered."""
    gpus = want.resources.gpus
    parts = _listed(want, facts, facts.cheapest)
    # The exact rule rounds each part down, and what comes of them.
    rounded: Floats = np.where(np.isinf(parts), 0.0, np.maximum(0.0, parts - gpus.count - 3))
    return np.maximum(0.0, rounded * facts.factor[:, UNITS.index(want.unit)] / _MILLION - 1)


def surely_within(want: Want, facts: Facts) -> Bools:
    """[host]: whether a pod costs no more than its limit there on whatever devices, without asking the exact rule."""
    parts = np.minimum(_listed(want, facts, facts.dearest), _PAYABLE)
    most = parts * facts.factor[:, UNITS.index(want.unit)] / _MILLION
    found: Bools = (most <= want.max_rate_per_hour * (1 - _ROUNDING)) & (parts < _PAYABLE)
    return found


def _listed(want: Want, facts: Facts, devices: Floats) -> Floats:
    """[host]: the list price of a pod, before rounding. `devices`: what so many of them cost together."""
    asked, gpus = want.resources, want.resources.gpus
    parts: Floats = facts.price @ np.array([asked.cpu_milli / 1000, asked.memory_mib / 1024, float(asked.disk_gib)])
    if gpus.count:
        parts = parts + devices[:, gpus.count - 1] * gpus.milli / 1000
    return parts
