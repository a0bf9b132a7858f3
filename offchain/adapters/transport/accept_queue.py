"""Peer connections that wait to be accepted."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from offchain.adapters.transport.port import PeerConnection


class AcceptQueue:
    """Connections in the order in which they were opened. After :meth:`close`, every call of :meth:`next` returns."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[PeerConnection | None] = asyncio.Queue()

    def put(self, connection: PeerConnection) -> None:
        """Add a connection."""
        self._queue.put_nowait(connection)

    async def next(self) -> PeerConnection | None:
        """Wait for a connection, and return it; None: closed."""
        connection = await self._queue.get()
        if connection is None:
            self.close()
        return connection

    def close(self) -> None:
        """Let :meth:`next` return None when the connections before are taken."""
        self._queue.put_nowait(None)

    def empty(self) -> bool:
        return self._queue.empty()
