"""Several transports under one key: who comes by any of them is accepted, and the first that gets through is used."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Sequence

from offchain.adapters.transport.port import Connection, HostUnreachable, Transport


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


async def first_open(
    attempt: Awaitable[Connection], other: Callable[[], Awaitable[Connection]], head_start_s: float
) -> Connection:
    """Whichever is open first, the other way not tried before the first has had its head start, or has failed."""
    attempts = [asyncio.ensure_future(attempt)]
    try:
        await asyncio.wait(attempts, timeout=head_start_s)
        if not attempts[0].done() or attempts[0].exception() is not None:
            attempts.append(asyncio.ensure_future(other()))
    except asyncio.CancelledError:
        await _drop_all(attempts, None)
        raise
    return await first_of(attempts)


async def first_of(attempts: Iterable[Awaitable[Connection]]) -> Connection:
    """The first that succeeds, the others ended; where none does, all reasons."""
    running = [asyncio.ensure_future(attempt) for attempt in attempts]
    waiting = set(running)
    chosen: Connection | None = None
    try:
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for attempt in running:
                if attempt in done and attempt.exception() is None:
                    chosen = attempt.result()
                    return chosen
        raise HostUnreachable("; ".join(str(attempt.exception()) for attempt in running))
    finally:
        try:
            await _drop_all(running, chosen)
        except asyncio.CancelledError:
            # Nobody gets it any more.
            if chosen is not None:
                await chosen.close()
            raise


async def _drop_all(attempts: Iterable[asyncio.Future[Connection]], chosen: Connection | None) -> None:
    """End the attempts that are not needed any more, and close what they made."""
    for attempt in attempts:
        attempt.cancel()
        (made,) = await asyncio.gather(attempt, return_exceptions=True)
        if not isinstance(made, BaseException) and made is not chosen:
            await made.close()
