"""An event loop in its own thread, so that work there cannot delay the caller's loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

CANCEL_S = 10.0
"""Time that tasks have to end after they were cancelled."""
log = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")


class LoopThread:
    """A running event loop in another thread, made by :meth:`start`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
        self._loop = loop
        self._thread = thread

    @classmethod
    def start(cls, name: str) -> LoopThread:
        """Start a thread of this name with its loop."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name=name, daemon=True)
        thread.start()
        return cls(loop, thread)

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in that loop and wait for it in this one. Cancelling the wait cancels the coroutine."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def post(self, work: Callable[[], object]) -> None:
        """Call `work` in that loop without waiting; does nothing after :meth:`close`."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(work)

    async def close(self) -> None:
        """Cancel the remaining tasks, then end loop and thread."""
        await self.run(_cancel_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join)
        self._loop.close()


class SameLoop:
    """The interface of :class:`LoopThread` for the caller's own loop."""

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        return await work


def bound_to(
    loop: asyncio.AbstractEventLoop, function: Callable[P, Coroutine[Any, Any, T]]
) -> Callable[P, Awaitable[T]]:
    """Return `function` such that it runs in `loop`, whichever loop calls and awaits it."""

    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        work = function(*args, **kwargs)
        if asyncio.get_running_loop() is loop:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))

    return call


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        _, left = await asyncio.wait(others, timeout=CANCEL_S)
        for task in left:
            log.warning("a task has not ended %g s after it was cancelled: %r", CANCEL_S, task)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(CANCEL_S):
            await asyncio.get_running_loop().shutdown_asyncgens()
