"""Scheduling cycles in a thread of their own, so that a long cycle does not block the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor

from offchain.core.scheduler import events as ev
from offchain.core.scheduler.state import SchedulerState


class PlanningThread:
    """Passes events to a scheduler state, and runs its cycles in `executor`; None: in the event loop.

    Only one of both uses the state at a time: events that arrive during a cycle are applied after it, in their order.
    """

    def __init__(self, state: SchedulerState, executor: Executor | None) -> None:
        self._state = state
        self._executor = executor
        self._deferred: list[tuple[ev.Event, int]] | None = None
        """Events that arrived during the present cycle; None: no cycle runs."""
        self._ended = asyncio.Condition()

    def handle(self, event: ev.Event, now_ms: int) -> None:
        """Update the state by an event that leads to no commands."""
        if self._deferred is None:
            self._state.handle(event, now_ms)
        else:
            self._deferred.append((event, now_ms))

    async def run_cycle(self, due: ev.CycleDue, now_ms: int) -> Sequence[ev.Command]:
        """Run a cycle and return its commands. Cycles do not overlap: the caller awaits each."""
        if self._executor is None:
            return self._state.handle(due, now_ms)
        self._deferred = []
        # If this is cancelled, the worker ends or makes a new state: no event is applied while the cycle goes on.
        commands = await asyncio.get_running_loop().run_in_executor(self._executor, self._state.handle, due, now_ms)
        deferred, self._deferred = self._deferred, None
        for event, at_ms in deferred:
            self._state.handle(event, at_ms)
        async with self._ended:
            self._ended.notify_all()
        return commands

    async def until_idle(self) -> None:
        """Wait until no cycle runs, so that the state can be read until the next await."""
        async with self._ended:
            await self._ended.wait_for(lambda: self._deferred is None)
