"""Work that is done now and then, by a clock that nobody sets."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

log = logging.getLogger(__name__)


async def run_periodically(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    """Do it now, and again so long after each end, for ever. What fails is told, and done again in its turn."""
    while True:
        try:
            await work()
        except Exception:
            log.exception("%s failed; it is done again in %g s", getattr(work, "__name__", "work"), seconds)
        await asyncio.sleep(seconds)
