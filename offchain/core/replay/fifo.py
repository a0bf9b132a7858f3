"""First come, first served."""

from __future__ import annotations

import heapq
from collections import deque

from offchain.core.placing.shapes import Shape
from offchain.core.replay.arrival import Arrival

_Key = tuple[Shape, int]


class Fifo:
    """Who does not fit holds up all behind; with `passes`, only those that ask for the same."""

    def __init__(self, *, passes: bool = False) -> None:
        self._passes = passes
        self._stopped = False
        self._waiting: dict[_Key, deque[Arrival]] = {}
        self._heads: list[tuple[int, _Key]] = []
        """A heap: the first of each that may be next."""
        self._aside: list[tuple[int, _Key]] = []

    def add(self, arrival: Arrival) -> None:
        """See :class:`Order`, here and below."""
        key = (arrival.shape, arrival.pods)
        behind = self._waiting.setdefault(key, deque())
        behind.append(arrival)
        if len(behind) == 1:
            heapq.heappush(self._heads, (arrival.number, key))

    def begin(self, now_ms: int) -> None:
        """All may be next again."""
        del now_ms
        self._stopped = False
        for head in self._aside:
            heapq.heappush(self._heads, head)
        self._aside.clear()

    def next(self) -> Arrival | None:
        """The one that came first."""
        return None if self._stopped or not self._heads else self._waiting[self._heads[0][1]][0]

    def placed(self, arrival: Arrival) -> None:
        """It leaves the list."""
        key = (arrival.shape, arrival.pods)
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

    def ended(self, arrival: Arrival) -> None:
        """What somebody has does not matter here."""
