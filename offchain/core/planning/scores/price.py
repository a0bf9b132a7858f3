"""Of hosts that serve the network alike, the cheaper."""

from __future__ import annotations

import numpy as np

from offchain.core.fleet.facts import Facts
from offchain.core.fleet.filters.price import least_rates
from offchain.core.fleet.offers import ALL, Offers
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Floats


def price(want: Want, facts: Facts) -> Floats:
    """What the pod costs there as a part of the most that its tenant pays."""
    part: Floats = prices(want, facts.offers, ALL)[facts.offer]
    return part


def prices(want: Want, offers: Offers, some: slice) -> Floats:
    """The same for some price lists."""
    part: Floats = np.minimum(1.0, least_rates(want, offers, some) / max(1, want.max_rate_per_hour))
    return part
