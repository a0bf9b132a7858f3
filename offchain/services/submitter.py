"""Submission of named calls through the outbox, and their outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, Protocol

from offchain.adapters.outbox.intent_values import CallGivenUp, CallIncluded, CallRejected
from offchain.adapters.outbox.outbox import Outbox
from offchain.ports import Block, Call, DispatchFailure

REMEMBERED_BLOCKS: Final = 10_000
"""How long the outbox of a worker remembers completed calls."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcome of a call. `refusal` is None if it took effect and is final; else why the chain refused it.

    `block`: the final block that shows it; None if no block does. `failure`: the chain's error, if it is one.
    """

    refusal: str | None = None
    block: int | None = None
    failure: DispatchFailure | None = None

    @property
    def done(self) -> bool:
        """Whether the call took effect."""
        return self.refusal is None


class SubmitCall(Protocol):
    """Submits a call once for its name, across restarts; again if the last attempt was refused."""

    async def __call__(self, name: str, call: Call) -> CallOutcome:
        """Return the outcome when it is final."""
        ...

    async def forget(self, name: str) -> None:
        """Allow a call again although it took effect, because it is due again."""
        ...


class Submitter:
    """Submits calls through an outbox."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    async def __call__(self, name: str, call: Call) -> CallOutcome:
        """Store the call, and wait until its outcome is final."""
        was_refused = isinstance(self._outbox.outcome(name), (CallRejected, CallGivenUp))
        await self._outbox.submit(name, call, supersede=was_refused)
        match await self._outbox.wait(name):
            case CallIncluded(block):
                return CallOutcome(block=block.number)
            case CallRejected(failure, block):
                return CallOutcome(f"{failure.pallet}.{failure.name}: {failure.doc}", block.number, failure)
            case CallGivenUp(reason):
                return CallOutcome(reason)

    async def forget(self, name: str) -> None:
        """Allow a call again although it took effect, because it is due again."""
        await self._outbox.forget(name)


class PendingCalls:
    """Calls in progress, as asyncio tasks. An exception in one of them is raised by :meth:`check`."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._tasks: set[asyncio.Task[None]] = set()
        self._fault: BaseException | None = None

    def spawn(self, act: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(act)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def check(self) -> None:
        """Raise the exception of a call that has failed."""
        if self._fault is not None:
            raise self._fault

    async def stop(self) -> None:
        """Cancel all: the outbox continues them at the next start."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def quiet(self) -> None:
        """Wait until none is in progress."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._fault = task.exception()
        self._wake()


async def observe_block(outbox: Outbox, block: Block) -> None:
    """Pass a final block to the outbox of a worker, and forget the calls that completed long before it."""
    await outbox.observe(block)
    outbox.forget_old(block.ref.number, REMEMBERED_BLOCKS)
