"""Why a round decided as it did: what each task it placed saw before, and what those that wait lack.

Looking costs about a millisecond for 10,000 hosts, so only the first tasks of a round that ask for different things are
explained in full; of the others it is said where they went, and which explained task asked for the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from offchain.core.fleet.want import Want
from offchain.core.planning.candidates import Seen
from offchain.core.planning.gates import Gate
from offchain.core.planning.once import Waiting, explain
from offchain.core.planning.planner import Blocked, Planner, Round
from offchain.core.values import PodPlacement, Task

MOST_FULL: Final = 8
"""So many tasks of a round that have room are explained in full."""

MOST_LOOKS: Final = 64
"""So many are looked at to find them."""

MOST_SHORT: Final = 10_000
"""Of so many of a round it is told where they went."""

BEST: Final = 5
"""Of each so many of the best hosts are kept."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A task that found its place. `turn`: the how-manieth of the round's `placed` it was, from 1.

    `seen`: what there was before its first pod was placed; None: like `like`, a task of the same round that asked for
    the same and was explained, or not known (both None).
    """

    task: int
    pods: tuple[PodPlacement, ...]
    turn: int
    placed: int
    seen: Seen | None
    like: int | None


class Notes:
    """What is noted of one round after the other. It changes nothing of what is decided."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self.gates: Sequence[Gate] = ()
        """Of the round."""
        self._seen: dict[int, Seen] = {}
        self._first: dict[Want, int] = {}
        self._looks = 0

    def begin(self) -> None:
        """A new round."""
        self._looks = 0
        self._seen, self._first = {}, {}

    def look(self, task: Task, want: Want) -> None:
        """The turn of this task has come."""
        if len(self._seen) >= MOST_FULL or self._looks >= MOST_LOOKS or want in self._first:
            return
        self._looks += 1
        seen = self._planner.look(task, want, self.gates, BEST)
        if seen is not None:
            self._seen[task.id] = seen
            self._first[want] = task.id

    def placed(self, made: Round) -> tuple[Placed, ...]:
        """What the round has placed, the first of it."""
        found: list[Placed] = []
        for turn, (number, pods) in enumerate(itertools.islice(made.placements.items(), MOST_SHORT), start=1):
            seen = self._seen.get(number)
            like = self._first.get(made.placements.want(number)) if seen is None else None
            found.append(Placed(number, pods, turn, len(made.placements), seen, like))
        return tuple(found)

    def waits(self, task: Task, blocked: Blocked) -> Waiting:
        """Why a task that the round has blocked waits, as hosts are now."""
        why = explain(self._planner, blocked)
        # Of a gang some pods found room: then it is not all the others that are kept from it.
        seen = self._planner.look(task, blocked.want, self.gates, 0) if blocked.pods_fitting else None
        return why if seen is None else replace(why, closed=seen.closed)
