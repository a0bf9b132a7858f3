"""Orders of waiting tasks in a replay: first come first served, plain DRF, and the scheduler's own queues."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Protocol

from offchain.core.scheduler.cluster import Cluster, HostSlot
from offchain.core.scheduler.columns import Bools, Ints
from offchain.core.scheduler.fair_share import FairShareQueue, QueuedTask
from offchain.core.scheduler.pod_request import ResourceAmount, ResourceUsage
from offchain.core.scheduler.queue_definitions import QueueTree, queue_tree
from offchain.simulator.names import ORDERS
from offchain.simulator.trace import Arrival, TaskKey


@dataclass(frozen=True, slots=True)
class TaskRun:
    """A task that runs, or has run."""

    arrival: Arrival
    start_ms: int
    slots: tuple[HostSlot, ...]
    """Of each pod."""

    @property
    def end_ms(self) -> int:
        """The real end, unknown to the scheduler."""
        return self.start_ms + self.arrival.duration_ms


class QueueOrder(Protocol):
    """The waiting tasks.

    In a cycle `next` is called until it returns None, each time followed by the result for that task.
    """

    def add(self, arrival: Arrival) -> None: ...

    def begin(self, now_ms: int, infeasible: Container[TaskKey] = ()) -> None:
        """Begin a cycle: blocked tasks may fit now, except for the `infeasible` ones."""

    def next(self) -> Arrival | None:
        """Return the next task, the same until its result is known; None: the cycle is over."""

    def on_placed(self, arrival: Arrival) -> None:
        """The task runs."""

    def on_blocked(self, arrival: Arrival) -> None:
        """The task fits nowhere now."""

    def on_dropped(self, arrival: Arrival) -> None:
        """The task will never fit."""

    def is_within_limits(self, arrival: Arrival) -> bool:
        """Whether no limit holds the waiting task."""

    def on_reserved_start(self, arrival: Arrival) -> None:
        """The task starts by its reservation, without having been next. Only between cycles."""

    def on_ended(self, arrival: Arrival) -> None:
        """A placed task has ended."""


class ReplayBackfill(Protocol):
    """Reserves resources for blocked tasks, so that others do not delay them. It knows maximum durations."""

    def on_arrival(self, arrival: Arrival) -> None: ...

    def begin(self, now_ms: int, is_within_limits: Callable[[Arrival], bool]) -> Sequence[Arrival]:
        """Begin a cycle, and return the tasks whose reservation begins. Tasks beyond a limit lose their reservation."""

    def release(self, arrival: Arrival) -> tuple[HostSlot, ...]:
        """Release the reservation of a task, and return its slots."""

    def allowed(self, arrival: Arrival, devices: Ints) -> Bools | None:
        """[host]: whether a pod of the task may go there despite all reservations; None: anywhere.

        `devices[host]`, as bits, are those that it would take; they mean nothing where it is not feasible.
        """

    def on_assume(self, arrival: Arrival, slot: HostSlot) -> None:
        """A pod of the task is placed there for now."""

    def on_forget(self) -> None:
        """The pods assumed last are not placed: not all of the task were feasible."""

    def on_blocked(self, arrival: Arrival) -> tuple[HostSlot, ...] | None:
        """The task is feasible nowhere.

        Return slots that are free for it now after all; else it may get a reservation.
        """

    def on_left(self, arrival: Arrival) -> None:
        """The task waits no more: it starts, or never will."""

    def on_placed(self, run: TaskRun) -> None:
        """The task starts now on the assumed slots, after :meth:`on_left`."""

    def on_ended(self, run: TaskRun) -> None: ...


class FifoOrder:
    """First come, first served.

    A task that does not fit blocks all behind it; with `skip_blocked`, only those with the same request and a similar
    duration.
    """

    def __init__(self, *, skip_blocked: bool = False) -> None:
        self._skip_blocked = skip_blocked
        self._stopped = False
        self._waiting: dict[TaskKey, deque[Arrival]] = {}
        self._first: list[tuple[int, TaskKey]] = []
        """A heap: the first task of each key."""
        self._set_aside: list[tuple[int, TaskKey]] = []

    def add(self, arrival: Arrival) -> None:
        key = arrival.key(by_length=self._skip_blocked)
        waiting = self._waiting.setdefault(key, deque())
        waiting.append(arrival)
        if len(waiting) == 1:
            heapq.heappush(self._first, (arrival.number, key))

    def begin(self, now_ms: int, infeasible: Container[TaskKey] = ()) -> None:
        del now_ms, infeasible
        self._stopped = False
        for head in self._set_aside:
            heapq.heappush(self._first, head)
        self._set_aside.clear()

    def next(self) -> Arrival | None:
        return None if self._stopped or not self._first else self._waiting[self._first[0][1]][0]

    def on_placed(self, arrival: Arrival) -> None:
        key = arrival.key(by_length=self._skip_blocked)
        waiting = self._waiting[key]
        waiting.popleft()
        if waiting:
            heapq.heapreplace(self._first, (waiting[0].number, key))
        else:
            heapq.heappop(self._first)
            del self._waiting[key]

    def on_blocked(self, arrival: Arrival) -> None:
        del arrival
        if self._skip_blocked:
            self._set_aside.append(heapq.heappop(self._first))
        else:
            self._stopped = True

    def on_dropped(self, arrival: Arrival) -> None:
        self.on_placed(arrival)

    def is_within_limits(self, arrival: Arrival) -> bool:
        del arrival
        return True

    def on_reserved_start(self, arrival: Arrival) -> None:
        key = arrival.key(by_length=self._skip_blocked)
        waiting = self._waiting[key]
        waiting.remove(arrival)
        self._first = [head for head in (*self._first, *self._set_aside) if head[1] != key]
        self._set_aside.clear()
        if waiting:
            self._first.append((waiting[0].number, key))
        else:
            del self._waiting[key]
        heapq.heapify(self._first)

    def on_ended(self, arrival: Arrival) -> None:
        """Usage does not matter here."""


class DrfOrder:
    """Plain dominant resource fairness between accounts (Ghodsi et al., NSDI 2011), all of equal weight.

    Next is the account with the lowest dominant share, the largest of its parts of all cores, memory and GPUs; of
    equals the first by name. Within an account: first come, first served. An account whose first task fits nowhere is
    skipped for the cycle; the published algorithm stops there, which on a cluster of many hosts would leave room for
    others unused.

    Create it while nothing runs on the cluster.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._totals = (
            max(1, int(cluster.free.cpu.sum())),
            max(1, int(cluster.free.memory.sum())),
            max(1, cluster.total_milli),
        )
        self._used: dict[str, list[int]] = {}
        self._waiting: dict[str, deque[Arrival]] = {}
        self._ready: list[tuple[float, str]] = []
        """A heap of the accounts that may be next in this cycle."""

    def add(self, arrival: Arrival) -> None:
        self._waiting.setdefault(arrival.account, deque()).append(arrival)

    def begin(self, now_ms: int, infeasible: Container[TaskKey] = ()) -> None:
        del now_ms, infeasible
        self._ready = [(self.share(account), account) for account in self._waiting]
        heapq.heapify(self._ready)

    def next(self) -> Arrival | None:
        return self._waiting[self._ready[0][1]][0] if self._ready else None

    def on_placed(self, arrival: Arrival) -> None:
        self._charge(arrival, 1)
        self.on_dropped(arrival)

    def on_blocked(self, arrival: Arrival) -> None:
        del arrival
        heapq.heappop(self._ready)

    def on_dropped(self, arrival: Arrival) -> None:
        account = arrival.account
        waiting = self._waiting[account]
        waiting.popleft()
        if waiting:
            heapq.heapreplace(self._ready, (self.share(account), account))
        else:
            heapq.heappop(self._ready)
            del self._waiting[account]

    def is_within_limits(self, arrival: Arrival) -> bool:
        del arrival
        return True

    def on_reserved_start(self, arrival: Arrival) -> None:
        self._charge(arrival, 1)
        waiting = self._waiting[arrival.account]
        waiting.remove(arrival)
        if not waiting:
            del self._waiting[arrival.account]

    def on_ended(self, arrival: Arrival) -> None:
        self._charge(arrival, -1)

    def share(self, account: str) -> float:
        """Return the dominant share, from 0 to 1."""
        used = self._used.get(account)
        return 0.0 if used is None else max(mine / total for mine, total in zip(used, self._totals, strict=True))

    def _charge(self, arrival: Arrival, sign: int) -> None:
        used = self._used.setdefault(arrival.account, [0, 0, 0])
        shape, pods = arrival.shape, sign * arrival.pods
        used[0] += pods * shape.cpu_milli
        used[1] += pods * shape.memory_mib
        used[2] += pods * shape.total_milli


