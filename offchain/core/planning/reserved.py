"""What is reserved stays closed to others: backfill, as a gate of a planning round."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Final

from offchain.core.fleet.want import Want
from offchain.core.placing.free import AnyInts, Bools
from offchain.core.placing.shapes import Shape
from offchain.core.planning.yielding import Yielding
from offchain.core.scheduler.availability import Allocation, AvailabilityProfile
from offchain.core.scheduler.availability_kernels import FOREVER
from offchain.core.scheduler.backfill import Backfill
from offchain.core.values import Task

START_MS: Final = 300_000
"""From a lease's creation to its start, the chain's usual limit: a pod's time is counted from then on."""

WAY_MS: Final = 60_000
"""From a placement to the lease's creation. Without it each pod on its way would move the reservations behind it."""


def lasts_ms(task: Task) -> int:
    """How long a pod that is placed now may hold its place."""
    return min(FOREVER, WAY_MS + START_MS + task.max_duration_ms)


class Reserved:
    """Lets a pod in where it ends before a reservation begins, or leaves what that needs.

    `profile` has all that is reserved. `own`: by windows of time, as bits, what those hold who may use them: it stands
    in nobody's way who may. `yielding`: what gives way to whom.
    """

    def __init__(
        self,
        profile: AvailabilityProfile,
        open_to: Callable[[str], int],
        own: Callable[[int], Sequence[Allocation]],
        yielding: Yielding,
    ) -> None:
        self._profile = profile
        self._open_to = open_to
        self._own = own
        self._yielding = yielding
        self._backfills: dict[Hashable, Backfill] = {}
        """For those who may use the same windows, and to whom the same gives way."""
        self._taken: list[tuple[int, Shape, int, int]] = []

    def closed(self, task: Task, want: Want, devices: AnyInts) -> Bools | None:
        """None where nothing is reserved of any host that has room for such pods, however long they run."""
        backfill = self._backfill(task)
        if not backfill.restricts(devices):
            return None
        return ~backfill.allowed_hosts(want.shape, devices, self._ends_ms(task))

    def taken(self, task: Task, want: Want, host: int, devices: int) -> None:
        """Less is left beside what is reserved."""
        pod = host, want.shape, devices, self._ends_ms(task)
        self._taken.append(pod)
        self._yielding.passed |= self._yielding.to(task)
        for backfill in self._backfills.values():
            backfill.place(*pod)

    def given(self, task: Task, want: Want, host: int, devices: int) -> None:
        """It is left again."""
        pod = host, want.shape, devices, self._ends_ms(task)
        self._taken.remove(pod)
        for backfill in self._backfills.values():
            backfill.undo(*pod)

    def _backfill(self, task: Task) -> Backfill:
        windows = self._open_to(task.tenant)
        key = windows, self._yielding.key(task)
        found = self._backfills.get(key)
        if found is None:
            own = [*self._own(windows), *self._yielding.claims(task, self._yielding.to(task))]
            self._profile.remove(own)
            found = self._backfills[key] = Backfill(self._profile)
            self._profile.add(own)
            for pod in self._taken:
                found.place(*pod)
        return found

    def _ends_ms(self, task: Task) -> int:
        return self._profile.now_ms + lasts_ms(task)
