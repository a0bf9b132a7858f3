"""Plain dominant resource fairness between accounts (Ghodsi et al., NSDI 2011), all of the same weight.

Next is the account whose dominant share is the least: the largest of its parts of all cores, memory and GPUs. Within an
account: first come, first served. An account whose first task fits nowhere is set aside for the round; the published
algorithm stops there, which on a cluster of many hosts would leave room for others unused.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Container

from offchain.core.placing.cluster import Cluster
from offchain.core.replay.arrival import Arrival, Kind


class Drf:
    """Accounts by dominant share, of equals the first by name. Made when nothing runs on the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._totals = (
            max(1, int(cluster.free.cpu.sum())),
            max(1, int(cluster.free.memory.sum())),
            max(1, cluster.total_milli),
        )
        self._used: dict[str, list[int]] = {}
        self._waiting: dict[str, deque[Arrival]] = {}
        self._ready: list[tuple[float, str]] = []
        """A heap: those that may be next in this round."""

    def add(self, arrival: Arrival) -> None:
        """See :class:`Order`, here and below. Only between rounds."""
        self._waiting.setdefault(arrival.account, deque()).append(arrival)

    def begin(self, now_ms: int, away: Container[Kind] = ()) -> None:
        """All that wait may be next."""
        del now_ms, away
        self._ready = [(self.share(account), account) for account in self._waiting]
        heapq.heapify(self._ready)

    def next(self) -> Arrival | None:
        """The first task of the account that has the least."""
        return self._waiting[self._ready[0][1]][0] if self._ready else None

    def placed(self, arrival: Arrival) -> None:
        """It counts from now on."""
        self._charge(arrival, 1)
        self.dropped(arrival)

    def blocked(self, arrival: Arrival) -> None:
        """Its account is set aside."""
        del arrival
        heapq.heappop(self._ready)

    def dropped(self, arrival: Arrival) -> None:
        """The account's next task may be next."""
        account = arrival.account
        behind = self._waiting[account]
        behind.popleft()
        if behind:
            heapq.heapreplace(self._ready, (self.share(account), account))
        else:
            heapq.heappop(self._ready)
            del self._waiting[account]

    def may(self, arrival: Arrival) -> bool:
        """There are no limits."""
        del arrival
        return True

    def called(self, arrival: Arrival) -> None:
        """It counts from now on."""
        self._charge(arrival, 1)
        behind = self._waiting[arrival.account]
        behind.remove(arrival)
        if not behind:
            del self._waiting[arrival.account]

    def ended(self, arrival: Arrival) -> None:
        """It counts no longer."""
        self._charge(arrival, -1)

    def share(self, account: str) -> float:
        """The dominant share, from 0 to 1."""
        used = self._used.get(account)
        return 0.0 if used is None else max(mine / total for mine, total in zip(used, self._totals, strict=True))

    def _charge(self, arrival: Arrival, sign: int) -> None:
        used = self._used.setdefault(arrival.account, [0, 0, 0])
        shape, pods = arrival.shape, sign * arrival.pods
        used[0] += pods * shape.cpu_milli
        used[1] += pods * shape.memory_mib
        used[2] += pods * shape.total_milli
