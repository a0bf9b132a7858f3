"""How fast a host's network is, as it measured: images and results come and go sooner."""

from __future__ import annotations

from typing import Final

import numpy as np

from offchain.core.fleet.facts import Facts
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Floats

FAST_MBPS: Final = 10_000
"""Nothing speaks against so fast a network."""

_SLOW: Final[Floats] = 1.0 - np.log1p(np.arange(FAST_MBPS + 1)) / np.log1p(FAST_MBPS)
"""[Mbit/s]: logarithms of all hosts for each want would cost more than all else here."""


def network(want: Want, facts: Facts) -> Floats:
    """From 0 at :data:`FAST_MBPS` to 1 at nothing, or where it was not measured; each tenfold counts the same."""
    del want
    slow: Floats = _SLOW[np.minimum(facts.mbps, FAST_MBPS)]
    return slow
