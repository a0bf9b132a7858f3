"""Waiting tasks for tests of queues."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from offchain.core.scheduler import fair_share_updates as updates
from offchain.core.scheduler.fair_share import FairShareQueue, QueuedTask
from offchain.core.scheduler.fair_share_tables import NEVER
from offchain.core.scheduler.pod_request import NO_RESOURCES, ResourceAmount, ResourceUsage
from offchain.core.scheduler.queue_definitions import DEFAULT, QueueDefinition, QueueLeaf, QueueTree, queue_tree

TOTALS = ResourceAmount(cpu_milli=100_000, memory_mib=100_000, gpu_milli=10_000)
GPU = ResourceAmount(1000, 1000, 1000)
CORES = ResourceAmount(10_000, 1000, 0)

_CLASSES: dict[ResourceAmount, int] = {}


def class_of(amount: ResourceAmount) -> int:
    """The equivalence class of tasks that request this amount."""
    return _CLASSES.setdefault(amount, len(_CLASSES))


def queued(id: int, account: str = "alice", **changes: Any) -> QueuedTask:  # noqa: A002
    """Requests a GPU by default; the class follows from the amount."""
    values: dict[str, Any] = {"queue": "default", "amount": GPU, "priority": 100, "submitted_at": id} | changes
    values.setdefault("class_id", class_of(values["amount"]))
    return QueuedTask(id=id, account=account, **values)


@dataclass(frozen=True, slots=True)
class History:
    """What a queue knows from earlier cycles: when leaves were last served, and which classes are unschedulable."""

    served: Mapping[QueueLeaf, int] = field(default_factory=dict)
    default_served_ms: int = NEVER
    """Of the queue `default`, also by accounts that were dropped."""
    unschedulable: frozenset[int] = frozenset()


class SampleQueue(FairShareQueue):
    """A queue with running and waiting tasks, which is asked about tasks instead of numbers."""

    def __init__(
        self,
        tree: QueueTree,
        totals: ResourceAmount,
        used: Iterable[ResourceUsage],
        waiting: Iterable[QueuedTask],
        now_ms: int,
        history: History | None = None,
    ) -> None:
        self._tasks: dict[int, QueuedTask] = {}
        super().__init__(tree, totals)
        for usage in used:
            self.charge(usage)
        known = history or History()
        for leaf, when_ms in known.served.items():
            if leaf.queue == DEFAULT or leaf in self._usage.leaves:
                updates.mark_served(self._usage.tables, self._usage.leaf(leaf), when_ms)
        updates.mark_served(self._usage.tables, self._usage._queues[DEFAULT], known.default_served_ms)
        for task in waiting:
            self.add(task)
        for class_id in known.unschedulable:
            if self._has_waiting(class_id):
                updates.set_unschedulable(self._usage.tables, class_id, 1)
        self.begin_cycle(now_ms)

    def add(self, task: QueuedTask) -> None:
        super().add(task)
        self._tasks[task.id] = task

    def first(self) -> QueuedTask | None:
        number = self.next()
        return None if number is None else self._tasks[number]

    @property
    def history(self) -> History:
        tables = self._usage.tables
        served = {leaf: int(tables.nodes[node]["served_ms"]) for leaf, node in self._usage.leaves.items()}
        unschedulable = (number for number, one in enumerate(tables.classes["unschedulable"].tolist()) if one)
        return History(
            {leaf: when_ms for leaf, when_ms in served.items() if when_ms != NEVER},
            int(tables.nodes[self._usage._queues[DEFAULT]]["served_ms"]),
            frozenset(filter(self._has_waiting, unschedulable)),
        )


def sample_queue(*waiting: QueuedTask, queues: tuple[QueueDefinition, ...] = (), **changes: Any) -> SampleQueue:
    values: dict[str, Any] = {"tree": queue_tree(queues), "totals": TOTALS, "used": (), "now_ms": 0} | changes
    return SampleQueue(waiting=waiting, **values)


OWN = sample_queue().entitlements().reclaim_policies(0, NO_RESOURCES)
"""The policies where all tasks belong to one node of the queue tree, number 0."""


def usage_of(task: QueuedTask) -> ResourceUsage:
    return ResourceUsage(task.queue, task.account, task.amount)


def take(queue: SampleQueue, count: int) -> list[int]:
    """Commit the next tasks; return their numbers."""
    found: list[int] = []
    while len(found) < count and (one := queue.next()) is not None:
        queue.commit(one)
        found.append(one)
    return found


def fill(queue: SampleQueue, free: ResourceAmount) -> list[int]:
    """Run a cycle on one host with these free resources; return what was placed."""
    found = []
    while (one := queue.first()) is not None:
        if one.amount.fits_in(free):
            free = free.minus(one.amount)
            queue.commit(one.id)
            found.append(one.id)
        else:
            queue.mark_unschedulable(one.id)
    return found
