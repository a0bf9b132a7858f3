"""What is reserved stays closed to others: backfill, as a gate of a planning round."""

from __future__ import annotations

from typing import Final

from offchain.core.fleet.want import Want
from offchain.core.placing.cluster import Bools, Ints
from offchain.core.timing.backfill import Backfill
from offchain.core.timing.claims import FOREVER
from offchain.core.timing.releases import Profile
from offchain.core.values import Task

START_MS: Final = 300_000
"""From a lease's creation to its start, the chain's usual limit: a pod's time is counted from then on."""

WAY_MS: Final = 60_000
"""From a placement to the lease's creation. Without it each pod on its way would move the reservations behind it."""


def lasts_ms(task: Task) -> int:
    """How long a pod that is placed now may hold its place."""
    return min(FOREVER, WAY_MS + START_MS + task.max_duration_ms)


class Reserved:
    """Lets a pod in where it ends before a reservation begins, or leaves what that needs."""

    def __init__(self, profile: Profile) -> None:
        self._now_ms = profile.now_ms
        self._backfill = Backfill(profile)

    def closed(self, task: Task, want: Want, devices: Ints) -> Bools | None:
        """None where nothing is reserved of any host that has room for such pods, however long they run."""
        if not self._backfill.matters(devices):
            return None
        return ~self._backfill.mask(want.shape, devices, self._ends_ms(task))

    def taken(self, task: Task, want: Want, host: int, devices: int) -> None:
        """Less is left beside what is reserved."""
        self._backfill.placed(host, want.shape, devices, self._ends_ms(task))

    def given(self, task: Task, want: Want, host: int, devices: int) -> None:
        """It is left again."""
        self._backfill.undo(host, want.shape, devices, self._ends_ms(task))

    def _ends_ms(self, task: Task) -> int:
        return self._now_ms + lasts_ms(task)
