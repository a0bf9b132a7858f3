"""When what is held ends, host by host in the order of time; kept from round to round, by whose it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from offchain.core.scheduler.columns import Ints, resized
from offchain.core.timing.claims import FOREVER, Column
from offchain.core.timing.loops import AT, CPU, DEVICES, MEMORY, NONE, Changes, enter, leave

_FEW: Final = 64


class Ends:
    """What comes or goes costs the same however much there is, but for the other rows of its host.

    What never ends is left out: it changes nothing.
    """

    __slots__ = ("_changes", "_cpu", "_firsts", "_many", "_memory", "_more", "_unused")

    def __init__(self) -> None:
        rows, hosts = np.zeros((_FEW, DEVICES + 1), dtype=np.int64), np.zeros(_FEW, dtype=np.int64)
        self._changes = Changes(rows, hosts, hosts.copy(), np.full(_FEW, NONE, dtype=np.int64), hosts.copy())
        self._many = 0
        """So many rows are in use, or were."""
        self._unused: Ints = np.zeros(0, dtype=np.int64)
        """Rows that were."""
        self._more: Ints = np.zeros(_FEW, dtype=np.int64)
        """[row]: another one of the same task."""
        self._firsts: dict[int, int] = {}
        """[task]: one of its rows."""
        self._cpu: Ints = np.zeros(_FEW, dtype=np.int64)
        """[host]: what all that ends holds."""
        self._memory: Ints = np.zeros(_FEW, dtype=np.int64)

    @classmethod
    def of(cls, claims: Ints) -> Ends:
        """Of nobody."""
        made = cls()
        made._put(claims)
        return made

    def known(self, tasks: Iterable[int]) -> set[int]:
        """Those of which something ends."""
        return self._firsts.keys() & tasks

    def put(self, tasks: Ints, claims: Ints) -> None:
        """Each row of `claims` (as in :class:`Claims`) is the task's of the same place; a task's are beside each other.

        Nothing is known of any of these tasks.
        """
        tasks = tasks[claims[:, Column.UNTIL] < FOREVER]
        some = self._put(claims)
        begins = np.append(True, tasks[1:] != tasks[:-1])[: len(tasks)]
        self._more[some] = np.where(np.append(begins[1:], True)[: len(some)], NONE, np.roll(some, -1))
        self._firsts.update(zip(tasks[begins].tolist(), some[begins].tolist(), strict=True))

    def _put(self, claims: Ints) -> Ints:
        """Gives the rows of those that end."""
        claims = claims[claims[:, Column.UNTIL] < FOREVER]
        hosts = claims[:, Column.HOST]
        some = self._rows(len(claims), 1 + int(hosts.max(initial=NONE)))
        changes = self._changes
        changes.host[some] = hosts
        changes.rows[some, AT] = claims[:, Column.UNTIL]
        changes.rows[some, CPU:] = claims[:, Column.CPU : Column.DEVICES + 1]
        np.add.at(self._cpu, hosts, claims[:, Column.CPU])
        np.add.at(self._memory, hosts, claims[:, Column.MEMORY])
        enter(changes, some[np.argsort(-claims[:, Column.UNTIL], kind="stable")])
        return some

    def drop(self, tasks: Iterable[int]) -> None:
        """Nothing of these is held any more."""
        firsts = self._firsts
        found: list[Ints] = []
        some: Ints = np.array([firsts.pop(task) for task in tasks if task in firsts], dtype=np.int64)
        while len(some):
            found.append(some)
            some = self._more[some]
            some = some[some != NONE]
        if not found:
            return
        some, changes = np.concatenate(found), self._changes
        leave(changes, some)
        np.subtract.at(self._cpu, changes.host[some], changes.rows[some, CPU])
        np.subtract.at(self._memory, changes.host[some], changes.rows[some, MEMORY])
        self._unused = np.concatenate([self._unused, some])

    def sums(self, hosts: int) -> tuple[Ints, Ints]:
        """[host]: cores and memory of all that ends."""
        return resized(self._cpu, hosts), resized(self._memory, hosts)

    def changes(self, hosts: int, at_least_ms: int, spare: int) -> Changes:
        """A copy, with place for `spare` more rows; what should have ended sooner ends at `at_least_ms`."""
        rows, host, after, first, shrinks_ms = self._changes
        many = self._many
        made = np.empty((many + spare, DEVICES + 1), dtype=np.int64)
        made[:many] = rows[:many]
        np.maximum(made[:many, AT], at_least_ms, out=made[:many, AT])
        columns = resized(host[:many], many + spare), resized(after[:many], many + spare)
        return Changes(made, *columns, resized(first, hosts, NONE), resized(shrinks_ms, hosts))

    def _rows(self, count: int, hosts: int) -> Ints:
        """So many rows that are not in use; there are columns for them, and for so many hosts."""
        left = max(0, len(self._unused) - count)
        again, self._unused = self._unused[left:], self._unused[:left]
        first, self._many = self._many, self._many + count - len(again)
        if self._many > len(self._more):
            self._more = resized(self._more, 2 * self._many)
            self._changes = longer(self._changes, 2 * self._many)
        if hosts > len(self._cpu):
            self._cpu, self._memory = resized(self._cpu, 2 * hosts), resized(self._memory, 2 * hosts)
            firsts = resized(self._changes.first, 2 * hosts, NONE)
            self._changes = self._changes._replace(first=firsts, shrinks_ms=np.zeros(2 * hosts, dtype=np.int64))
        return np.concatenate([again, np.arange(first, self._many)])


def longer(changes: Changes, rows: int) -> Changes:
    """The same with place for so many rows."""
    host, after = resized(changes.host, rows), resized(changes.after, rows)
    return changes._replace(rows=resized(changes.rows, rows), host=host, after=after)
