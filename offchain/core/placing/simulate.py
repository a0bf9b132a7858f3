"""A cluster that fills up: pods arrive one after the other, each is placed or fails, and nothing ever leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from offchain.core.placing.board import Board
from offchain.core.placing.cluster import Cluster, HostSpec
from offchain.core.placing.policies import make
from offchain.core.placing.shapes import Mix, Shape

MARKS = (100, 110, 120, 130)
"""Loads at which the allocation is noted."""

_BLOCK = 4096


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run. Percentages are of all GPUs of the cluster."""

    seed: int
    allocation_percent: float
    at_load: dict[int, float]
    """The allocation when pods that arrived had asked for so many percent."""
    pods: int
    failed: int
    """Pods that fitted nowhere when they came."""
    failed_with_gpus: int
    seconds: float
    """Spent on decisions."""

    @property
    def decisions_per_second(self) -> float:
        """Pods by time."""
        return self.pods / self.seconds if self.seconds else 0.0


def arrivals(pods: Sequence[Shape], milli: float, seed: int) -> Iterator[Shape]:
    """Pods drawn from `pods`, with replacement, until they ask for `milli` thousandths of GPUs. ValueError: none asks."""
    if not any(shape.gpus for shape in pods):
        raise ValueError("no pod asks for a GPU")
    random = np.random.default_rng([seed, 0])
    asked = 0
    while True:
        for index in random.integers(0, len(pods), _BLOCK):
            if asked >= milli:
                return
            asked += pods[index].total_milli
            yield pods[index]


def simulate(
    specs: Sequence[HostSpec],
    pods: Sequence[Shape],
    policy: str,
    *,
    load_percent: float,
    seed: int,
    clock_s: Callable[[], float],
) -> Outcome:
    """Fill an empty cluster. The policy expects the mix of `pods`. The same seed gives the same arrivals and outcome."""
    cluster = Cluster.of(specs)
    if not cluster.total_milli:
        raise ValueError("no node has a GPU")
    mix = Mix.of(pods)
    board = Board(cluster, make(policy, cluster, mix, seed), seed)
    # What is compiled is compiled now, so that it does not count as a decision.
    for shape in mix.counts:
        board.look(shape)
    at_load: dict[int, float] = {}
    marks = [mark for mark in MARKS if mark <= load_percent]
    asked = count = failed = failed_with_gpus = 0
    began = clock_s()
    for shape in arrivals(pods, cluster.total_milli * load_percent / 100, seed):
        count += 1
        asked += shape.total_milli
        if board.place(shape) is None:
            failed += 1
            failed_with_gpus += shape.gpus > 0
        while marks and asked * 100 >= cluster.total_milli * marks[0]:
            at_load[marks.pop(0)] = cluster.allocation_percent
    seconds = clock_s() - began
    return Outcome(seed, cluster.allocation_percent, at_load, count, failed, failed_with_gpus, seconds)
