"""For how many pods of a gang there is room: one of each group of hosts, where they must lie apart."""

from __future__ import annotations

import numpy as np

from offchain.core.scheduler.columns import Ints


class Tally:
    """`rooms`: [host], for how many pods there is room. `apart`: as :mod:`offchain.core.timing.spread` has it."""

    def __init__(self, rooms: Ints, apart: Ints | None) -> None:
        self._apart = apart
        self._open: Ints = np.zeros(0, dtype=np.int64)
        """[group]: how many of its hosts have room."""
        if apart is not None:
            self._open = np.bincount(apart, weights=rooms > 0).astype(np.int64)
        self.total = int(rooms.sum()) if apart is None else int((self._open > 0).sum())
        """For so many pods of the gang."""

    def change(self, host: int, before: int, after: int) -> None:
        """The host has room for so many."""
        if self._apart is None:
            self.total += after - before
            return
        group = self._apart[host]
        had = bool(self._open[group])
        self._open[group] += (after > 0) - (before > 0)
        self.total += bool(self._open[group]) - had


def useful(gain: Ints, rooms: Ints, apart: Ints | None) -> Ints:
    """[host]: what its gain is worth to the gang: nothing where its group has room already."""
    return gain if apart is None else np.where(np.isin(apart, apart[rooms > 0]), 0, gain)
