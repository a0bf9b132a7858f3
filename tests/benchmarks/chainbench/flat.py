"""What an operation costs while the state grows: the time to make a block of a thousand of them, for each operation.

Two nodes take turns: one whose state grows and one whose state stays small. What the machine does meanwhile, its caches
and its clock among it, is the same for both, so that their ratio says what the state's size costs.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chainbench.node import Node, running
from chainbench.scene import PARAMS, Scene, endowed
from chainbench.signing import Account
from offchain.local.release import Binaries

LEVELS = (1_000, 10_000, 100_000, 1_000_000)
# So many at a level, and no more than its new tasks last for.
SAMPLES = 8
# A thousand tasks at a time, on hosts that take their share of them in one batch.
TASKS, HOSTS = 1_000, 5
_SHARE = TASKS // HOSTS
_IDLE_BLOCKS = 5
_SUM = "substrate_proposer_block_constructed_sum"
_COUNT = "substrate_proposer_block_constructed_count"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Microseconds an operation: tasks in state -> operation -> median of the samples.

    `small_us`: of the node whose state stays at the first level, measured in turn with the level that is named.
    """

    author_us: Mapping[int, Mapping[str, float]]
    small_us: Mapping[int, Mapping[str, float]]

    def mean(self, level: int) -> float:
        """Over the operations."""
        return statistics.mean(self.author_us[level].values())

    def change(self, level: int) -> float:
        """How much more the mean of the operations costs than among few tasks, as a share of it."""
        return self.mean(level) / statistics.mean(self.small_us[level].values()) - 1

    @property
    def worst_change(self) -> float:
        """The greatest of these, up or down."""
        return max(abs(self.change(level)) for level in self.author_us)


class _Stopwatch:
    """Time the author spends on blocks, beyond what blocks without extrinsics take."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._idle = 0.0

    def _read(self) -> tuple[float, float]:
        metrics = self._node.metrics()
        return metrics[_SUM], metrics[_COUNT]

    def calibrate(self) -> None:
        """Blocks with nothing in them."""
        before, blocks = self._read()
        self._node.await_final(self._node.header().number + _IDLE_BLOCKS)
        after, later = self._read()
        self._idle = (after - before) / (later - blocks)

    def of(self, scene: Scene, acts: Sequence[tuple[Account, bytes]]) -> float:
        """Seconds for these calls."""
        before, blocks = self._read()
        scene.crowd.act(acts)
        after, later = self._read()
        return after - before - (later - blocks) * self._idle


def _spread(first: int, end: int, sample: int) -> list[range]:
    """As many ranges of waiting tasks as there are hosts, at even distances, others for each sample."""
    distance = (end - first) // HOSTS
    return [
        range(first + number * distance + at, first + number * distance + at + _SHARE)
        for number in range(HOSTS)
        for at in (sample * _SHARE if distance > SAMPLES * _SHARE else 0,)
    ]


def _sample(scene: Scene, watch: _Stopwatch, tasks: Sequence[range]) -> dict[str, float]:
    """One whole life of a thousand tasks, stage by stage: microseconds an operation."""
    lives = [list(scene.stages(number, share)) for number, share in enumerate(tasks)]
    taken = {}
    for parts in zip(*lives, strict=True):
        taken[parts[0][0]] = watch.of(scene, [(account, call) for _, account, call in parts]) / TASKS * 1e6
    return taken


class _Subject:
    """A node, and the tasks on it that wait and were not measured yet."""

    def __init__(self, node: Node) -> None:
        self._scene = Scene(node, HOSTS, _SHARE, schedulers=HOSTS)
        self._scene.build()
        self._watch = _Stopwatch(node)
        self._present = self._first = self._end = 0

    def grow(self, level: int) -> None:
        """To so many tasks in state. Of those before some are pruned; the new ones all wait."""
        if level > self._present:
            self._first = self._scene.submit_tasks(level - self._present)
            self._end = self._first + level - self._present
            self._present = level
        self._watch.calibrate()

    def sample(self, number: int) -> dict[str, float]:
        """One whole life of a thousand tasks; as many new ones take their place."""
        found = _sample(self._scene, self._watch, _spread(self._first, self._end, number))
        fresh = self._scene.submit_tasks(TASKS)
        if self._end - self._first == TASKS:
            self._first, self._end = fresh, fresh + TASKS
        return found


def _medians(samples: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {stage: statistics.median(each[stage] for each in samples) for stage in samples[0]}


def measure(binaries: Binaries, levels: Sequence[int] = LEVELS) -> Outcome:
    """At each of these numbers of tasks in state."""
    people = endowed(schedulers=HOSTS, cranks=HOSTS)
    author, small = {}, {}
    with running(binaries, people, PARAMS) as one, running(binaries, people, PARAMS) as other:
        growing, reference = _Subject(one), _Subject(other)
        for level in levels:
            growing.grow(level)
            reference.grow(levels[0])
            turns = [(growing.sample(number), reference.sample(number)) for number in range(SAMPLES)]
            author[level] = _medians([first for first, _ in turns])
            small[level] = _medians([second for _, second in turns])
    return Outcome(author, small)
