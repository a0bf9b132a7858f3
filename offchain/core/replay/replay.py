"""The loop: at each moment tasks end and come, then whoever is next is placed, until nobody is any more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from offchain.core.placing.board import Board, Place
from offchain.core.placing.shapes import Shape
from offchain.core.replay.arrival import Arrival
from offchain.core.replay.clock import Clock
from offchain.core.replay.order import Backfill, Order, Run
from offchain.core.replay.room import EmptyHosts
from offchain.core.replay.series import Series

_ENDS, _COMES = 0, 1
"""What ends at a moment makes room for what comes then."""


@dataclass(slots=True)
class Replayed:
    """What came of it."""

    runs: list[Run] = field(default_factory=list)
    """In the order in which they started."""
    refused: list[Arrival] = field(default_factory=list)
    """Tasks that would not even fit if nothing else ran."""
    tries: int = 0
    """How often a task was tried to be placed."""


def replay(
    board: Board, arrivals: Iterable[Arrival], order: Order, series: Series, backfill: Backfill | None = None
) -> Replayed:
    """Run all of them on a cluster on which nothing runs. The same arguments give the same result."""
    return _Replay(board, order, series, backfill).run(arrivals)


class _Replay:
    def __init__(self, board: Board, order: Order, series: Series, backfill: Backfill | None) -> None:
        self._board = board
        self._order = order
        self._series = series
        self._backfill = backfill
        self._clock: Clock[Arrival | Run] = Clock()
        self._running: dict[int, Run] = {}
        self._came = 0
        self._waiting = 0
        self._ended = 0
        self._blocked: dict[tuple[Shape, int], int] = {}
        """What fitted nowhere when so many had ended: until one more has, it still does not."""
        self._empty = EmptyHosts(board.cluster)
        self._never: dict[tuple[Shape, int], bool] = {}
        self._found = Replayed()

    def run(self, arrivals: Iterable[Arrival]) -> Replayed:
        for arrival in arrivals:
            self._clock.at(arrival.arrival_ms, _COMES, arrival)
            self._came += 1
        while (next_ms := self._clock.next_ms()) is not None:
            # When the last has started there is nothing to see but how the cluster empties.
            going = self._going()
            if going:
                self._series.until(next_ms, len(self._running), self._waiting)
            for happens in self._clock.advance():
                if isinstance(happens, Run):
                    self._end(happens)
                else:
                    self._come(happens)
            if self._waiting:
                self._round()
            if going and not self._going():
                self._series.until(next_ms + 1, len(self._running), self._waiting)
        return self._found

    def _going(self) -> bool:
        return len(self._found.runs) + len(self._found.refused) < self._came

    def _come(self, arrival: Arrival) -> None:
        key = (arrival.shape, arrival.pods)
        if key not in self._never:
            self._never[key] = not self._empty.holds(arrival.shape, arrival.pods)
        if self._never[key]:
            self._found.refused.append(arrival)
        else:
            self._order.add(arrival)
            self._waiting += 1

    def _end(self, run: Run) -> None:
        for place in run.places:
            self._board.give(run.arrival.shape, place)
        del self._running[run.arrival.number]
        self._order.ended(run.arrival)
        self._ended += 1

    def _round(self) -> None:
        now_ms = self._clock.now_ms
        self._order.begin(now_ms)
        if self._backfill is not None:
            self._backfill.begin(self._running.values(), now_ms)
        passing = False
        while (arrival := self._order.next()) is not None:
            places = self._place(arrival, self._backfill if passing else None)
            if places is not None:
                run = Run(arrival, now_ms, places)
                self._order.placed(arrival)
                self._running[arrival.number] = run
                self._found.runs.append(run)
                self._clock.at(run.end_ms, _ENDS, run)
                self._waiting -= 1
                if self._backfill is not None:
                    self._backfill.placed(run)
            elif not self._running:
                # A gang for which there would be room, were its pods put elsewhere than this policy puts them.
                self._order.dropped(arrival)
                self._found.refused.append(arrival)
                self._waiting -= 1
            else:
                self._order.blocked(arrival)
                if self._backfill is not None:
                    self._backfill.reserve(arrival)
                    passing = True

    def _place(self, arrival: Arrival, backfill: Backfill | None) -> tuple[Place, ...] | None:
        """All pods, or none."""
        key = (arrival.shape, arrival.pods)
        if self._blocked.get(key) == self._ended:
            return None
        self._found.tries += 1
        places: list[Place] = []
        for _ in range(arrival.pods):
            allowed = None
            if backfill is not None:
                allowed = backfill.allowed(arrival, self._board.devices(arrival.shape))
            place = self._board.put(arrival.shape, allowed)
            if place is None:
                for taken in places:
                    self._board.give(arrival.shape, taken)
                if backfill is None:
                    self._blocked[key] = self._ended
                return None
            places.append(place)
        return tuple(places)
