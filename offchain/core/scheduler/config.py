"""What the operator of a scheduler configures."""

from __future__ import annotations

from dataclasses import dataclass

from offchain.core.queues.tree import Tree
from offchain.core.timing.windows import Window


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """`queues`: None for equal shares of all accounts.

    `windows`: times for which hosts are reserved for some accounts.
    """

    queues: Tree | None = None
    windows: tuple[Window, ...] = ()
