"""Pods arrive one after the other and fill a cluster; each is placed or fails, and nothing ever leaves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from offchain.core.placing.board import Board
from offchain.core.placing.shapes import Mix, Shape

MARKS = (100, 110, 120, 130)
"""Loads, in percent of all GPUs, at which the allocation is noted."""

_BLOCK = 4096


@dataclass(slots=True)
class Filled:
    """What came of it."""

    pods: int = 0
    failed: int = 0
    """Pods that fitted nowhere when they came."""
    failed_with_gpus: int = 0
    at_load: dict[int, float] = field(default_factory=dict)
    """The allocation in percent when pods that arrived had asked for so many percent."""


def arrivals(mix: Mix, milli: float, seed: int) -> Iterator[Shape]:
    """Pods drawn from the mix, with replacement, until they ask for `milli` thousandths of GPUs.

    ValueError where none asks for any.
    """
    shares = mix.shares()
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


def fill(board: Board, pods: Iterable[Shape]) -> Filled:
    """Place all of them, as far as there is room."""
    cluster, found = board.cluster, Filled()
    marks = list(MARKS)
    asked = 0
    for shape in pods:
        found.pods += 1
        asked += shape.total_milli
        if board.place(shape) is None:
            found.failed += 1
            found.failed_with_gpus += shape.gpus > 0
        while marks and asked * 100 >= cluster.total_milli * marks[0]:
            found.at_load[marks.pop(0)] = cluster.allocation_percent
    return found
