"""The fair-share queue: waiting tasks one after the other, by dominant shares, limits and priorities.

From the root down the child with the least weighted dominant share is next; of equals the one served the longest ago,
then the first by name. In a leaf the highest effective priority is next, then the oldest task, then the lowest number.

A scheduling cycle calls `begin_cycle`, then `next` until it returns None, and after each task `commit` or
`mark_unschedulable`; or `next_batch` and `commit_batch` for tasks of one class at once. Between cycles tasks arrive
and leave, and usage is charged and released. Equal states give equal orders, however they came about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple, cast

import numpy as np

from offchain.core.scheduler import fair_share_updates as updates
from offchain.core.scheduler.columns import Ints
from offchain.core.scheduler.entitlements import Entitlements
from offchain.core.scheduler.fair_share_selection import MAX_BATCH, next_batch, next_bucket
from offchain.core.scheduler.fair_share_tables import NONE
from offchain.core.scheduler.pod_request import NO_RESOURCES, ResourceAmount, ResourceUsage
from offchain.core.scheduler.queue_definitions import QueueTree
from offchain.core.scheduler.queue_usage import ChargeTarget, QueueUsage, QuotaExceeded

_SWEEP_RATIO: Final = 8
"""Sweeping all tasks in order takes as long as deleting this fraction of them one by one."""

_TABLES: Final = {updates.TASKS_FULL: "tasks", updates.BUCKETS_FULL: "buckets", updates.LISTS_FULL: "bucket_lists"}


@dataclass(frozen=True, slots=True)
class QueuedTask:
    """A waiting task; `amount` is the request of all pods that must start together.

    `class_id`: a small number for its equivalence class: tasks of a class request the same amount and are feasible on
    the same hosts. Once no task waits with it, the number may be used for another class.
    """

    id: int
    queue: str
    account: str
    class_id: int
    amount: ResourceAmount
    priority: int
    submitted_at: int


class QueueBatch(NamedTuple):
    """Numbers of tasks that may be placed together, and how many come from each leaf, one leaf after the other."""

    tasks: list[int]
    leaf_counts: list[int]


@dataclass(frozen=True, slots=True)
class WaitingCounts:
    """How many tasks wait in each queue without child queues, and how many of all were feasible nowhere when tried."""

    by_queue: Mapping[str, int]
    unschedulable: int


class QueuePosition(NamedTuple):
    """Where tasks of an account and priority wait; see AgeingPolicy and ChargeTarget."""

    leaf: int
    ageing_ms: int
    account_limit: int


class FairShareQueue:
    """All waiting tasks and all usage, by queue. `totals`: what the online hosts have."""

    def __init__(self, tree: QueueTree, totals: ResourceAmount) -> None:
        self._usage = QueueUsage(tree, totals)
        self._rows: dict[int, int] = {}
        """[task]: its row; it still contains tasks of `_left`, whose rows may be in use by others."""
        self._left: list[Sequence[int]] = []
        """Tasks that left in batches since all waiting tasks were last needed."""
        self._left_count = 0
        self._amounts: list[ResourceAmount] = []
        """[class]: request of one task."""
        self._ids: Ints = np.zeros(MAX_BATCH, dtype=np.int64)
        self._parts: Ints = np.zeros((MAX_BATCH, 2), dtype=np.int64)
        self._batch = QueueBatch([], [])
        """The last one."""
        self.begin_cycle(0)

    def __len__(self) -> int:
        """Return how many tasks wait."""
        return len(self._rows) - self._left_count

    def __contains__(self, task: object) -> bool:
        """Return whether the task with this number waits."""
        row = self._rows.get(cast("int", task))
        return row is not None and self._is_at(task, row)

    def __iter__(self) -> Iterator[int]:
        """Iterate over the numbers of waiting tasks in order of arrival."""
        return iter(self._waiting())

    def among(self, tasks: Sequence[int]) -> list[int]:
        """Return those of these tasks that wait."""
        rows = self._waiting()
        return [task for task in tasks if task in rows]

    def class_of(self, task: int) -> int:
        """Return the equivalence class of a waiting task. KeyError if it does not wait."""
        return self._bucket_of(task)[1]

    def matches(self, task: QueuedTask) -> bool:
        """Return whether the task waits with the same leaf, account, priority and class."""
        if task.id not in self:
            return False
        bucket, class_id = self._bucket_of(task.id)
        one = self._usage.tables.buckets[bucket]
        position = self.position(task.queue, task.account, task.priority)
        return (one["leaf"], one["ageing_ms"], one["account_limit"], class_id) == (*position, task.class_id)

    def begin_cycle(
        self, now_ms: int, totals: ResourceAmount | None = None, skipped_classes: Iterable[int] = ()
    ) -> None:
        """Begin a scheduling cycle: classes that were blocked may be feasible again.

        `totals`: of the network, if hosts have changed. `skipped_classes` are passed over in this cycle.
        """
        self._usage.drop_idle()
        if totals is not None and totals != self._usage.totals:
            self._usage.resize(totals)
        tables = self._usage.tables
        tables.state["now_ms"] = now_ms
        tables.classes["blocked"] = 0
        for class_id in skipped_classes:
            tables.classes["blocked"][class_id] = 1
        updates.begin_cycle(tables)

    def unblock(self, classes: Ints) -> None:
        """Continue the last cycle: of the classes blocked in it, only these may be feasible by now."""
        updates.set_blocked(self._usage.tables, classes, 0)

    def block(self, classes: Ints) -> None:
        """Pass over these classes in this cycle."""
        updates.set_blocked(self._usage.tables, classes, 1)

    def next(self) -> int | None:
        """Return the next task: the same until it is committed, unschedulable or removed. None: none can go now."""
        self._usage.rank()
        bucket = next_bucket(self._usage.tables)
        return None if bucket == NONE else int(self._usage.tables.buckets[bucket]["id"])

    def commit(self, task: int) -> None:
        """Charge the request of a task that was placed and remove it. ValueError if it does not wait."""
        updates.place_task(self._usage.tables, self._row(task))
        del self._rows[task]

    def next_batch(self) -> QueueBatch | None:
        """Return tasks of one class that may be placed together, first the one that :meth:`next` returns."""
        self._usage.rank()
        parts = next_batch(self._usage.tables, self._ids, self._parts)
        if not parts:
            return None
        counts: list[int] = self._parts[:parts, 1].tolist()
        self._batch = QueueBatch(self._ids[: sum(counts)].tolist(), counts)
        return self._batch

    def commit_batch(self, count: int) -> None:
        """Record that the first `count` tasks of the last batch were placed."""
        if not count:
            return
        updates.place_batch(self._usage.tables, self._parts, len(self._batch.leaf_counts), count)
        self._left.append(self._batch.tasks[:count])
        self._left_count += count

    def mark_unschedulable(self, task: int) -> None:
        """Record that a task is feasible nowhere: its class is passed over in this cycle, in all queues.

        ValueError if it does not wait.
        """
        self._row(task)
        class_id = self._bucket_of(task)[1]
        updates.set_blocked(self._usage.tables, np.array([class_id]), 1)
        updates.set_unschedulable(self._usage.tables, class_id, 1)

    def add(self, task: QueuedTask) -> None:
        """Add a waiting task. ValueError if its number already waits, or its class has another amount."""
        at = self.position(task.queue, task.account, task.priority)
        self.register_class(task.class_id, task.amount)
        self.add_all(np.array([(task.id, task.submitted_at, at.leaf, task.class_id, at.ageing_ms, at.account_limit)]))

    def position(self, queue: str, account: str, priority: int) -> QueuePosition:
        """Return where tasks of this account wait that name this queue and have this priority."""
        leaf, account_limit = self._usage.target(queue, account)
        return QueuePosition(leaf, self._usage.ageing[leaf].ageing_ms(priority), account_limit)

    def add_all(self, tasks: Ints) -> None:
        """Add waiting tasks of registered classes. ValueError if one already waits.

        `tasks`: [task], number, time of submission, leaf, class, ageing_ms, account limit.
        """
        numbers: list[int] = tasks[:, 0].tolist()
        known = self._waiting().keys() & numbers
        if known:
            raise ValueError(f"task {min(known)} waits already")
        rows, done = np.empty(len(tasks), dtype=np.int64), 0
        while (done := updates.add_tasks(self._usage.tables, tasks, done, rows)) < len(tasks):
            self._usage.grow(_TABLES[int(rows[done])])
        self._rows.update(zip(numbers, rows.tolist(), strict=True))

    def tasks_of(self, class_id: int) -> list[int]:
        """Return the waiting tasks of a class."""
        tables = self._usage.tables
        start, buckets = int(tables.classes["list_start"][class_id]), int(tables.classes["list_length"][class_id])
        found: list[int] = []
        for bucket in tables.bucket_lists[start : start + buckets].tolist():
            row = int(tables.buckets["first"][bucket])
            while row != NONE:
                found.append(int(tables.tasks["id"][row]))
                row = int(tables.tasks["next"][row])
        return found

    def register_class(self, class_id: int, amount: ResourceAmount) -> None:
        """Set the request of tasks of this class. ValueError if tasks wait with it that request another amount."""
        if self._has_waiting(class_id):
            others = self._amounts[class_id]
            if amount is not others and amount != others:
                raise ValueError(f"a task asks for {amount}, others of its class for {others}")
            return
        while class_id >= len(self._usage.tables.classes):
            self._usage.grow("classes")
            self._usage.grow("class_counts", columns=True)
        self._amounts += [NO_RESOURCES] * (1 + class_id - len(self._amounts))
        self._amounts[class_id] = amount
        updates.new_class(self._usage.tables, class_id, *amount)

    def remove(self, task: int) -> None:
        """Remove a waiting task. ValueError if it does not wait."""
        updates.remove_task(self._usage.tables, self._row(task))
        del self._rows[task]

    def charge(self, usage: ResourceUsage) -> None:
        """Charge the usage of a task that was not placed through this queue."""
        self._usage.charge(self.target(usage.queue, usage.account), usage.amount)

    def release(self, usage: ResourceUsage) -> None:
        """Subtract a usage. ValueError if its leaf does not use as much."""
        self.release_all(((*self.target(usage.queue, usage.account), *usage.amount),))

    def release_all(self, usages: Sequence[tuple[int, ...]]) -> None:
        """Subtract usages, each the numbers of its target and of its amount. ValueError as in :meth:`release`."""
        self._usage.release(usages)

    def target(self, queue: str, account: str) -> ChargeTarget:
        """Return where tasks of this account are charged that name this queue, until the next cycle begins."""
        return self._usage.target(queue, account)

    def quota_exceeded(self, task: int) -> QuotaExceeded | None:
        """Return the limit that keeps a task waiting now, limits of its account first; None: no limit does."""
        bucket, class_id = self._bucket_of(task)
        one = self._usage.tables.buckets[bucket]
        target = ChargeTarget(int(one["leaf"]), int(one["account_limit"]))
        return self._usage.quota_exceeded(target, self._amounts[class_id])

    def leaf(self, queue: str, account: str) -> int:
        """Return the node in which tasks of this account wait that name this queue, until the next cycle begins."""
        return self._usage.target(queue, account).leaf

    def entitlements(self) -> Entitlements:
        """Return what each node uses and is entitled to now."""
        return self._usage.entitlements()

    def waiting_counts(self) -> WaitingCounts:
        """Return the numbers of waiting tasks; those of accounts in `default` are added up."""
        tables = self._usage.tables
        buckets = tables.buckets[: int(tables.state["buckets"][0])]
        stuck = tables.classes["unschedulable"][buckets["class_id"]] != 0
        return WaitingCounts(
            self._usage.by_queue(np.bincount(buckets["leaf"], buckets["count"], len(self._usage.names))),
            int(buckets["count"][stuck].sum()),
        )

    def _bucket_of(self, task: int) -> tuple[int, int]:
        """Return the bucket of a waiting task and its class."""
        tables, row = self._usage.tables, self._rows[task]
        if not self._is_at(task, row):
            raise KeyError(task)
        bucket = int(tables.tasks["bucket"][row])
        return bucket, int(tables.buckets["class_id"][bucket])

    def _is_at(self, task: object, row: int) -> bool:
        """Return whether the row still is the task's."""
        return bool(self._usage.tables.tasks["id"][row] == task)

    def _waiting(self) -> dict[int, int]:
        """Return the rows of all waiting tasks, without those that left in batches."""
        if self._left_count * _SWEEP_RATIO > len(self._rows):
            count = len(self._rows)
            numbers = np.fromiter(self._rows, dtype=np.int64, count=count)
            rows = np.fromiter(self._rows.values(), dtype=np.int64, count=count)
            here = self._usage.tables.tasks["id"][rows] == numbers
            self._rows = dict(zip(numbers[here].tolist(), rows[here].tolist(), strict=True))
        elif self._left:
            for task in chain.from_iterable(self._left):
                del self._rows[task]
        self._left, self._left_count = [], 0
        return self._rows

    def _row(self, task: int) -> int:
        row = self._rows.get(task)
        if row is None or not self._is_at(task, row):
            raise ValueError(f"task {task} does not wait")
        return row

    def _has_waiting(self, class_id: int) -> bool:
        classes = self._usage.tables.classes
        return class_id < len(classes) and bool(classes["list_length"][class_id])
