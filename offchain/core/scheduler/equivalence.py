"""Equivalence classes: waiting tasks with equal requests, which are placed or unschedulable together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from offchain.core.scheduler.partition import class_key_of
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.scheduler.unschedulable import UnschedulableIndex
from offchain.core.values import Layout

EquivalenceClass = tuple[PodRequest, int, int, int, int]
"""What decides whether a task can be placed now: its request, the minimum and maximum number of pods, its rounded
duration, and the reservation windows that are open to it (bits).
"""


_FEW_ACCOUNTS: Final = 16


class EquivalenceClasses:
    """The classes with waiting tasks.

    A class has a number in the queues, and a key that is the same for all schedulers.
    """

    def __init__(self) -> None:
        self._numbers: dict[EquivalenceClass, int] = {}
        self._counts: dict[int, int] = {}
        """[number]: its tasks."""
        self.accounts: dict[int, set[str]] = {}
        """[number]: the accounts whose tasks wait in the class, and some whose tasks waited there before."""
        self._classes: dict[int, EquivalenceClass] = {}
        self._requests: dict[PodRequest, PodRequest] = {}
        """Equal requests are stored once."""
        self._free: list[int] = []
        """Unused numbers."""
        self._last_unschedulable: dict[int, int] = {}
        """[number]: the task that could not be placed in the last cycle that tried the class."""
        self.class_keys: dict[int, bytes] = {}
        """[number]: the key for all schedulers."""
        self.unschedulable_index = UnschedulableIndex()
        self.with_layout = 0
        """The number of classes with a layout."""

    def unique(self, request: PodRequest) -> PodRequest:
        """Return the instance that stands for all equal requests."""
        return self._requests.setdefault(request, request)

    def join(self, task_class: EquivalenceClass, accounts: Iterable[str], tasks: int = 1) -> int:
        """Add waiting tasks of these accounts to a class, and return its number."""
        number = self._numbers.get(task_class)
        if number is None:
            number = self._free.pop() if self._free else len(self._numbers)
            self._numbers[task_class] = number
            self._classes[number] = task_class
            self._counts[number] = 0
            self.accounts[number] = set()
            self.class_keys[number] = class_key_of(*task_class[:3])
            self.with_layout += task_class[0].layout is not Layout.ANY
        self._counts[number] += tasks
        self.accounts[number].update(accounts)
        return number

    def has_former_accounts(self, number: int) -> bool:
        """Whether most of the accounts of a class have no waiting tasks there, so that they should be removed."""
        return len(self.accounts[number]) > 2 * self._counts[number] + _FEW_ACCOUNTS

    def leave(self, task_class: EquivalenceClass, tasks: Sequence[int]) -> None:
        """Remove tasks that wait no more."""
        number = self._numbers[task_class]
        self._counts[number] -= len(tasks)
        if self._counts[number]:
            if number in self.unschedulable_index:
                self.unschedulable_index.on_tasks_left(number, tasks)
        else:
            del self._numbers[task_class]
            del self.class_keys[number], self._classes[number], self._counts[number], self.accounts[number]
            self._free.append(number)
            self.with_layout -= task_class[0].layout is not Layout.ANY
            self._last_unschedulable.pop(number, None)
            self.unschedulable_index.remove(number)
            self._requests.pop(task_class[0], None)

    def gang_keys(self) -> Iterator[bytes]:
        """Return the keys of classes that need several pods at once."""
        return (self.class_keys[number] for (_, least, *_), number in self._numbers.items() if least > 1)

    def by_number(self, number: int) -> EquivalenceClass:
        return self._classes[number]

    def class_key(self, task_class: EquivalenceClass) -> bytes:
        return self.class_keys[self._numbers[task_class]]

    def set_unschedulable(self, task_class: EquivalenceClass, task: int) -> None:
        """Note that a task of the class could not be placed."""
        self._last_unschedulable[self._numbers[task_class]] = task

    def last_unschedulable(self, task_class: EquivalenceClass) -> int | None:
        """Return the last task of the class that could not be placed."""
        return self._last_unschedulable.get(self._numbers[task_class])
