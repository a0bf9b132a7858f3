"""Cached columns of one request: its costs on all hosts, and the parts of them that other requests share."""

from __future__ import annotations

import numpy as np

from offchain.core.scheduler.cluster import Cluster
from offchain.core.scheduler.columns import Bools, Floats, resized
from offchain.core.scheduler.device_choice import KernelRequest
from offchain.core.scheduler.filters import affordable_lists, certainly_affordable
from offchain.core.scheduler.host_attributes import PriceLists
from offchain.core.scheduler.pod_request import PodRequest, PodShape
from offchain.core.scheduler.score_column import empty_column
from offchain.core.scheduler.scores import ScoreWeights, price_costs


class CachedRequest:
    """A shape as compiled loops read it. Classes of devices shared by other accounts are beyond its columns."""

    __slots__ = ("_found", "_seen", "shape")

    def __init__(self, shape: PodShape, level: int) -> None:
        self.shape = shape
        self._found = KernelRequest.accepting(shape, np.zeros(0, dtype=np.bool_), level)
        self._seen = 0
        """The number of device classes that were seen."""

    @property
    def level(self) -> int:
        """The level of devices of which the pod's account has shares."""
        return self._found.level

    def current(self, cluster: Cluster) -> KernelRequest:
        """Return the request for all device classes of now."""
        classes = cluster.classes
        if len(classes) > len(self._found.accepts):
            # Devices shared by another account are not suitable, and never completely free.
            self._found = self._found._replace(accepts=resized(self._found.accepts, 1 << len(classes).bit_length()))
        if len(classes) > self._seen:
            for kind in cluster.classes_since(self._seen, self.shape.account):
                self._found.accepts[kind] = self.shape.accepts(classes[kind])
            self._seen = len(classes)
        return self._found


class StaticCosts:
    """[host]: costs regardless of resources and price; infinite: not permitted. Shared by many requests."""

    __slots__ = ("__weakref__", "costs", "seen")

    def __init__(self) -> None:
        self.costs: Floats = np.zeros(0)
        self.seen = 0
        """The number of attribute changes that were taken in."""


class ScoreBounds:
    """Lower bounds of the scores of all requests for the same GPUs, but for what they leave free.

    For shares: on devices without shares in use.
    """

    __slots__ = ("__weakref__", "column", "kernel_request", "seen_free")

    def __init__(self, kernel_request: CachedRequest) -> None:
        self.column = empty_column()._replace(tree=np.zeros(0, dtype=np.float32))
        self.seen_free = 0
        self.kernel_request = kernel_request


class ScoreEntry:
    """The cached columns of one request."""

    __slots__ = (
        "bounds",
        "by_list",
        "certain",
        "column",
        "generation",
        "is_bounded",
        "kernel_request",
        "seen_free",
        "static",
        "was_priced_out",
    )

    def __init__(self, kernel_request: CachedRequest, static: StaticCosts, bounds: ScoreBounds) -> None:
        self.column = empty_column()
        self.seen_free = 0
        self.kernel_request = kernel_request
        self.static = static
        self.bounds = bounds
        self.is_bounded = False
        """Whether hosts may have costs that are too low: they were never the best, and are still to be scored."""
        self.by_list: Floats = np.zeros(0)
        """[list]: costs of the price; infinite: not permitted."""
        self.certain: Bools = np.zeros(0, dtype=np.bool_)
        """[list]: whether it certainly costs no more than its limit there."""
        self.generation = 0
        self.was_priced_out = False
        """Whether a host was excluded because of the devices that a pod would have taken."""

    def __len__(self) -> int:
        return len(self.column.costs)

    def add_price_lists(self, request: PodRequest, price_lists: PriceLists, weights: ScoreWeights) -> None:
        """Evaluate new price lists."""
        if self.generation != price_lists.generation:
            self.generation, self.by_list, self.certain = price_lists.generation, self.by_list[:0], self.certain[:0]
        if len(self.by_list) < len(price_lists):
            new = slice(len(self.by_list), len(price_lists))
            costs = np.where(
                affordable_lists(request, price_lists, new), price_costs(request, price_lists, new, weights), np.inf
            )
            self.by_list = np.concatenate([self.by_list, costs])
            self.certain = np.concatenate([self.certain, certainly_affordable(request, price_lists, new)])
