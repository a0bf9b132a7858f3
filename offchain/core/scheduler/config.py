"""What the operator of a scheduler configures."""

from __future__ import annotations

from dataclasses import dataclass

from offchain.core.scheduler.queue_definitions import QueueTree
from offchain.core.scheduler.reservation_windows import ReservationWindow


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """`queues`: None for equal shares of all accounts.

    `windows`: times for which hosts are reserved for some accounts.
    """

    queues: QueueTree | None = None
    windows: tuple[ReservationWindow, ...] = ()
