"""What the planner asks of those who decide who is next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from offchain.core.fleet.want import Want
from offchain.core.values import Task


class Run(NamedTuple):
    """Tasks that are next, in this order. All ask for the same: the same want, as many pods at least and at most."""

    tasks: Sequence[Task]
    numbers: Sequence[int]
    """Of the tasks."""
    want: Want

    @classmethod
    def of(cls, tasks: Sequence[Task], want: Want) -> Run:
        """These."""
        return cls(tasks, [task.id for task in tasks], want)


class Order(Protocol):
    """One round: each waiting task comes at most once, unless it is neither placed nor blocked."""

    def run(self) -> Run | None:
        """Whose turn it is; None where nobody is left."""

    def ran(self, tasks: int) -> None:
        """So many of the run, the first ones, have a place."""

    def blocked(self, task: Task) -> None:
        """It fits nowhere now, and neither does any other that asks for the same."""
