"""Several transports under one key: who comes by any of them is accepted, and the first that gets through is used."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from offchain.link.p2p import Connection, HostUnreachable, Transport


class Doors:
    """Accepts from all of them, and closes them together."""

    def __init__(self, ways: Sequence[Transport]) -> None:
        self._ways = tuple(ways)
        self._ready: asyncio.Queue[Connection | None] = asyncio.Queue(maxsize=1)
        self._acceptors: list[asyncio.Task[None]] = []
        self._closed = False

    async def accept(self) -> Connection | None:
        """The next connection by any way; None once they are closed."""
        if not self._acceptors and not self._closed:
            self._acceptors = [asyncio.create_task(self._pass_on(way)) for way in self._ways]
        if self._closed:
            return None
        connection = await self._ready.get()
        if connection is None:
            with contextlib.suppress(asyncio.QueueFull):
                self._ready.put_nowait(None)
        return connection

    async def close(self) -> None:
        """Close them in their order. Never raises."""
        self._closed = True
        for task in self._acceptors:
            task.cancel()
        await asyncio.gather(*self._acceptors, return_exceptions=True)
        for way in self._ways:
            await way.close()
        while not self._ready.empty():
            self._ready.get_nowait()
        self._ready.put_nowait(None)

    async def _pass_on(self, way: Transport) -> None:
        while (connection := await way.accept()) is not None:
            await self._ready.put(connection)


async def first_of(attempts: Sequence[asyncio.Future[Connection]]) -> Connection:
    """The first that succeeds; where none does, all reasons."""
    waiting = set(attempts)
    while waiting:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for attempt in attempts:
            if attempt in done and attempt.exception() is None:
                return attempt.result()
    raise HostUnreachable("; ".join(str(attempt.exception()) for attempt in attempts))


async def drop(attempt: asyncio.Future[Connection], chosen: Connection | None) -> None:
    """End an attempt that is not needed any more, and close what it made."""
    attempt.cancel()
    (made,) = await asyncio.gather(attempt, return_exceptions=True)
    if not isinstance(made, BaseException) and made is not chosen:
        await made.close()
