"""What a worker does to the chain: a call under a name for the act, and what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from offchain.adapters.outbox.outbox import CallGivenUp, CallIncluded, CallRejected, Outbox
from offchain.ports import Call, DispatchFailure


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of an act. `refusal` is None where it is done and final; else why the chain did not do it.

    `block`: the final block that says so; None where no block has it. `failure`: the chain's error, if it is one.
    """

    refusal: str | None = None
    block: int | None = None
    failure: DispatchFailure | None = None

    @property
    def done(self) -> bool:
        """Whether it had its effect."""
        return self.refusal is None


class Perform(Protocol):
    """Carries out an act once for its name, across restarts; again where the last try was refused."""

    async def __call__(self, name: str, call: Call) -> Verdict:
        """Returns when the outcome is final."""
        ...


class Performer:
    """Acts through an outbox."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    async def __call__(self, name: str, call: Call) -> Verdict:
        """Store the call, and wait until its outcome is final."""
        key = self._key(name)
        await self._outbox.submit(key, call)
        match await self._outbox.wait(key):
            case CallIncluded(block):
                return Verdict(block=block.number)
            case CallRejected(failure, block):
                return Verdict(f"{failure.pallet}.{failure.name}: {failure.doc}", block.number, failure)
            case CallGivenUp(reason):
                return Verdict(reason)

    def forget(self, name: str) -> None:
        """Let the act be done again although it was done: its effect has been undone since."""
        for tried in range(self._tries(name) + 1):
            self._outbox.forget(f"{name}:{tried}")

    def _key(self, name: str) -> str:
        return f"{name}:{self._tries(name)}"

    def _tries(self, name: str) -> int:
        """How many tries have been refused."""
        tries = 0
        while isinstance(self._outbox.outcome(f"{name}:{tries}"), (CallRejected, CallGivenUp)):
            tries += 1
        return tries


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
