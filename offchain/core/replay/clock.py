"""Virtual time: it goes from one moment at which something happens to the next."""

from __future__ import annotations

import heapq
from typing import Generic, TypeVar

T = TypeVar("T")


class Clock(Generic[T]):
    """What will happen, and when. At the same moment the lower rank comes first, then what was set first."""

    def __init__(self) -> None:
        self.now_ms = 0
        self._set = 0
        self._heap: list[tuple[int, int, int, T]] = []

    def at(self, when_ms: int, rank: int, what: T) -> None:
        """ValueError: that moment is over."""
        if when_ms < self.now_ms:
            raise ValueError(f"{when_ms} ms is over, it is {self.now_ms} ms")
        heapq.heappush(self._heap, (when_ms, rank, self._set, what))
        self._set += 1

    def next_ms(self) -> int | None:
        """When something happens next; None where nothing will."""
        return self._heap[0][0] if self._heap else None

    def advance(self) -> list[T]:
        """Go to the next moment; gives all that happens then."""
        self.now_ms = self._heap[0][0]
        happens = []
        while self._heap and self._heap[0][0] == self.now_ms:
            happens.append(heapq.heappop(self._heap)[3])
        return happens
