"""What an operation costs while the state grows: the time to make a block of 1,200 of them, as many of each kind.

Two nodes make such blocks at the same moments: one whose state grows and one whose state stays small. What the machine
does meanwhile, its caches and its clock among it, is the same for both, so that the median of the ratios of blocks that
were made together does not depend on it. Two nodes are never quite as fast as one another, even with the same state:
what the size of the state costs is what their ratio changes by from the first level, where both have the same.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from chainbench.load import AUTHORED, AUTHORING
from chainbench.node import Node, running
from chainbench.scene import PARAMS, Scene, endowed
from chainbench.signing import Account
from offchain.devnet.release import Binaries

LEVELS = (1_000, 10_000, 100_000, 1_000_000)
ROUNDS = 40
# At the first level, against which all others are compared, as many more.
FIRST_ROUNDS = 80
# Tasks that take a step together. At each moment one such cohort waits and four are on their way.
COHORT, COHORTS = 200, 5
_STEPS = COHORTS + 1
_OPERATIONS = COHORT * _STEPS
_IDLE_BLOCKS = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """Tasks in state -> microseconds an operation, over all kinds of them; and what that is more than among few tasks.

    `small_us`: of the node whose state stays at the first level, at the same moments. `ratio`: the median of the ratios
    of blocks made together; at the first level it says how unlike the two nodes are.
    """

    author_us: Mapping[int, float]
    small_us: Mapping[int, float]
    ratio: Mapping[int, float]

    @property
    def change(self) -> Mapping[int, float]:
        """Of the ratio, from the first level, as a share."""
        first, *others = self.ratio
        return {level: self.ratio[level] / self.ratio[first] - 1 for level in others}

    @property
    def worst_change(self) -> float:
        """The greatest of these, up or down."""
        return max(abs(change) for change in self.change.values())


class _Subject:
    """A node whose tasks are taken through their lives cohort by cohort, while as many new ones come."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._scene = Scene(node, COHORTS, COHORT, schedulers=COHORTS)
        self._scene.build()
        # Once all cohorts are on their way.
        self._present = (COHORTS - 1) * COHORT
        self._waiting: list[range] = []
        self._steps: list[Iterator[tuple[str, Account, bytes]]] = []
        self._started = 0
        self._idle = 0.0

    def grow(self, level: int) -> None:
        """To so many tasks in state. Those that come are taken up at even distances from one another."""
        if level > self._present:
            first = self._scene.submit_tasks(level - self._present)
            fresh = [range(start, start + COHORT) for start in range(first, first + level - self._present, COHORT)]
            wanted = min(len(fresh), ROUNDS + COHORTS)
            self._waiting = [fresh[number * len(fresh) // wanted] for number in range(wanted)]
            self._present = level
        for _ in range(COHORTS):
            self.round()
        before, blocks = self._read()
        self._node.await_final(self._node.header().number + _IDLE_BLOCKS)
        after, later = self._read()
        self._idle = (after - before) / (later - blocks)

    def round(self) -> float:
        """Each cohort takes its next step, and as many new tasks come as are pruned. Microseconds an operation."""
        scene = self._scene
        self._steps.append(scene.stages(self._started % COHORTS, self._waiting.pop(0)))
        self._started += 1
        acts = [(account, call) for cohort in self._steps for _, account, call in [next(cohort)]]
        if len(self._steps) == COHORTS:
            self._steps.pop(0)
        before, blocks = self._read()
        scene.crowd.act([*acts, scene.submission(COHORT)])
        after, later = self._read()
        self._waiting.append(scene.newest(COHORT))
        return (after - before - (later - blocks) * self._idle) / _OPERATIONS * 1e6

    def _read(self) -> tuple[float, float]:
        """Seconds spent on making blocks, and how many were made."""
        metrics = self._node.metrics()
        return metrics.total(AUTHORING), metrics.total(AUTHORED)


def measure(binaries: Binaries, levels: Sequence[int] = LEVELS, rounds: int = ROUNDS) -> Outcome:
    """At each of these numbers of tasks in state."""
    people = endowed(schedulers=COHORTS, cranks=COHORTS)
    author, small, ratio = {}, {}, {}
    with (
        running(binaries, people, PARAMS) as one,
        running(binaries, people, PARAMS) as other,
        ThreadPoolExecutor(2) as pool,
    ):
        growing, reference = pool.map(_Subject, (one, other))
        for level in levels:
            growing.grow(level)
            reference.grow(levels[0])
            pairs = []
            for _ in range(FIRST_ROUNDS if level == levels[0] else rounds):
                ours, theirs = pool.submit(growing.round), pool.submit(reference.round)
                pairs.append((ours.result(), theirs.result()))
            author[level] = statistics.median(ours for ours, _ in pairs)
            small[level] = statistics.median(theirs for _, theirs in pairs)
            ratio[level] = statistics.median(ours / theirs for ours, theirs in pairs)
    return Outcome(author, small, ratio)
