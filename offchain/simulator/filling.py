"""Fills a cluster: pods arrive one after the other, each is placed or fails, and none ever leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from offchain.core.scheduler.cluster import Cluster, HostSpec
from offchain.core.scheduler.demand import DemandDistribution
from offchain.core.scheduler.pod_request import PodShape
from offchain.simulator.policies import PreparedPolicy
from offchain.simulator.sim_score_cache import SimScoreCache

LOAD_MARKS = (100, 110, 120, 130)
"""Loads, in percent of all GPUs, at which the allocation is recorded."""

_BLOCK = 4096


@dataclass(slots=True)
class FillResult:
    pods: int = 0
    failed: int = 0
    """Pods that were feasible nowhere when they arrived."""
    failed_with_gpus: int = 0
    at_load: dict[int, float] = field(default_factory=dict)
    """The allocation in percent when arrived pods had asked for this percentage of GPUs."""


def arrivals(demand: DemandDistribution, milli: float, seed: int) -> Iterator[PodShape]:
    """Draw pods from the demand, with replacement, until they ask for `milli` thousandths of GPUs.

    ValueError where no pod asks for a GPU.
    """
    shares = demand.shares()
    if not any(shape.gpus for shape in shares):
        raise ValueError("no pod asks for a GPU")
    shapes, probabilities = list(shares), list(shares.values())
    random = np.random.default_rng([seed, 0])
    asked = 0
    while True:
        for index in random.choice(len(shapes), size=_BLOCK, p=probabilities).tolist():
            if asked >= milli:
                return
            asked += shapes[index].total_milli
            yield shapes[index]


def fill(scores: SimScoreCache, pods: Iterable[PodShape]) -> FillResult:
    """Place all feasible pods."""
    cluster, found = scores.cluster, FillResult()
    marks = list(LOAD_MARKS)
    asked = 0
    for shape in pods:
        found.pods += 1
        asked += shape.total_milli
        if scores.place(shape) is None:
            found.failed += 1
            found.failed_with_gpus += shape.gpus > 0
        while marks and asked * 100 >= cluster.total_milli * marks[0]:
            found.at_load[marks.pop(0)] = cluster.allocation_percent
    return found


@dataclass(frozen=True, slots=True)
class FillOutcome:
    """One run. Percentages are of all GPUs of the cluster."""

    seed: int
    allocation_percent: float
    filled: FillResult
    seconds: float
    """Time of all decisions."""

    @property
    def decisions_per_second(self) -> float:
        return self.filled.pods / self.seconds if self.seconds else 0.0


def simulate_fill(
    specs: Sequence[HostSpec],
    demand: DemandDistribution,
    policy: PreparedPolicy,
    *,
    load_percent: float,
    seed: int,
    clock_s: Callable[[], float],
) -> FillOutcome:
    """Fill an empty cluster until pods have asked for `load_percent` of its GPUs. Deterministic for a seed.

    ValueError where there are no GPUs, or no pod asks for one.
    """
    cluster = Cluster.of(specs)
    if not cluster.total_milli:
        raise ValueError("no node has a GPU")
    scores = SimScoreCache(cluster, policy.make_policy(cluster, seed), seed)
    if demand.counts:
        # Compile before the clock starts.
        scores.score_all(next(iter(demand.counts)))
    began = clock_s()
    filled = fill(scores, arrivals(demand, cluster.total_milli * load_percent / 100, seed))
    return FillOutcome(seed, cluster.allocation_percent, filled, clock_s() - began)
