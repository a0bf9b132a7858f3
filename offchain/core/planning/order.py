"""What the planner asks of those who decide who is next."""

from __future__ import annotations

from typing import Protocol

from offchain.core.fleet.want import Want
from offchain.core.values import Task


class Order(Protocol):
    """One round: each waiting task comes at most once."""

    def next(self) -> tuple[Task, Want] | None:
        """Whose turn it is, and what its pods ask for; None where nobody is left."""

    def placed(self, task: Task, pods: int) -> None:
        """So many of its pods have a place."""

    def blocked(self, task: Task) -> None:
        """It fits nowhere now, and neither does any other that asks for the same."""
