"""Work that nobody waits for, and that ends with the agent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

log = logging.getLogger(__name__)

PAUSE_S = 60.0


class BackgroundTasks:
    """Keeps hold of tasks until they are done, for the event loop alone would not."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin this; returns at once."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Cancel what is left."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def restart_on_failure(work: Callable[[], Awaitable[None]]) -> None:
    """Do this until it ends well; what fails in it is told, and ends nothing else."""
    while True:
        try:
            await work()
        except Exception:
            log.exception("a part of the agent failed; it starts again in a minute")
        else:
            return
        await asyncio.sleep(PAUSE_S)


async def run_unless_cancelled(work: Coroutine[None, None, None], given_up: asyncio.Event) -> bool:
    """Wait for the work, or cancel it when it is given up. Whether it was done; raises what it raises."""
    doing, waiting = asyncio.ensure_future(work), asyncio.ensure_future(given_up.wait())
    try:
        await asyncio.wait((doing, waiting), return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            return False
        doing.result()
        return True
    finally:
        for task in (doing, waiting):
            task.cancel()
        await asyncio.wait((doing, waiting))
