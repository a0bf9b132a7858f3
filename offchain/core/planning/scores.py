"""What speaks for a host beside its room: each is a number from 0, the best, to 1, times its weight.

docs/scheduling.md documents the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from offchain.core.fleet.facts import Facts
from offchain.core.fleet.filters.price import least_rate
from offchain.core.fleet.want import Want
from offchain.core.placing.cluster import Floats

STEP: Final = 100.0
"""Points that one step of lost worth counts, placing/worth.py: the measure of all weights."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Points at most. `draw`: what tells hosts apart that are alike; schedulers draw differently."""

    price: float = 3 * STEP
    draw: float = 0.5


def beside_room(want: Want, facts: Facts, weights: Weights) -> Floats:
    """[host]: points against it, whatever is free."""
    found = np.zeros(len(facts))
    for part in parts_beside_room(want, facts, weights).values():
        found += part
    return found


def parts_beside_room(want: Want, facts: Facts, weights: Weights) -> dict[str, Floats]:
    """[host]: what :func:`beside_room` adds up, by name."""
    return {"price": weights.price * _price(want, facts)}


def _price(want: Want, facts: Facts) -> Floats:
    """What the pod costs there as a part of the most that its tenant pays."""
    limit = max(1, want.max_rate_per_hour)
    part: Floats = np.minimum(1.0, least_rate(want, facts) / limit)
    return part
