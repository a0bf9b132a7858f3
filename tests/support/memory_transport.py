"""Transport in memory: a :class:`MemoryNetwork` connects its endpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from offchain.adapters.transport.port import Admit, ConnectionLost, HostUnreachable, PeerConnection

HIGH_WATER = 1 << 20
"""Unread bytes of the other end above which a writer waits."""


class MemoryNetwork:
    """Endpoints by address."""

    def __init__(self) -> None:
        self._listeners: dict[str, MemoryTransport] = {}
        self._next_port = 1

    def endpoint(self, key: bytes) -> MemoryTransport:
        """Return a new listening endpoint with this public key."""
        address = f"127.0.0.1:{self._next_port}"
        self._next_port += 1
        transport = MemoryTransport(self, key, address)
        self._listeners[address] = transport
        return transport

    def find(self, address: str) -> MemoryTransport | None:
        return self._listeners.get(address)

    def remove(self, address: str) -> None:
        self._listeners.pop(address, None)


class MemoryConnection:
    """One end of a connection."""

    via = "memory"
    remote_address = "127.0.0.1"

    def __init__(self, remote_key: bytes) -> None:
        self._remote_key = remote_key
        self._incoming = bytearray()
        self._changed = asyncio.Event()
        self._closed = False
        self._peer: MemoryConnection | None = None

    @classmethod
    def pair(cls, dialler_key: bytes, listener_key: bytes) -> tuple[MemoryConnection, MemoryConnection]:
        """The dialler's end and the listener's end."""
        dialler, listener = cls(listener_key), cls(dialler_key)
        dialler._peer, listener._peer = listener, dialler
        return dialler, listener

    @property
    def remote_key(self) -> bytes:
        return self._remote_key

    async def read(self) -> bytes:
        while not self._incoming:
            if self._closed:
                raise ConnectionLost("the connection is closed")
            await self._wait()
        data = bytes(self._incoming)
        self._incoming.clear()
        self._tell()
        return data

    async def write(self, data: bytes) -> None:
        while not self._closed and self._peer is not None and len(self._peer._incoming) >= HIGH_WATER:
            await self._wait()
        if self._closed or self._peer is None:
            raise ConnectionLost("the connection is closed")
        self._peer._incoming += data
        self._tell()
        await asyncio.sleep(0)

    async def wait_closed(self) -> None:
        while not self._closed:
            await self._wait()

    async def close(self) -> None:
        for end in (self, self._peer):
            if end is not None:
                end._closed = True
        self._tell()

    async def _wait(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def _tell(self) -> None:
        for end in (self, self._peer):
            if end is not None:
                end._changed.set()


class MemoryTransport:
    """An endpoint on a :class:`MemoryNetwork`."""

    def __init__(self, network: MemoryNetwork, key: bytes, address: str) -> None:
        self._network = network
        self._key = key
        self._address = address
        self._incoming: asyncio.Queue[MemoryConnection | None] = asyncio.Queue()
        self._connections: list[MemoryConnection] = []

    @property
    def key(self) -> bytes:
        return self._key

    @property
    def addresses(self) -> tuple[str, ...]:
        return (self._address,)

    async def dial(self, key: bytes, addresses: Sequence[str], timeout_s: float) -> PeerConnection:
        """See :class:`offchain.adapters.transport.port.Transport`. The timeout is ignored."""
        del timeout_s
        for address in addresses:
            listener = self._network.find(address)
            if listener is not None and listener.key == key:
                near, far = MemoryConnection.pair(self._key, key)
                self._connections.append(near)
                listener._connections.append(far)
                listener._incoming.put_nowait(far)
                return near
        raise HostUnreachable(f"cannot connect to the host at {', '.join(addresses) or 'no address'}")

    def admit_by(self, admit: Admit) -> None:
        # Connections within one process are not limited.
        del admit

    async def accept(self) -> PeerConnection | None:
        connection = await self._incoming.get()
        if connection is None:
            self._incoming.put_nowait(None)
        return connection

    async def close(self) -> None:
        self._network.remove(self._address)
        for connection in self._connections:
            await connection.close()
        self._incoming.put_nowait(None)