class FairShareOrder:
    """The scheduler's queues over the tasks of a trace. Create it while nothing runs on the cluster.

    `by_length`: where a task does not fit, others with the same request may, if they run for much less: with a
    backfill.
    """

    def __init__(self, cluster: Cluster, queues: QueueTree | None = None, *, by_length: bool = False) -> None:
        whole = cluster.whole
        totals = ResourceAmount(int(whole.cpu.sum()), int(whole.memory.sum()), int(whole.device.sum()))
        self._turn = FairShareQueue(queues or queue_tree(), totals)
        self._by_length = by_length
        self._class_numbers: dict[TaskKey, int] = {}
        self._waiting: dict[int, Arrival] = {}

    def add(self, arrival: Arrival) -> None:
        key = arrival.key(by_length=self._by_length)
        claim = QueuedTask(
            id=arrival.number,
            queue=arrival.queue,
            account=arrival.account,
            class_id=self._class_numbers.setdefault(key, len(self._class_numbers)),
            amount=_amount(arrival),
            priority=arrival.priority,
            submitted_at=arrival.arrival_ms,
        )
        self._waiting[arrival.number] = arrival
        self._turn.add(claim)

    def begin(self, now_ms: int, infeasible: Container[TaskKey] = ()) -> None:
        self._turn.begin_cycle(
            now_ms, skipped_classes=[number for key, number in self._class_numbers.items() if key in infeasible]
        )

    def next(self) -> Arrival | None:
        number = self._turn.next()
        return None if number is None else self._waiting[number]

    def on_placed(self, arrival: Arrival) -> None:
        del self._waiting[arrival.number]
        self._turn.commit(arrival.number)

    def on_blocked(self, arrival: Arrival) -> None:
        self._turn.mark_unschedulable(arrival.number)

    def on_dropped(self, arrival: Arrival) -> None:
        del self._waiting[arrival.number]
        self._turn.remove(arrival.number)

    def is_within_limits(self, arrival: Arrival) -> bool:
        return self._turn.quota_exceeded(arrival.number) is None

    def on_reserved_start(self, arrival: Arrival) -> None:
        self.on_placed(arrival)

    def on_ended(self, arrival: Arrival) -> None:
        self._turn.release(ResourceUsage(arrival.queue, arrival.account, _amount(arrival)))


def _amount(arrival: Arrival) -> ResourceAmount:
    shape = arrival.shape
    return ResourceAmount(shape.cpu_milli, shape.memory_mib, shape.total_milli).times(arrival.pods)


def make_order(
    name: str, cluster: Cluster, queues: QueueTree | None = None, *, skip_blocked: bool = False
) -> QueueOrder:
    """Return an empty waiting list for this cluster. ValueError: unknown name.

    `queues`: definitions for the order of that name. `skip_blocked`: with a backfill, others may pass a blocked task.
    """
    if name == "fifo":
        return FifoOrder(skip_blocked=skip_blocked)
    if name == "drf":
        return DrfOrder(cluster)
    if name == "queues":
        return FairShareOrder(cluster, queues, by_length=skip_blocked)
    raise ValueError(f"there is no order {name!r}: {', '.join(ORDERS)}")
