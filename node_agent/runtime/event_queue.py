"""Events of the agent: a queue for times when the disk accepts no writes, and ticks at given times."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import Callable

from node_agent.core import events as ev
from offchain.errors import OurError
from offchain.schema.durations import HOUR_MS

log = logging.getLogger(__name__)
FAR_OFF_MS = HOUR_MS


class EventQueue:
    """Passes events to `take` in order. `trouble`: why they wait; empty if they do not."""

    def __init__(self, take: Callable[[ev.Event], None]) -> None:
        self._take = take
        self._waiting: deque[ev.Event] = deque()
        self.trouble = ""

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, event: ev.Event) -> None:
        """Take one event; if that fails, it waits, and all later ones behind it."""
        if not self._is_queued(event):
            self._waiting.append(event)
        while self._waiting:
            try:
                self._take(self._waiting[0])
            except (OurError, sqlite3.Error) as error:
                self.trouble = str(error)
                log.error("%s Events wait: %d.", error, len(self._waiting))  # noqa: TRY400
                return
            self.trouble = ""
            self._waiting.popleft()

    def _is_queued(self, event: ev.Event) -> bool:
        """Whether an equal event waits already: a host event, or the last event of the same lease."""
        if isinstance(event, ev.HostEvent):
            return event in self._waiting
        if isinstance(event, ev.Recovered):
            return False
        about = ev.lease_number(event)
        of_lease = (
            one for one in reversed(self._waiting) if isinstance(one, ev.PodEvent) and ev.lease_number(one) == about
        )
        return event == next(of_lease, None)


class TickTimers:
    """Emits a tick at each time that was asked for."""

    def __init__(self, emit: Callable[[ev.Event], None], now_ms: Callable[[], int]) -> None:
        self._emit = emit
        self._now_ms = now_ms
        self._timers: set[asyncio.TimerHandle] = set()

    def tick_at(self, at_ms: int) -> None:
        """Emit a tick then; not beyond an hour, because the periodic tick comes before."""
        wait_ms = at_ms - self._now_ms()
        if wait_ms > FAR_OFF_MS:
            return  # A free lease has no end that a timer could represent.

        def tick() -> None:
            self._timers.discard(timer)
            self._emit(ev.Tick())

        timer = asyncio.get_running_loop().call_later(max(0, wait_ms) / 1000, tick)
        self._timers.add(timer)

    def cancel(self) -> None:
        for timer in self._timers:
            timer.cancel()
