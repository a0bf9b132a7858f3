"""First come, first served."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Container

from offchain.core.replay.arrival import Arrival, Kind


class Fifo:
    """Who does not fit holds up all behind; with `passes`, only those that ask for the same for about as long."""

    def __init__(self, *, passes: bool = False) -> None:
        self._passes = passes
        self._stopped = False
        self._waiting: dict[Kind, deque[Arrival]] = {}
        self._heads: list[tuple[int, Kind]] = []
        """A heap: the first of each that may be next."""
        self._aside: list[tuple[int, Kind]] = []

    def add(self, arrival: Arrival) -> None:
        """See :class:`Order`, here and below."""
        key = arrival.kind(by_length=self._passes)
        behind = self._waiting.setdefault(key, deque())
        behind.append(arrival)
        if len(behind) == 1:
            heapq.heappush(self._heads, (arrival.number, key))

    def begin(self, now_ms: int, away: Container[Kind] = ()) -> None:
        """All may be next again."""
        del now_ms, away
        self._stopped = False
        for head in self._aside:
            heapq.heappush(self._heads, head)
        self._aside.clear()

    def next(self) -> Arrival | None:
        """The one that came first."""
        return None if self._stopped or not self._heads else self._waiting[self._heads[0][1]][0]

    def placed(self, arrival: Arrival) -> None:
        """It leaves the list."""
        key = arrival.kind(by_length=self._passes)
        behind = self._waiting[key]
        behind.popleft()
        if behind:
            heapq.heapreplace(self._heads, (behind[0].number, key))
        else:
            heapq.heappop(self._heads)
            del self._waiting[key]

    def blocked(self, arrival: Arrival) -> None:
        """It stays where it is."""
        del arrival
        if self._passes:
            self._aside.append(heapq.heappop(self._heads))
        else:
            self._stopped = True

    def dropped(self, arrival: Arrival) -> None:
        """It leaves the list."""
        self.placed(arrival)

    def may(self, arrival: Arrival) -> bool:
        """There are no limits."""
        del arrival
        return True

    def called(self, arrival: Arrival) -> None:
        """It leaves the list."""
        key = arrival.kind(by_length=self._passes)
        behind = self._waiting[key]
        behind.remove(arrival)
        self._heads = [head for head in (*self._heads, *self._aside) if head[1] != key]
        self._aside.clear()
        if behind:
            self._heads.append((behind[0].number, key))
        else:
            del self._waiting[key]
        heapq.heapify(self._heads)

    def ended(self, arrival: Arrival) -> None:
        """What somebody has does not matter here."""
