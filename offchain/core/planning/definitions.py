"""What the operator of a scheduler defines."""

from __future__ import annotations

from dataclasses import dataclass

from offchain.core.scheduler.queue_definitions import QueueTree
from offchain.core.scheduler.reservation_windows import ReservationWindow


@dataclass(frozen=True, slots=True)
class Definitions:
    """`queues`: without them accounts share alike. `windows`: times for which hosts are for some accounts alone."""

    queues: QueueTree | None = None
    windows: tuple[ReservationWindow, ...] = ()
