"""What a worker does to the chain: a call under a key that names the act, and what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from offchain.link.ports import Call


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of an act. `refusal` is None where it is done and final; else why the chain did not do it."""

    refusal: str | None = None

    @property
    def done(self) -> bool:
        """Whether it had its effect."""
        return self.refusal is None


class Perform(Protocol):
    """Carries out a call once for its key, however often it is asked, and across restarts."""

    async def __call__(self, key: str, call: Call) -> Verdict:
        """Returns when the outcome is final."""
        ...


class Running:
    """Acts under way, as tasks of their own. A fault in one of them is raised by :meth:`check`, never lost."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._tasks: set[asyncio.Task[None]] = set()
        self._fault: BaseException | None = None

    def spawn(self, act: Coroutine[Any, Any, None]) -> None:
        """Start one."""
        task = asyncio.create_task(act)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def check(self) -> None:
        """Raise what went wrong in an act."""
        if self._fault is not None:
            raise self._fault

    async def stop(self) -> None:
        """Let go of all: the outbox goes on with them at the next start."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def quiet(self) -> None:
        """Wait until none is under way."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._fault = task.exception()
        self._wake()
