"""Who is next, and who may pass: what a replay asks of an order and of a backfill."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Protocol

from offchain.core.placing.board import Place
from offchain.core.placing.free import Bools, Ints
from offchain.core.replay.arrival import Arrival, Kind


@dataclass(frozen=True, slots=True)
class Run:
    """A task that runs, or ran."""

    arrival: Arrival
    start_ms: int
    places: tuple[Place, ...]
    """Of each pod."""

    @property
    def end_ms(self) -> int:
        """When it ends; nobody who decides may look at this."""
        return self.start_ms + self.arrival.duration_ms


class Order(Protocol):
    """The waiting list. In a round `next` is asked until it has none; after each answer it is told what came of it."""

    def add(self, arrival: Arrival) -> None:
        """It waits from now on."""

    def begin(self, now_ms: int, away: Container[Kind] = ()) -> None:
        """A round begins: who was blocked in the last one may fit now; `away`: those that are known not to."""

    def next(self) -> Arrival | None:
        """Whose turn it is; the same until it is told what became of it. None: the round is over."""

    def placed(self, arrival: Arrival) -> None:
        """That one runs."""

    def blocked(self, arrival: Arrival) -> None:
        """That one fits nowhere now; it waits for the next round."""

    def dropped(self, arrival: Arrival) -> None:
        """That one will never fit; it waits no longer."""

    def may(self, arrival: Arrival) -> bool:
        """Whether no limit keeps one that waits."""

    def called(self, arrival: Arrival) -> None:
        """That one runs without having been next: the time has come that was reserved for it. Only between rounds."""

    def ended(self, arrival: Arrival) -> None:
        """One that was placed has ended."""


class Backfill(Protocol):
    """Keeps room for those that are blocked, so that others that pass do not delay them. It knows maximum durations."""

    def came(self, arrival: Arrival) -> None:
        """That one waits from now on."""

    def begin(self, now_ms: int, may: Callable[[Arrival], bool]) -> Sequence[Arrival]:
        """A round begins; gives those whose reserved time has come. Whom a limit keeps (`may`) loses what it had."""

    def release(self, arrival: Arrival) -> tuple[Place, ...]:
        """Nothing is reserved for that one any more; gives what was."""

    def allowed(self, arrival: Arrival, devices: Ints) -> Bools | None:
        """For each host, whether a pod of it may go there in spite of all reservations; None: anywhere.

        `devices[host]`, as bits, are those that it would take; they mean nothing where it does not fit.
        """

    def taken(self, arrival: Arrival, place: Place) -> None:
        """A pod of it is there, for now."""

    def given(self) -> None:
        """Those that were taken are not: there was no room for all."""

    def blocked(self, arrival: Arrival) -> tuple[Place, ...] | None:
        """That one found no place. What is free for it now in spite of that; else room may be reserved for it."""

    def left(self, arrival: Arrival) -> None:
        """That one waits no more: it starts, or never will."""

    def placed(self, run: Run) -> None:
        """That one starts now, where its pods were taken to be. It has left before."""

    def ended(self, run: Run) -> None:
        """That one has ended."""
