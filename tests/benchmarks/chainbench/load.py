"""Drives cohorts on one node or several for a while, and counts what the final blocks of that time hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from table import MIB

from chainbench import blocks
from chainbench.blocks import Filled, Sustained
from chainbench.driver import Cohort, Driver
from chainbench.node import SLOT_SECONDS, Header, Metrics, Node
from chainbench.progress import say
from chainbench.scene import Scene

# Before and after the slots that count.
MARGIN_SLOTS = 10
AUTHORING = "substrate_proposer_block_constructed_sum"
AUTHORED = "substrate_proposer_block_constructed_count"
IMPORTING = "substrate_block_verification_and_import_time_sum"
IMPORTED = "substrate_block_verification_and_import_time_count"


@dataclass(frozen=True, slots=True)
class Used:
    """What one node did meanwhile: processor time, and what its own counters say was added."""

    cpu_seconds: float
    metrics: Metrics
    memory_mib: float


@dataclass(frozen=True, slots=True)
class Loaded:
    """What came of it. `filled`: all blocks made meanwhile, `counted` those of the slots that count among them.

    `refused`: texts of the node's refusals; `generator_cpu_share`: of one core.
    """

    sustained: Sustained
    filled: Sequence[Filled]
    counted: Sequence[Filled]
    operations: int
    seconds: float
    nodes: Sequence[Used]
    refused: Counter[str]
    generator_cpu_share: float

    def each_us(self, seconds: float) -> float:
        """Return microseconds an operation, over all blocks made meanwhile."""
        return seconds / max(1, self.operations) * 1e6

    @property
    def cores(self) -> float:
        """Processors that all nodes together kept busy."""
        return sum(node.cpu_seconds for node in self.nodes) / self.seconds

    @property
    def cpu_us(self) -> float:
        """Processor time of all nodes together for each operation."""
        return self.each_us(sum(node.cpu_seconds for node in self.nodes))

    def metric_us(self, name: str) -> float:
        """Return a counter of seconds, of all nodes together, for each operation."""
        return self.each_us(sum(node.metrics.total(name) for node in self.nodes))

    def task_us(self, *names: str) -> float:
        """Return for how long tasks of all nodes had a thread, for each operation."""
        return self.each_us(sum(node.metrics.task_seconds.get(name, 0.0) for node in self.nodes for name in names))


def driven_seconds(slots: int) -> float:
    """Return for how long load is offered so that `slots` slots count."""
    return (slots + 2 * MARGIN_SLOTS) * SLOT_SECONDS


def drive(
    nodes: Sequence[Node], scene: Scene, cohorts: Sequence[Cohort], slots: int, events: Mapping[str, str]
) -> Loaded:
    """Offer load to the first node for `slots` slots and the margins around them. `events`: kind -> event, counted."""
    driver = Driver(scene.node, scene.crowd, cohorts)
    scene.settle_down()
    say(f"load for {driven_seconds(slots):g} s, of which {slots * SLOT_SECONDS:g} s count")
    began: Header = scene.node.header()
    cpu, metrics = [node.cpu_seconds() for node in nodes], [node.metrics() for node in nodes]
    driver.run(driven_seconds(slots))
    ended = scene.node.header()
    used = [
        Used(node.cpu_seconds() - cpu[number], node.metrics().since(metrics[number]), node.memory_bytes() / MIB)
        for number, node in enumerate(nodes)
    ]
    scene.node.await_final(ended.number)
    say(f"reads {ended.number - began.number} blocks")
    filled = blocks.read(scene.node, range(began.number + 1, ended.number + 1))
    first = began.slot + 1 + MARGIN_SLOTS
    return Loaded(
        sustained=blocks.sustained(filled, first, slots, events, SLOT_SECONDS),
        filled=filled,
        counted=[block for block in filled if first <= block.header.slot < first + slots],
        operations=sum(block.events[event] for block in filled for event in events.values()),
        seconds=driven_seconds(slots),
        nodes=used,
        refused=driver.refused,
        generator_cpu_share=driver.cpu_share,
    )
