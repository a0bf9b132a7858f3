"""The loop: at each moment tasks end and come, then whoever is next is placed, until nobody is any more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from offchain.core.placing.board import Board, Place
from offchain.core.placing.shapes import Shape
from offchain.core.replay.arrival import Arrival, Kind
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
    """Tasks that would not even fit if nothing else ran, or would break a limit of their queue or account for ever."""
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
        self._waiting: dict[int, Arrival] = {}
        self._kinds: Counter[Kind] = Counter()
        """How many of each wait."""
        self._freed = 0
        """How often something became free."""
        self._blocked: dict[Kind, int] = {}
        """What found no place when so much had become free: until more does, it still finds none."""
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
                self._series.until(next_ms, len(self._running), len(self._waiting))
            for happens in self._clock.advance():
                if isinstance(happens, Run):
                    self._end(happens)
                else:
                    self._come(happens)
            if self._waiting:
                self._round()
            if going and not self._going():
                self._series.until(next_ms + 1, len(self._running), len(self._waiting))
        # A limit keeps these for ever.
        self._found.refused += self._waiting.values()
        return self._found

    def _going(self) -> bool:
        return len(self._found.runs) + len(self._found.refused) < self._came

    def _come(self, arrival: Arrival) -> None:
        key = (arrival.shape, arrival.pods)
        if key not in self._never:
            self._never[key] = not self._empty.holds(arrival.shape, arrival.pods)
        if self._never[key]:
            self._found.refused.append(arrival)
            return
        self._order.add(arrival)
        self._waiting[arrival.number] = arrival
        self._kinds[self._kind(arrival)] += 1
        if self._backfill is not None:
            self._backfill.came(arrival)

    def _end(self, run: Run) -> None:
        for place in run.places:
            self._board.give(run.arrival.shape, place)
        del self._running[run.arrival.number]
        self._order.ended(run.arrival)
        if self._backfill is not None:
            self._backfill.ended(run)
        self._freed += 1

    def _round(self) -> None:
        if self._backfill is not None:
            self._call(self._backfill)
        self._order.begin(self._clock.now_ms, self._hopeless())
        while (arrival := self._order.next()) is not None:
            places = self._place(arrival)
            if places is not None:
                self._order.placed(arrival)
                self._start(arrival, places)
            elif not self._running:
                # A gang for which there would be room, were its pods put elsewhere than this policy puts them.
                self._order.dropped(arrival)
                self._found.refused.append(arrival)
                self._leave(arrival)
            else:
                self._order.blocked(arrival)

    def _hopeless(self) -> set[Kind]:
        """Who need not be asked: they found no place in the last round, and nothing that is free since would do."""
        for kind in self._kinds:
            if self._blocked.get(kind, self._freed) != self._freed and self._board.hopeless(kind[0]):
                self._blocked[kind] = self._freed
        return {kind for kind in self._kinds if self._blocked.get(kind) == self._freed}

    def _call(self, backfill: Backfill) -> None:
        """Start those whose time has come: where the policy says, or else where room was kept."""
        for arrival in backfill.begin(self._clock.now_ms, self._order.may):
            kept = backfill.release(arrival)
            self._freed += 1
            places = self._put(arrival)
            if places is None:
                places = kept
                for place in places:
                    self._board.take(arrival.shape, place)
            self._order.called(arrival)
            self._start(arrival, places)

    def _place(self, arrival: Arrival) -> tuple[Place, ...] | None:
        """All pods, or none."""
        kind = self._kind(arrival)
        if self._blocked.get(kind) == self._freed:
            return None
        self._found.tries += 1
        places = self._put(arrival)
        if places is None and self._backfill is not None:
            places = self._backfill.blocked(arrival)
            for place in places or ():
                self._board.take(arrival.shape, place)
        if places is None:
            self._blocked[kind] = self._freed
        return places

    def _put(self, arrival: Arrival) -> tuple[Place, ...] | None:
        backfill = self._backfill
        allowed = None if backfill is None else partial(backfill.allowed, arrival)
        places: list[Place] = []
        for _ in range(arrival.pods):
            place = self._board.put(arrival.shape, allowed)
            if place is None:
                for taken in places:
                    self._board.give(arrival.shape, taken)
                if backfill is not None and places:
                    backfill.given()
                return None
            if backfill is not None:
                backfill.taken(arrival, place)
            places.append(place)
        return tuple(places)

    def _start(self, arrival: Arrival, places: tuple[Place, ...]) -> None:
        run = Run(arrival, self._clock.now_ms, places)
        self._running[arrival.number] = run
        self._found.runs.append(run)
        self._clock.at(run.end_ms, _ENDS, run)
        self._leave(arrival)
        if self._backfill is not None:
            self._backfill.placed(run)

    def _leave(self, arrival: Arrival) -> None:
        """It waits no more."""
        del self._waiting[arrival.number]
        if self._backfill is not None:
            self._backfill.left(arrival)
        kind = self._kind(arrival)
        self._kinds[kind] -= 1
        if not self._kinds[kind]:
            del self._kinds[kind]

    def _kind(self, arrival: Arrival) -> Kind:
        return arrival.kind(by_length=self._backfill is not None)
