"""Several transports with one key: connections of all are accepted, and the first that opens is used (RFC 8305)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Sequence

from offchain.adapters.transport.port import HostUnreachable, PeerConnection, Transport


class MergedListener:
    """Accepts the connections of several transports, and closes them together."""

    def __init__(self, transports: Sequence[Transport]) -> None:
        self._transports = tuple(transports)
        self._ready: asyncio.Queue[PeerConnection | None] = asyncio.Queue(maxsize=1)
        self._acceptors: list[asyncio.Task[None]] = []
        self._closed = False

    async def accept(self) -> PeerConnection | None:
        """The next connection of any transport; None once they are closed."""
        if not self._acceptors and not self._closed:
            self._acceptors = [asyncio.create_task(self._forward(transport)) for transport in self._transports]
        if self._closed:
            return None
        connection = await self._ready.get()
        if connection is None:
            with contextlib.suppress(asyncio.QueueFull):
                self._ready.put_nowait(None)
        return connection

    async def close(self) -> None:
        """Close the transports in their order. Never raises."""
        self._closed = True
        for task in self._acceptors:
            task.cancel()
        await asyncio.gather(*self._acceptors, return_exceptions=True)
        for transport in self._transports:
            await transport.close()
        while not self._ready.empty():
            self._ready.get_nowait()
        self._ready.put_nowait(None)

    async def _forward(self, transport: Transport) -> None:
        while (connection := await transport.accept()) is not None:
            await self._ready.put(connection)


async def dial_with_head_start(
    attempt: Awaitable[PeerConnection], other: Callable[[], Awaitable[PeerConnection]], head_start_s: float
) -> PeerConnection:
    """Return the first connection that opens; `other` is called once `attempt` has failed or had its head start."""
    attempts = [asyncio.ensure_future(attempt)]
    try:
        await asyncio.wait(attempts, timeout=head_start_s)
        if not attempts[0].done() or attempts[0].exception() is not None:
            attempts.append(asyncio.ensure_future(other()))
    except asyncio.CancelledError:
        await _drop_all(attempts, None)
        raise
    return await first_connected(attempts)


async def first_connected(attempts: Iterable[Awaitable[PeerConnection]]) -> PeerConnection:
    """Return the first connection that opens, and end the other attempts. HostUnreachable has the reasons of all."""
    running = [asyncio.ensure_future(attempt) for attempt in attempts]
    waiting = set(running)
    chosen: PeerConnection | None = None
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
            # The caller is gone.
            if chosen is not None:
                await chosen.close()
            raise


async def _drop_all(attempts: Iterable[asyncio.Future[PeerConnection]], chosen: PeerConnection | None) -> None:
    """End the attempts that are not needed any more, and close the connections that they opened."""
    for attempt in attempts:
        attempt.cancel()
        (made,) = await asyncio.gather(attempt, return_exceptions=True)
        if not isinstance(made, BaseException) and made is not chosen:
            await made.close()
