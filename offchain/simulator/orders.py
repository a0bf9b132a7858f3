"""Orders of waiting tasks under a baseline scheduler: first come first served, and plain DRF."""

from __future__ import annotations

import heapq
from collections import deque
from typing import Protocol

from offchain.core.scheduler.cluster import Cluster
from offchain.simulator.names import ORDERS
from offchain.simulator.trace import Arrival


class QueueOrder(Protocol):
    """The waiting tasks.

    In a cycle `next` is called until it returns None, each time followed by the result for that task.
    """

    def add(self, arrival: Arrival) -> None: ...

    def begin(self) -> None:
        """Begin a cycle: blocked tasks may fit now."""

    def next(self) -> Arrival | None:
        """Return the next task, the same until its result is known; None: the cycle is over."""

    def on_placed(self, arrival: Arrival) -> None:
        """The task runs."""

    def on_blocked(self, arrival: Arrival) -> None:
        """The task fits nowhere now."""

    def drop(self, arrival: Arrival) -> None:
        """Remove a task that waits first, of all or of its account. Only between cycles."""

    def on_ended(self, arrival: Arrival) -> None:
        """A placed task has ended."""


class FifoOrder:
    """First come, first served. A task that does not fit blocks all behind it."""

    def __init__(self) -> None:
        self._is_stopped = False
        self._waiting: deque[Arrival] = deque()

    def add(self, arrival: Arrival) -> None:
        self._waiting.append(arrival)

    def begin(self) -> None:
        self._is_stopped = False

    def next(self) -> Arrival | None:
        return None if self._is_stopped or not self._waiting else self._waiting[0]

    def on_placed(self, arrival: Arrival) -> None:
        del arrival
        self._waiting.popleft()

    def on_blocked(self, arrival: Arrival) -> None:
        del arrival
        self._is_stopped = True

    def drop(self, arrival: Arrival) -> None:
        self._waiting.remove(arrival)

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

    def begin(self) -> None:
        self._ready = [(self.share(account), account) for account in self._waiting]
        heapq.heapify(self._ready)

    def next(self) -> Arrival | None:
        return self._waiting[self._ready[0][1]][0] if self._ready else None

    def on_placed(self, arrival: Arrival) -> None:
        account = arrival.account
        self._charge(arrival, 1)
        self.drop(arrival)
        if account in self._waiting:
            heapq.heapreplace(self._ready, (self.share(account), account))
        else:
            heapq.heappop(self._ready)

    def on_blocked(self, arrival: Arrival) -> None:
        del arrival
        heapq.heappop(self._ready)

    def drop(self, arrival: Arrival) -> None:
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


def make_order(name: str, cluster: Cluster) -> QueueOrder:
    """Return an empty waiting list for this cluster. ValueError: unknown name."""
    if name == "fifo":
        return FifoOrder()
    if name == "drf":
        return DrfOrder(cluster)
    raise ValueError(f"there is no order {name!r}: {', '.join(ORDERS)}")
