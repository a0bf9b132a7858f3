"""Waiting tasks that ask for the same: a group has a number that queues know it by, and a kind for all schedulers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from offchain.core.fleet.want import Want
from offchain.core.planning.asleep import Asleep
from offchain.core.planning.shifts import kind_of
from offchain.core.values import Layout

Group = tuple[Want, int, int, int, int]
"""What decides whether a task can be placed now: its want, how many pods it needs at least and at most, about how long
it runs, and which windows of time it may use."""


class Groups:
    """Those of which some task waits."""

    def __init__(self) -> None:
        self._known: dict[Group, int] = {}
        """[group]: its number."""
        self._counts: dict[int, int] = {}
        """[number]: how many tasks it has."""
        self._numbered: dict[int, Group] = {}
        """The same by number."""
        self._wants: dict[Want, Want] = {}
        """Each once."""
        self._free: list[int] = []
        """Numbers that stand for no group any more."""
        self._tried: dict[int, int] = {}
        """[number]: the task that found no place for all of it, in the last round that tried one."""
        self.kinds: dict[int, bytes] = {}
        """[number]: what all schedulers know it by."""
        self.asleep = Asleep()
        """Those that found no place in this moment of chain time."""
        self.laid_out = 0
        """How many of them have a layout."""

    def once(self, want: Want) -> Want:
        """The one that stands for all that are equal."""
        return self._wants.setdefault(want, want)

    def join(self, group: Group, tasks: int = 1) -> int:
        """So many tasks more wait: their group's number."""
        number = self._known.get(group)
        if number is None:
            number = self._free.pop() if self._free else len(self._known)
            self._known[group] = number
            self._numbered[number] = group
            self._counts[number] = 0
            self.kinds[number] = kind_of(*group[:3])
            self.laid_out += group[0].layout is not Layout.ANY
        self._counts[number] += tasks
        return number

    def leave(self, group: Group, tasks: Sequence[int]) -> None:
        """These of it wait no more."""
        number = self._known[group]
        self._counts[number] -= len(tasks)
        if self._counts[number]:
            if number in self.asleep:
                self.asleep.leave(number, tasks)
        else:
            del self._known[group]
            del self.kinds[number], self._numbered[number], self._counts[number]
            self._free.append(number)
            self.laid_out -= group[0].layout is not Layout.ANY
            self._tried.pop(number, None)
            self.asleep.drop(number)
            self._wants.pop(group[0], None)

    def gangs(self) -> Iterator[bytes]:
        """The kinds of those that need several pods at once."""
        return (self.kinds[number] for (_, least, *_), number in self._known.items() if least > 1)

    def of(self, number: int) -> Group:
        """The one that queues know by this number."""
        return self._numbered[number]

    def number(self, group: Group) -> int:
        """What queues know it by."""
        return self._known[group]

    def kind(self, group: Group) -> bytes:
        """What all schedulers know it by."""
        return self.kinds[self._known[group]]

    def blocked(self, group: Group, task: int) -> None:
        """A task of it found no place."""
        self._tried[self._known[group]] = task

    def tried(self, group: Group) -> int | None:
        """The last one of it that found no place."""
        return self._tried.get(self._known[group])
