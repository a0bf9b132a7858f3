"""Of hosts that serve the network alike, the cheaper."""

from __future__ import annotations

import numpy as np

from offchain.core.fleet.facts import Facts
from offchain.core.fleet.filters.price import least_rate
from offchain.core.fleet.want import Want
from offchain.core.placing.cluster import Floats


def price(want: Want, facts: Facts) -> Floats:
    """What the pod costs there as a part of the most that its tenant pays."""
    limit = max(1, want.max_rate_per_hour)
    part: Floats = np.minimum(1.0, least_rate(want, facts) / limit)
    return part
