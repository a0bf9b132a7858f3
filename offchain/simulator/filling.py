"""Fills a cluster: pods arrive one after the other, each is placed or fails, and none ever leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from offchain.core.scheduler.cluster import Cluster, HostSpec
from offchain.core.scheduler.demand import DemandDistribution
from offchain.core.scheduler.pod_request import WHOLE_GPU, PodShape
from offchain.simulator.names import PRODUCTION
from offchain.simulator.policies import make_policy
from offchain.simulator.production import ProductionPlacer
from offchain.simulator.sim_score_cache import SimScoreCache

LOAD_MARKS = (100, 110, 120, 130)
"""Loads, in percent of all GPUs, at which the allocation is recorded."""

_BLOCK = 4096


@dataclass(slots=True)
class FillResult:
    total_milli: int
    """Thousandths of all GPUs."""
    allocated_milli: int = 0
    pods: int = 0
    failed: int = 0
    """Pods that were feasible nowhere when they arrived."""
    failed_with_gpus: int = 0
    at_load: dict[int, float] = field(default_factory=dict)
    """The allocation in percent when arrived pods had asked for this percentage of GPUs."""

    @property
    def allocation_percent(self) -> float:
        return 100 * self.allocated_milli / self.total_milli


def arrivals(demand: DemandDistribution, milli: float, seed: int, accounts: int = 0) -> Iterator[PodShape]:
    """Draw pods from the demand, with replacement, until they ask for `milli` thousandths of GPUs.

    With `accounts` above 0, shares of GPUs belong to that many accounts, drawn uniformly. ValueError where no pod asks
    for a GPU.
    """
    shares = demand.shares()
    if not any(shape.gpus for shape in shares):
        raise ValueError("no pod asks for a GPU")
    shapes, probabilities = list(shares), list(shares.values())
    random, account_random = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 9])
    asked = 0
    while True:
        chosen = random.choice(len(shapes), size=_BLOCK, p=probabilities).tolist()
        owners = account_random.integers(0, max(1, accounts), _BLOCK).tolist()
        for index, owner in zip(chosen, owners, strict=True):
            if asked >= milli:
                return
            shape = shapes[index]
            asked += shape.total_milli
            is_share = accounts > 0 and 0 < shape.gpu_milli < WHOLE_GPU
            yield replace(shape, account=f"account {owner}") if is_share else shape


def fill(place: Callable[[PodShape], bool], pods: Iterable[PodShape], total_milli: int) -> FillResult:
    """Place all pods that `place` finds a host for, on hosts with `total_milli` thousandths of GPUs."""
    found = FillResult(total_milli)
    marks = list(LOAD_MARKS)
    asked = 0
    for shape in pods:
        found.pods += 1
        asked += shape.total_milli
        if place(shape):
            found.allocated_milli += shape.total_milli
        else:
            found.failed += 1
            found.failed_with_gpus += shape.gpus > 0
        while marks and asked * 100 >= total_milli * marks[0]:
            found.at_load[marks.pop(0)] = found.allocation_percent
    return found


@dataclass(frozen=True, slots=True)
class FillOutcome:
    """One run. Percentages are of all GPUs of the cluster."""

    seed: int
    filled: FillResult
    seconds: float
    """Time of all decisions."""

    @property
    def allocation_percent(self) -> float:
        return self.filled.allocation_percent

    @property
    def decisions_per_second(self) -> float:
        return self.filled.pods / self.seconds if self.seconds else 0.0


def simulate_fill(
    specs: Sequence[HostSpec],
    demand: DemandDistribution,
    policy: str,
    *,
    load_percent: float,
    seed: int,
    clock_s: Callable[[], float],
    accounts: int = 0,
) -> FillOutcome:
    """Fill an empty cluster until pods have asked for `load_percent` of its GPUs. Deterministic for a seed.

    The production policy does not know the demand. `accounts`: as for :func:`arrivals`. ValueError
    where there are no GPUs, or no pod asks for one.
    """
    total_milli = WHOLE_GPU * sum(spec.gpus for spec in specs)
    if not total_milli:
        raise ValueError("no node has a GPU")
    pods = list(arrivals(demand, total_milli * load_percent / 100, seed, accounts))
    # Compile before the clock starts.
    _placer(policy, specs, demand, seed)(pods[0])
    place = _placer(policy, specs, demand, seed)
    began = clock_s()
    filled = fill(place, pods, total_milli)
    return FillOutcome(seed, filled, clock_s() - began)


def _placer(
    policy: str, specs: Sequence[HostSpec], demand: DemandDistribution, seed: int
) -> Callable[[PodShape], bool]:
    if policy == PRODUCTION:
        return ProductionPlacer(specs, seed).place
    cluster = Cluster.of(specs)
    scores = SimScoreCache(cluster, make_policy(policy, cluster, demand), seed)
    return lambda shape: scores.place(shape) is not None
