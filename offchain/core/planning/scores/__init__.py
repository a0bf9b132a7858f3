"""What speaks for a host beside its room: a file for each score, a number from 0, the best, to 1, times its weight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from offchain.core.fleet.facts import Facts
from offchain.core.fleet.offers import Offers
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Floats
from offchain.core.planning.scores.failures import failures
from offchain.core.planning.scores.image import image
from offchain.core.planning.scores.latency import latency
from offchain.core.planning.scores.network import network
from offchain.core.planning.scores.price import price, prices
from offchain.core.planning.scores.reputation import reputation
from offchain.core.planning.scores.weights import Weights

__all__ = ["SCORES", "Weights", "beside_price", "for_price", "parts_beside_room"]

Score = Callable[[Want, Facts], Floats]
"""[host]: from 0, nothing speaks against it, to 1."""

SCORES: Final[dict[str, Score]] = {
    "price": price,
    "failures": failures,
    "reputation": reputation,
    "image": image,
    "network": network,
    "latency": latency,
}
"""By the name of its weight. The draw is no function of facts: `draw.py`."""


def parts_beside_room(want: Want, facts: Facts, weights: Weights) -> dict[str, Floats]:
    """[host]: points against it, whatever is free, by the name of the score."""
    return {name: getattr(weights, name) * score(want, facts) for name, score in SCORES.items()}


def beside_price(want: Want, facts: Facts, weights: Weights) -> Floats:
    """[host]: of these, all but those for its price; of the want, they depend on its manifest alone."""
    found = np.zeros(len(facts))
    for name, score in SCORES.items():
        if score is not price:
            found += getattr(weights, name) * score(want, facts)
    return found


def for_price(want: Want, offers: Offers, some: slice, weights: Weights) -> Floats:
    """[list]: those for the price, of some price lists."""
    points: Floats = weights.price * prices(want, offers, some)
    return points
