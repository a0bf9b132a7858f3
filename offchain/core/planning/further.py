"""More rounds in one moment of chain time: who is to be looked at again, and whether that is enough.

As long as nothing has changed but tasks, and room has come only where some have ended, whoever found no place finds one
now only there. So such a round looks at those who are new, and of the others at those who may fit there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from offchain.core.planning.groups import Groups
from offchain.core.planning.keeper import Keeper
from offchain.core.planning.planner import Blocked, Planner
from offchain.core.scheduler.fair_share import FairShareQueue

_MANY: Final = 128
"""Hosts that have got room: where more have, to look at everybody again is less work than to ask who may fit."""


class Further:
    """Of one scheduler: it shares all of this with it."""

    def __init__(self, planner: Planner, keeper: Keeper, turn: FairShareQueue, groups: Groups) -> None:
        self._planner = planner
        self._keeper = keeper
        self._turn = turn
        self._groups = groups
        self._moment_ms: int | None = None
        """Of the last round, while nothing has changed since but tasks."""
        self.went_on = False
        """Whether more rounds came in that moment."""
        self.grown: set[int] = set()
        """The rows of hosts that have got room since the last round."""

    def changed(self) -> None:
        """Something has, other than tasks: the next round looks at everybody."""
        self._moment_ms = None

    def goes_on(self, now_ms: int) -> bool:
        """Whether the last round goes on. Then those are woken who may fit by now.

        What is reserved stays as it is until the next moment, unless there is room now on a host that it is on, or for
        one of several pods.
        """
        self.grown |= self._planner.grown()
        if self._moment_ms != now_ms or len(self.grown) > _MANY:
            return False
        asleep = self._groups.asleep
        asleep.wake(self.grown, self._planner.fleet.cluster)
        for number, one in self._keeper.kept.items():
            gang = len(one.places) > 1 and asleep.is_woken(self._turn.class_of(number))
            if gang or any(place.host in self.grown for place in one.places):
                return False
        return True

    def begin(self) -> None:
        """The last round goes on."""
        self.went_on = True
        self._turn.unblock(self._groups.asleep.woken())

    def begin_anew(self) -> None:
        """A round looks at everybody."""
        self.went_on = False
        self.grown.clear()
        self._groups.asleep.all_asleep()

    def with_reservation(self) -> list[int]:
        """The tasks with a reservation that are to be looked at."""
        woken = self._groups.asleep.is_woken
        return [number for number in self._keeper.kept if woken(self._turn.class_of(number))]

    def placed(self) -> None:
        """Room has gone: of those who were woken, fewer may fit."""
        if not self.went_on:
            return
        self._turn.block(self._groups.asleep.fall_asleep(self.grown, self._planner.fleet.cluster))

    def end(self, blocked: Iterable[Blocked]) -> None:
        """The round is over, and these found no place."""
        for one in blocked:
            self._groups.asleep.put(self._turn.class_of(one.task), one, self._planner.fleet.cluster)
        self._groups.asleep.all_asleep()
        self.grown.clear()

    def end_anew(self, now_ms: int | None, blocked: Iterable[Blocked]) -> None:
        """The same for a round that looked at everybody. None: it was not as others in this moment will be."""
        self._moment_ms = now_ms
        self._groups.asleep.clear()
        self.end(blocked)
