"""The agent's memory: what it needed for a while goes back to the machine, whose tenants pay for it."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc

EVERY_S = 60.0


def trim_heap() -> None:
    """Have the C library return what is free: it keeps it for later, which at the start of an agent is a tenth of all.

    Nothing where the C library is not the GNU one.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


async def keep_heap_trimmed(_agent: object) -> None:
    """Give back what the start needed, and then now and then, for as long as the agent runs."""
    gc.collect()
    # What is there now stays: later collections need not look through it again.
    gc.freeze()
    while True:
        trim_heap()
        await asyncio.sleep(EVERY_S)
