"""What an operation costs while the state grows: the time to make a block of a thousand of them, for each operation."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chainbench.node import Node, running
from chainbench.scene import PARAMS, Scene, endowed
from chainbench.signing import Account
from offchain.local.release import Binaries

LEVELS = (1_000, 10_000, 100_000, 1_000_000)
SAMPLES = 6
# A thousand tasks at a time, on hosts that take their share of them in one batch.
TASKS, HOSTS = 1_000, 5
_SHARE = TASKS // HOSTS
_IDLE_BLOCKS = 5
_SUM = "substrate_proposer_block_constructed_sum"
_COUNT = "substrate_proposer_block_constructed_count"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Microseconds an operation: tasks in state -> operation -> median of the samples."""

    author_us: Mapping[int, Mapping[str, float]]

    def mean(self, level: int) -> float:
        """Over the operations."""
        return statistics.mean(self.author_us[level].values())

    @property
    def worst_change(self) -> float:
        """The greatest difference from the cost at the first level, as a share of it, of the mean of the operations."""
        first = self.mean(LEVELS[0])
        return max(abs(self.mean(level) / first - 1) for level in self.author_us)


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


def measure(binaries: Binaries, levels: Sequence[int] = LEVELS) -> Outcome:
    """At each of these numbers of tasks in state."""
    found = {}
    with running(binaries, endowed(schedulers=HOSTS, cranks=HOSTS), PARAMS) as node:
        scene = Scene(node, HOSTS, _SHARE, schedulers=HOSTS)
        scene.build()
        watch = _Stopwatch(node)
        present, first, end = 0, 0, 0
        for level in levels:
            at = scene.submit_tasks(level - present)
            # Of the tasks of earlier levels some are pruned; those of this one all wait.
            first, end, present = at, at + level - present, level
            watch.calibrate()
            samples = []
            for sample in range(SAMPLES):
                samples.append(_sample(scene, watch, _spread(first, end, sample)))
                fresh = scene.submit_tasks(TASKS)
                if end - first == TASKS:
                    first, end = fresh, fresh + TASKS
            found[level] = {stage: statistics.median(each[stage] for each in samples) for stage in samples[0]}
    return Outcome(found)
