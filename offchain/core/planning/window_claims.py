"""What windows of time hold of which hosts: all of each, made anew where hosts or windows have changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from offchain.core.fleet.fleet import Fleet
from offchain.core.placing.shapes import WHOLE_GPU, Shape
from offchain.core.scheduler.availability import Allocation
from offchain.core.scheduler.reservation_windows import ReservationWindows

ALL: Final = -1
"""All windows, as bits."""


class WindowClaims:
    """Kept from round to round."""

    def __init__(self, windows: ReservationWindows, fleet: Fleet) -> None:
        self._windows = windows
        self._fleet = fleet
        self._seen: tuple[int, int] = (-1, -1)
        self._claims: dict[int, tuple[Allocation, ...]] = {}
        """[place of the window]: of each host."""

    def follow(self, now_ms: int) -> None:
        """Look at hosts and windows as they are now."""
        ahead = self._windows.ahead(now_ms)
        seen = self._fleet.changes, len(ahead)
        if seen == self._seen:
            return
        self._seen = seen
        self._claims = {
            place: tuple(
                self._whole(self._fleet.cluster.number(host.id), window.from_ms, window.until_ms)
                for host in self._fleet.records.values()
                if window.covers(host)
            )
            for place, window in ahead
        }

    def of(self, windows: int) -> Sequence[Allocation]:
        """What these hold, as bits of their places."""
        return [claim for place, claims in self._claims.items() if windows >> place & 1 for claim in claims]

    def _whole(self, row: int, from_ms: int, until_ms: int) -> Allocation:
        whole = self._fleet.cluster.whole
        gpus = int(whole.gpus[row])
        shape = Shape(int(whole.cpu[row]), int(whole.memory[row]), gpus, WHOLE_GPU if gpus else 0)
        return Allocation(row, shape, (1 << gpus) - 1, from_ms, until_ms)
