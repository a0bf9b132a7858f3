"""Many schedulers and no leader: each has a part of the hosts, so that no two of them take the same room.

A host's scheduler is the one that hashes lowest together with it, of those who look after tasks that wait in this shift
(:mod:`offchain.core.planning.shifts`). As long as many kinds wait that is everybody, and parts stay as they are; where
only one kind waits, its scheduler has all hosts. Room that has stood as it is for two shifts while tasks waited is no
longer its scheduler's alone: in each shift another may use it, so what the dead would have taken is not lost. After
four shifts whoever looks after a gang may, so that one that is larger than any part finds its hosts. The chain decides
all the same: who sees another part wastes a call.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from offchain.core.placing.free import Bools, Ints
from offchain.core.planning.shifts import HANDOVER_MS, SHIFT_MS

STILL_MS: Final = 2 * SHIFT_MS
"""Whoever has a host would have used its room by then."""

_Marks = npt.NDArray[np.uint64]
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)


class Parts:
    """`me`: this scheduler's account. Hosts are told apart by their rows, which only grow in number."""

    def __init__(self, me: str) -> None:
        self._me = me
        self._all: tuple[str, ...] = (me,)
        self._marks: _Marks = np.zeros((0, 1), dtype=np.uint64)
        """[host, scheduler]: the least has the host."""
        self._changed: set[int] = set()
        self._since_ms: Ints = np.zeros(0, dtype=np.int64)
        """[host]: how long its room has been what it is."""
        self._shift = -1
        self._mine: Bools = np.zeros(0, dtype=np.bool_)
        self._before: Bools = np.zeros(0, dtype=np.bool_)
        """[host]: whether it was this scheduler's at the end of the shift before."""

    def schedulers(self, accounts: Iterable[str]) -> None:
        """All who are bonded."""
        found = tuple(sorted({self._me, *accounts}))
        if found != self._all:
            self._all = found
            self._marks = np.zeros((0, len(found)), dtype=np.uint64)

    def changed(self, rows: Iterable[int]) -> None:
        """The room of these hosts is not what it was."""
        self._changed.update(rows)

    def closed(
        self, now_ms: int, names: Sequence[str], at_work: Collection[str], busy_since_ms: int, *, gang: bool
    ) -> Bools:
        """[host]: whether it is not for this scheduler to use now.

        `at_work`: who looks after tasks that wait in this shift. `busy_since_ms`: since when some have always waited.
        `gang`: one of those that this scheduler looks after must have several pods placed at once.
        """
        self._note(now_ms, len(names))
        self._draw(names)
        shift, into_ms = divmod(now_ms, SHIFT_MS)
        if shift != self._shift:
            self._before = self._mine if shift == self._shift + 1 else np.zeros(0, dtype=np.bool_)
            self._shift = shift
        working = [number for number, account in enumerate(self._all) if account in at_work or account == self._me]
        marks, me = self._marks[:, working], working.index(self._all.index(self._me))
        mine: Bools = marks.argmin(axis=1) == me
        if into_ms < HANDOVER_MS:
            # What the one before has taken last is not in the best block yet.
            mine[len(self._before) :] = False
            mine[: len(self._before)] &= self._before
        elif now_ms - busy_since_ms >= STILL_MS:
            idle_ms = now_ms - self._since_ms
            if gang:
                mine |= idle_ms >= 2 * STILL_MS
            mine |= (idle_ms >= STILL_MS) & (_mixed(marks, shift).argmin(axis=1) == me)
        self._mine = mine
        return np.logical_not(mine)

    def _note(self, now_ms: int, hosts: int) -> None:
        known = len(self._since_ms)
        self._since_ms = np.concatenate([self._since_ms, np.full(hosts - known, now_ms, dtype=np.int64)])
        self._since_ms[list(self._changed)] = now_ms
        self._changed.clear()

    def _draw(self, names: Sequence[str]) -> None:
        known = len(self._marks)
        if known < len(names):
            more = [[_mark(name, account) for account in self._all] for name in names[known:]]
            self._marks = np.concatenate([self._marks, np.array(more, dtype=np.uint64)])


def _mark(host: str, account: str) -> int:
    digest = hashlib.blake2b(f"{host}:{account}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _mixed(marks: _Marks, shift: int) -> _Marks:
    """Others in each shift, the same in every process."""
    mixed = (marks ^ np.uint64(shift)) * _ODD
    return (mixed ^ (mixed >> np.uint64(29))) * _ODD
