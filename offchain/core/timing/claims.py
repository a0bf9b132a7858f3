"""Who holds what of which host, from when until when: live leases, and reservations."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from offchain.core.scheduler.columns import Ints
from offchain.core.scheduler.pod_request import PodShape

FOREVER: Final = 1 << 62
"""The end, or the length, of what has none."""

_FEWEST: Final = 64


@dataclass(frozen=True, slots=True)
class Claim:
    """The part of one host that a pod (or an operator, for a window of time) holds from one moment up to another.

    `until_ms` is the latest: a lease ends then by its maximum duration.
    """

    host: int
    shape: PodShape
    devices: int
    from_ms: int
    until_ms: int


class Column:
    """The columns of :attr:`Claims.rows`."""

    HOST, CPU, MEMORY, MILLI, DEVICES, FROM, UNTIL = range(7)
    COUNT = 7


class Claims:
    """Claims as rows of numbers, by any key. Kept from round to round; a change costs the same however many."""

    __slots__ = ("_keys", "_places", "_rows")

    def __init__(self) -> None:
        self._rows: Ints = np.zeros((_FEWEST, Column.COUNT), dtype=np.int64)
        self._keys: list[Hashable] = []
        self._places: dict[Hashable, int] = {}

    @classmethod
    def of(cls, claims: Iterable[Claim]) -> Claims:
        """All of them, numbered."""
        made = cls()
        for key, claim in enumerate(claims):
            made.put(key, claim)
        return made

    def __len__(self) -> int:
        """How many."""
        return len(self._keys)

    def __contains__(self, key: Hashable) -> bool:
        """Whether something is held under this key."""
        return key in self._places

    @property
    def rows(self) -> Ints:
        """[claim, column]; to be read only."""
        return self._rows[: len(self._keys)]

    def put(self, key: Hashable, claim: Claim) -> None:
        """Hold this under `key`, instead of what it held before."""
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = len(self._keys)
            self._keys.append(key)
            if place == len(self._rows):
                self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[place] = as_row(claim)

    def drop(self, key: Hashable) -> None:
        """What was held under `key` is no more. KeyError: nothing was."""
        place, last = self._places.pop(key), self._keys.pop()
        if last != key:
            self._keys[place] = last
            self._places[last] = place
            self._rows[place] = self._rows[len(self._keys)]


def as_row(claim: Claim) -> tuple[int, ...]:
    """The numbers of one claim, in the order of the columns."""
    shape = claim.shape
    return (
        claim.host,
        shape.cpu_milli,
        shape.memory_mib,
        shape.gpu_milli,
        claim.devices,
        claim.from_ms,
        claim.until_ms,
    )
