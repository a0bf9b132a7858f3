"""What a worker process keeps while its node is away, and what it has done: read by its metrics."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from offchain.adapters.outbox.intent_values import OutboxCounts
from offchain.services.view import ChainView

if TYPE_CHECKING:  # roles without a scheduler do without numpy and numba
    from offchain.services.scheduler import Scheduler


@dataclass(slots=True)
class SchedulerCounts:
    """What the schedulers of this process have done. `on_cycle` receives the duration of each cycle in seconds.

    `pods_placed`: by cycles; `assigned`, `refused`, `overtaken`: placed tasks by what came of their assignments.
    """

    on_cycle: Callable[[float], object] = lambda _: None
    pods_placed: int = 0
    assigned: int = 0
    refused: int = 0
    overtaken: int = 0


@dataclass(slots=True)
class WorkerState:
    """What continues after an outage of the node: the view of the chain, the thread of scheduling cycles, counts."""

    view: ChainView | None = None
    """None: all records are read."""
    planning: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="planning"))
    """Starts its thread with the first cycle."""
    scheduler: Scheduler | None = None
    """The present one; None while the worker waits for its node."""
    scheduled: SchedulerCounts = field(default_factory=SchedulerCounts)
    outbox: OutboxCounts = field(default_factory=OutboxCounts)
