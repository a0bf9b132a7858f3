"""Transport over iroh: QUIC between ed25519 keys, without relay and discovery servers."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import iroh
from iroh import iroh_ffi

from offchain.adapters.background_tasks import BackgroundTasks
from offchain.adapters.transport.accept_queue import AcceptQueue
from offchain.adapters.transport.limits import Admission
from offchain.adapters.transport.linux_network import bridge_addresses, drop_packets_to
from offchain.adapters.transport.port import Admit, ConnectionLost, HostUnreachable, PeerConnection, admit_all
from offchain.schema.protocol.messages import ALPN, WEBSOCKET

LEAST_READ = 1 << 13
MOST_READ = 1 << 20
"""The library allocates the requested size while it waits: little for an idle peer, much for a fast one."""
MAX_HANDSHAKES = 256
"""Most connections that have not opened their stream yet; above it, new ones are refused."""
HANDSHAKE_S = 10.0
CLOSE_S = 0.5
CLOSED_S = 10.0
"""Shortest time between two searches of this process's sockets, which handshakes of strangers cause."""
_ALL_ADDRESSES = ("0.0.0.0", "[::]")  # noqa: S104  (compared with, not bound to)

_patched = False


class IrohConnection:
    """One QUIC connection with its one bidirectional stream."""

    via = "iroh"

    def __init__(self, connection: Any, streams: Any) -> None:
        self._connection = connection
        self._send = streams.send()
        self._recv = streams.recv()
        self._remote_key = bytes(connection.remote_id().to_bytes())
        self._remote_address = next((path.remote_addr for path in connection.paths() if path.is_ip), "")
        self._asked = LEAST_READ

    @property
    def remote_key(self) -> bytes:
        return self._remote_key

    @property
    def remote_address(self) -> str:
        return self._remote_address.rpartition(":")[0].strip("[]")

    async def read(self) -> bytes:
        try:
            data = bytes(await self._recv.read(self._asked))
        except iroh.IrohError as error:
            raise ConnectionLost(_reason(error)) from None
        if not data:
            raise ConnectionLost("the other side ended the connection")
        full = len(data) == self._asked
        self._asked = min(self._asked * 8, MOST_READ) if full else max(self._asked // 2, LEAST_READ)
        return data

    async def write(self, data: bytes) -> None:
        try:
            await self._send.write_all(data)
        except iroh.IrohError as error:
            raise ConnectionLost(_reason(error)) from None

    async def wait_closed(self) -> None:
        with contextlib.suppress(iroh.IrohError):
            await self._connection.closed()

    async def close(self) -> None:
        with contextlib.suppress(iroh.IrohError):
            self._connection.close(0, b"")


class IrohTransport:
    """An iroh endpoint, made by :meth:`bind`."""

    def __init__(self, endpoint: Any, bind_ip: str) -> None:
        self._endpoint = endpoint
        self._bind_ip = bind_ip
        self._key = bytes(endpoint.id().to_bytes())
        self._ready = AcceptQueue()
        self._handshakes: set[asyncio.Task[None]] = set()
        self._guards = BackgroundTasks()
        self._acceptor: asyncio.Task[None] | None = None
        self._closed_until_s = 0.0
        self._admit: Admit = admit_all

    @classmethod
    async def bind(cls, seed: bytes, bind: str = "127.0.0.1:0", *, listen: bool = True) -> IrohTransport:
        """Open an endpoint with the ed25519 key of this 32-byte seed at `ip:port` (port 0: any free one).

        Raises OSError where the address cannot be had.
        """
        patch_buffer_writer()
        options = iroh.EndpointOptions(
            preset=iroh.preset_minimal(),
            bind_addr=bind,
            secret_key=seed,
            alpns=[ALPN] if listen else [],
            relay_mode=iroh.RelayMode.disabled(),
        )
        try:
            endpoint = await iroh.Endpoint.bind(options)
        except iroh.IrohError as error:
            raise OSError(f"cannot listen on UDP {bind}: {_reason(error)}. Choose another --bind address.") from None
        transport = cls(endpoint, bind.rpartition(":")[0])
        if listen:
            transport._close_other_sockets()
            transport._acceptor = asyncio.create_task(transport._accept_all(), name="iroh-accept")
        return transport

    @property
    def key(self) -> bytes:
        return self._key

    @property
    def addresses(self) -> tuple[str, ...]:
        """See :class:`offchain.adapters.transport.port.Transport`. Other ports than that of `bind` are left out."""
        sockets: list[str] = self._endpoint.bound_sockets()
        if self._bind_ip in _ALL_ADDRESSES:
            found = dict.fromkeys(self._endpoint.addr().direct_addresses())
            own = bridge_addresses()
            return tuple(address for address in found if address.rpartition(":")[0] not in own) or tuple(found)
        return tuple(socket for socket in sockets if socket.rpartition(":")[0] == self._bind_ip)

    def _close_other_sockets(self) -> None:
        """Have the kernel drop packets to the UDP ports that iroh opens in addition to that of `bind`.

        For an IPv4 address iroh also opens a port at all IPv6 addresses, and no option prevents that.
        """
        now_s = asyncio.get_running_loop().time()
        if self._bind_ip in _ALL_ADDRESSES or now_s < self._closed_until_s:
            return
        self._closed_until_s = now_s + CLOSED_S
        sockets: list[str] = self._endpoint.bound_sockets()
        drop_packets_to({socket for socket in sockets if socket.rpartition(":")[0] != self._bind_ip})

    async def dial(self, key: bytes, addresses: Sequence[str], timeout_s: float) -> PeerConnection:
        usable = [address for address in addresses if not address.startswith(WEBSOCKET)]
        shown = ", ".join(usable) or "no address"
        if not usable:
            raise HostUnreachable("the host has no address for QUIC")
        try:
            target = iroh.EndpointAddr(iroh.EndpointId.from_bytes(key), None, usable)
            async with asyncio.timeout(timeout_s):
                connection = await self._endpoint.connect(target, ALPN)
                return IrohConnection(connection, await connection.open_bi())
        except TimeoutError:
            raise HostUnreachable(f"no answer from the host at {shown} within {timeout_s:g} s") from None
        except iroh.IrohError as error:
            raise HostUnreachable(f"cannot connect to the host at {shown}: {_reason(error)}") from None

    def admit_by(self, admit: Admit) -> None:
        self._admit = admit

    async def accept(self) -> PeerConnection | None:
        return await self._ready.next()

    async def close(self) -> None:
        # An endpoint that only dials has finished its connections; iroh would wait for peers that do not answer.
        patience_s = None if self._acceptor is not None else CLOSE_S
        with contextlib.suppress(iroh.IrohError, TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._endpoint.close()
        if self._acceptor is not None:
            await self._acceptor
        await asyncio.gather(*self._handshakes)
        await self._guards.close()
        self._ready.close()

    async def _accept_all(self) -> None:
        while True:
            incoming = await self._endpoint.accept_next()
            if incoming is None:
                return
            # After a change of the machine's network iroh may have opened its sockets anew.
            self._close_other_sockets()
            if not await self._is_admitted(incoming):
                continue
            # A slow or broken peer must not delay the next one.
            task = asyncio.create_task(self._handshake(incoming))
            self._handshakes.add(task)
            task.add_done_callback(self._handshakes.discard)

    async def _is_admitted(self, incoming: Any) -> bool:
        """Whether the handshake may begin; else the peer is refused, or must prove that it receives at its address."""
        with contextlib.suppress(iroh.IrohError):
            address = await incoming.remote_addr()
            ip = address.addr.rpartition(":")[0].strip("[]") if address.is_IP() else ""
            decision = self._admit(ip, await incoming.remote_addr_validated())
            if decision is Admission.VALIDATE:
                await incoming.retry()
            elif decision is Admission.REFUSE or len(self._handshakes) >= MAX_HANDSHAKES:
                await incoming.refuse()
            else:
                return True
        return False

    def _guard(self, accept: Callable[[], Awaitable[Any]], connection: Any) -> None:
        """Close a connection whose peer opens another stream: each stream can make this side hold a window of bytes.

        The library has no option that limits the streams of a future connection.
        """

        async def guard() -> None:
            with contextlib.suppress(iroh.IrohError):
                await accept()
                connection.close(1, b"one stream")

        self._guards.run(guard())

    async def _handshake(self, incoming: Any) -> None:
        connection = None
        try:
            async with asyncio.timeout(HANDSHAKE_S):
                connection = await (await incoming.accept()).connect()
                self._guard(connection.accept_uni, connection)
                stream = await connection.accept_bi()
            self._guard(connection.accept_bi, connection)
            self._ready.put(IrohConnection(connection, stream))
        except (iroh.IrohError, TimeoutError):
            if connection is not None:
                with contextlib.suppress(iroh.IrohError):
                    connection.close(0, b"")


def patch_buffer_writer() -> None:
    """Make the library copy buffers with one memmove instead of byte by byte (4.9 MB/s before, over 140 after).

    Does nothing where the internals of a newer release differ: slow is better than wrong.
    """
    global _patched  # noqa: PLW0603  (once per process, the class patched is global too)
    builder = getattr(iroh_ffi, "_UniffiRustBufferBuilder", None)
    if _patched or builder is None or not all(hasattr(builder, name) for name in ("_reserve", "write", "write_i32")):
        return
    fields = dict(getattr(iroh_ffi, "_UniffiRustBuffer")._fields_)  # noqa: B009
    if fields.get("data") is not ctypes.POINTER(ctypes.c_char):
        return

    def write(self: Any, value: bytes) -> None:
        size = len(value)
        if not size:
            return
        with self._reserve(size):
            start = ctypes.cast(self.rbuf.data, ctypes.c_void_p).value
            if start is None:
                raise MemoryError("the iroh buffer has no memory")
            ctypes.memmove(start + self.rbuf.len, bytes(value), size)

    builder.write = write
    _patched = True


def _reason(error: iroh.IrohError) -> str:
    # The library appends a source position of the machine that it was built on.
    return re.sub(r" \(/[^)]*\)", "", str(error.message()).splitlines()[0])
