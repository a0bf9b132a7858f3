"""How long a round trip to a host takes, as it measured it: of hosts that are alike, the nearer."""

from __future__ import annotations

from typing import Final

import numpy as np

from offchain.core.fleet.facts import Facts
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Floats

LONG_MS: Final = 1_000
"""From here on all round trips are equally long."""

_LONG: Final[Floats] = np.log(np.maximum(1, np.arange(LONG_MS + 1))) / np.log(LONG_MS)
"""[ms]: logarithms of all hosts for each want would cost more than all else here."""
_LONG[0] = 0.5  # Who has measured none is neither near nor far, as if it were at 32 ms.


def latency(want: Want, facts: Facts) -> Floats:
    """From 0 at 1 ms to 1 at :data:`LONG_MS`, each tenfold the same; one half where none was measured."""
    del want
    long: Floats = _LONG[np.minimum(facts.latency_ms, LONG_MS)]
    return long
