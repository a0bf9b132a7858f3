"""Members in the order of their keys, kept while keys change: two heaps, in which old entries are passed over.

Each member has two keys: of the best of it that stands (above the bound, or risen to it) and of the best that is still
rising. Whoever stands comes before whoever is rising (:mod:`offchain.core.queues.ageing`).
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush, heapreplace
from typing import Generic, TypeVar

from offchain.core.queues.ageing import RISING, Key

_SLACK = 16
"""So many entries that do not count are always allowed."""


class Ranked:
    """Something with a place. No key: nobody of that rank."""

    __slots__ = ("rising_key", "standing_key")

    def __init__(self) -> None:
        self.standing_key: Key | None = None
        self.rising_key: Key | None = None

    def __lt__(self, other: object) -> bool:
        """Entries with the same key are of the same member."""
        return False

    @property
    def key(self) -> Key | None:
        """Of the first of it."""
        return self.standing_key or self.rising_key


M = TypeVar("M", bound=Ranked)


class Heaps(Generic[M]):
    """An entry counts while its member still has that key, the very same object."""

    __slots__ = ("passed", "rising", "standing")

    def __init__(self) -> None:
        self.standing: list[tuple[Key, M]] = []
        self.rising: list[tuple[Key, M]] = []
        self.passed: list[tuple[Key, M]] = []
        """Entries that were taken out for a time."""

    def fill(self, members: Iterable[M]) -> None:
        """These are the members."""
        self.standing, self.rising, self.passed = [], [], []
        for member in members:
            if member.standing_key is not None:
                self.standing.append((member.standing_key, member))
            if member.rising_key is not None:
                self.rising.append((member.rising_key, member))
        heapify(self.standing)
        heapify(self.rising)

    def moved(self, member: M, standing: Key | None, rising: Key | None, members: Iterable[M], count: int) -> None:
        """A member's keys were these two, and may be others now. `members`: all of them, so many."""
        if member.standing_key is not None and member.standing_key is not standing:
            _enter(self.standing, standing, (member.standing_key, member))
        if member.rising_key is not None and member.rising_key is not rising:
            _enter(self.rising, rising, (member.rising_key, member))
        if len(self.standing) > 2 * count + _SLACK or len(self.rising) > 2 * count + _SLACK:
            self.fill(members)

    def first_standing(self) -> Key | None:
        """The least key of those that stand."""
        heap = self.standing
        while heap:
            key, member = heap[0]
            if member.standing_key is key:
                return key
            heappop(heap)
        return None

    def first_rising(self) -> Key | None:
        """The least key of those that are rising."""
        heap = self.rising
        while heap:
            key, member = heap[0]
            if member.rising_key is key:
                return key
            heappop(heap)
        return None

    def first(self) -> M | None:
        """The member with the least key of all."""
        if self.standing and self.first_standing() is not None:
            return self.standing[0][1]
        return self.rising[0][1] if self.first_rising() is not None else None

    def first_key(self) -> Key | None:
        """The least key of all."""
        heap = self.standing or self.rising
        if heap:
            key, member = heap[0]
            if key is member.standing_key or (key is member.rising_key and not self.standing):
                return key
        return self.first_standing() or self.first_rising()

    def risen(self, key: Key) -> None:
        """The first of those that are rising stands with this key from now on. It must have had no other."""
        _, member = heappop(self.rising)
        member.rising_key, member.standing_key = None, key
        heappush(self.standing, (key, member))

    def pass_over(self) -> None:
        """Take the first member out for a time. There must be one."""
        heap = self.standing if self.first_standing() is not None else self.rising
        self.passed.append(heappop(heap))

    def bring_back(self) -> None:
        """Those that were taken out are there again."""
        for entry in self.passed:
            heappush(self.rising if entry[0][0] == RISING else self.standing, entry)
        self.passed = []


def _enter(heap: list[tuple[Key, M]], old: Key | None, entry: tuple[Key, M]) -> None:
    """Put an entry in, in place of the member's old one where that is the first."""
    if old is not None and heap and heap[0][0] is old:
        heapreplace(heap, entry)
    else:
        heappush(heap, entry)
