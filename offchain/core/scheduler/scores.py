"""Scores of hosts beside their resources: each from 0 (best) to 1, times its weight.

Docs/scheduling.md gives the reasons.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from offchain.core.scheduler.columns import Floats
from offchain.core.scheduler.filters import min_rates
from offchain.core.scheduler.host_attributes import ALL_LISTS, HostAttributes, PriceLists
from offchain.core.scheduler.pod_request import PodRequest

FRAGMENTATION_STEP: Final = 100.0
"""Cost of one step of the fragmentation score (packing.py): the unit of all weights."""


@dataclass(frozen=True, slots=True)
class ScoreWeights:
    """The maximum cost of each score."""

    price: float = 4 * FRAGMENTATION_STEP
    failures: float = 5 * FRAGMENTATION_STEP
    reputation: float = 1.5 * FRAGMENTATION_STEP
    image: float = 0.5 * FRAGMENTATION_STEP
    network: float = 0.2 * FRAGMENTATION_STEP
    latency: float = 0.2 * FRAGMENTATION_STEP
    draw: float = 0.5


def random_score(name: str, seed: bytes) -> float:
    """Return a number from 0 to 1 that depends on the host's name and the seed alone.

    Each scheduler has its own seed, so that several choose differently between equal hosts.
    """
    digest = hashlib.blake2b(name.encode(), key=seed, digest_size=8).digest()
    return int.from_bytes(digest, "little") / 2**64


def failure_score(request: PodRequest, attributes: HostAttributes) -> Floats:
    """Recent failures of the host, as this scheduler saw them (:mod:`offchain.core.scheduler.host_health`)."""
    del request
    return attributes.failure_score


def image_score(request: PodRequest, attributes: HostAttributes) -> Floats:
    """0 where the same manifest ran recently, so that its images are probably on the disk, else 1.

    0 everywhere if nothing is known of the manifest.
    """
    if request.manifest is None:
        return np.zeros(len(attributes))
    apart: Floats = np.where(
        attributes.hosts.among(attributes.recent_manifests.hosts(request.manifest), attributes.host), 0.0, 1.0
    )
    return apart


MAX_LATENCY_MS: Final = 1_000
"""All longer round trips count the same."""

_LATENCY_SCORES: Final[Floats] = np.log(np.maximum(1, np.arange(MAX_LATENCY_MS + 1))) / np.log(MAX_LATENCY_MS)
"""[ms]: a table, because logarithms of all hosts for each request would take longer than everything else here."""
_LATENCY_SCORES[0] = 0.5  # Not measured: neither near nor far, as at 32 ms.


def latency_score(request: PodRequest, attributes: HostAttributes) -> Floats:
    """Logarithmic from 0 at 1 ms to 1 at :data:`MAX_LATENCY_MS`; one half where it was not measured."""
    del request
    long: Floats = _LATENCY_SCORES[np.minimum(attributes.latency_ms, MAX_LATENCY_MS)]
    return long


MAX_MBPS: Final = 10_000
"""All faster networks count the same."""

_NETWORK_SCORES: Final[Floats] = 1.0 - np.log1p(np.arange(MAX_MBPS + 1)) / np.log1p(MAX_MBPS)
"""[Mbit/s]: a table, for the same reason."""


def network_score(request: PodRequest, attributes: HostAttributes) -> Floats:
    """Logarithmic from 0 at :data:`MAX_MBPS` to 1 at nothing, or where it was not measured."""
    del request
    slow: Floats = _NETWORK_SCORES[np.minimum(attributes.mbps, MAX_MBPS)]
    return slow


PRICE_DOUBLINGS: Final = 4
"""Prices below the limit halved so many times count the same."""


def price_score(request: PodRequest, attributes: HostAttributes) -> Floats:
    """Logarithmic from 0 at a sixteenth of the most that the tenant pays to 1 at all of it.

    A host that is twice as dear as another costs the same more for any limit of the tenant.
    """
    part: Floats = list_price_scores(request, attributes.price_lists, ALL_LISTS)[attributes.price_list]
    return part


def list_price_scores(request: PodRequest, price_lists: PriceLists, lists: slice) -> Floats:
    """[list]: the price score of some price lists."""
    part = min_rates(request, price_lists, lists) / max(1, request.max_rate_per_hour)
    score: Floats = 1.0 + np.log2(np.clip(part, 0.5**PRICE_DOUBLINGS, 1.0)) / PRICE_DOUBLINGS
    return score


def reputation_score(request: PodRequest, attributes: HostAttributes) -> Floats:
    """1 minus the host's reputation on the chain, from 0 to 1; one half without a history."""
    del request
    lacks: Floats = 1.0 - attributes.reputation
    return lacks


Score = Callable[[PodRequest, HostAttributes], Floats]
"""[host]: from 0, the best, to 1."""

SCORES: Final[dict[str, Score]] = {
    "price": price_score,
    "failures": failure_score,
    "reputation": reputation_score,
    "image": image_score,
    "network": network_score,
    "latency": latency_score,
}
"""By the name of the weight. The random score does not depend on attributes."""


def cost_parts(request: PodRequest, attributes: HostAttributes, weights: ScoreWeights) -> dict[str, Floats]:
    """Return the costs of each score by name, regardless of free resources."""
    return {name: getattr(weights, name) * score(request, attributes) for name, score in SCORES.items()}


def cost_without_price(request: PodRequest, attributes: HostAttributes, weights: ScoreWeights) -> Floats:
    """[host]: the sum of all costs but the price; of the request they depend on its manifest alone."""
    found = np.zeros(len(attributes))
    for name, score in SCORES.items():
        if score is not price_score:
            found += getattr(weights, name) * score(request, attributes)
    return found


def price_costs(request: PodRequest, price_lists: PriceLists, lists: slice, weights: ScoreWeights) -> Floats:
    """[list]: the cost of the price, of some price lists."""
    points: Floats = weights.price * list_price_scores(request, price_lists, lists)
    return points
