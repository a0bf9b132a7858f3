"""Background tasks: restarts after failures, cancellation, and the trimming of the heap."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
from collections.abc import Awaitable, Callable, Coroutine

from offchain.errors import BadReply, ChainUnreachable, StoreStuck

log = logging.getLogger(__name__)

PAUSE_S = 60.0
RECONNECT_S = 2.0


async def restart_on_failure(work: Callable[[], Awaitable[None]]) -> None:
    """Run until a normal end; a failure is logged and followed by a restart."""
    while True:
        try:
            await work()
        except Exception:
            log.exception("a part of the agent failed; it restarts in a minute")
        else:
            return
        await asyncio.sleep(PAUSE_S)


async def run_unless_cancelled(work: Coroutine[None, None, None], cancelled: asyncio.Event) -> bool:
    """Run `work`, or cancel it when `cancelled` is set. Return whether it was done; its exceptions are raised."""
    running, waiting = asyncio.ensure_future(work), asyncio.ensure_future(cancelled.wait())
    try:
        await asyncio.wait((running, waiting), return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            return False
        running.result()
        return True
    finally:
        for task in (running, waiting):
            task.cancel()
        await asyncio.wait((running, waiting))


def trim_heap() -> None:
    """Return free memory of the C library to the machine; after a start of the agent that is a tenth of it.

    Does nothing without the GNU C library.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


async def keep_reconnecting(work: Callable[[], Awaitable[None]]) -> None:
    """Repeat `work` forever; an unreachable node or a full disk is logged."""
    while True:
        try:
            await work()
        except (ChainUnreachable, BadReply, StoreStuck) as error:
            log.warning("%s Containers keep running; trying again.", error)
        await asyncio.sleep(RECONNECT_S)
