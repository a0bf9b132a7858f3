"""Transport over secure WebSockets, for networks that block UDP: TLS 1.3 with the host's own key.

The certificate proves the key of the server (`transport.certificate`). The client proves its key inside the connection:
it signs a random number of the server together with the server's key.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from asyncio import sslproto
from collections.abc import Sequence
from typing import Any

import websockets.asyncio.client
import websockets.asyncio.server
from websockets.exceptions import InvalidHandshake, WebSocketException

from offchain.adapters.keys.signer import Ed25519Signer, verify
from offchain.adapters.transport.accept_queue import AcceptQueue
from offchain.adapters.transport.bounded_listener import BoundedListener
from offchain.adapters.transport.certificate import client_context, is_certificate_of, server_context
from offchain.adapters.transport.port import Admit, ConnectionLost, HostUnreachable, PeerConnection
from offchain.schema.protocol.messages import WEBSOCKET

CLIENT_CONTEXT = b"gantry/websocket-client/v1"
MESSAGE_BYTES = 1 << 16
"""Bytes of a message. A few messages wait for their reader, also those of strangers, so they are small."""
MAX_HANDSHAKES = 128
"""Most connections that have not finished TLS, and most that have not proven a key after it."""
HANDSHAKE_S = 10.0
TLS_BUFFER_BYTES = 1 << 16
"""Bytes that asyncio reads at once from a TLS connection. It keeps buffers of this size in each connection, and has no
option for it: with its default, 256 KiB, a connection of a stranger that sends at full rate takes 1 MiB."""
KEEPALIVE_S = 20.0
_NONCE, _KEY, _SIGNATURE = 32, 32, 64

_quiet = logging.getLogger("gantry.websocket")
_quiet.setLevel(logging.CRITICAL)  # broken handshakes of strangers are not worth a log line


class WsConnection:
    """A connection over one WebSocket."""

    via = "websocket"

    def __init__(self, socket: Any, remote_key: bytes) -> None:
        self._socket = socket
        self._remote_key = remote_key
        self._remote_address = str((socket.remote_address or ("",))[0])

    @property
    def remote_key(self) -> bytes:
        return self._remote_key

    @property
    def remote_address(self) -> str:
        return self._remote_address

    async def read(self) -> bytes:
        while True:
            data = await _receive(self._socket)
            if data:
                return data

    async def write(self, data: bytes) -> None:
        try:
            for start in range(0, len(data), MESSAGE_BYTES):
                await self._socket.send(data[start : start + MESSAGE_BYTES])
        except (WebSocketException, OSError) as error:
            raise ConnectionLost(_reason(error)) from None

    async def wait_closed(self) -> None:
        await self._socket.wait_closed()

    async def close(self) -> None:
        self._socket.transport.abort()
        with contextlib.suppress(WebSocketException, OSError):
            await self._socket.wait_closed()


class WsTransport:
    """A WebSocket endpoint, made by :meth:`bind`, or by :meth:`client` where it only dials."""

    def __init__(self, signer: Ed25519Signer) -> None:
        self._signer = signer
        self._server: Any = None
        self._listener: BoundedListener | None = None
        self._ip = ""
        self._ready = AcceptQueue()
        self._handshakes = 0
        self._open: set[WsConnection] = set()

    @classmethod
    def client(cls, seed: bytes) -> WsTransport:
        """Return an endpoint that only dials, with the ed25519 key of this 32-byte seed."""
        return cls(Ed25519Signer(seed))

    @classmethod
    async def bind(cls, seed: bytes, bind: str = "127.0.0.1:0") -> WsTransport:
        """Listen at TCP `ip:port` (port 0: any free one). Raises OSError where the address cannot be had."""
        sslproto.SSLProtocol.max_size = TLS_BUFFER_BYTES
        transport = cls(Ed25519Signer(seed))
        ip, _, port = bind.rpartition(":")
        transport._ip = ip
        try:
            transport._listener = BoundedListener(ip.strip("[]"), int(port), MAX_HANDSHAKES)
            transport._server = await websockets.asyncio.server.serve(
                transport._serve,
                sock=transport._listener,
                ssl_handshake_timeout=HANDSHAKE_S,
                ssl=server_context(transport._signer),
                logger=_quiet,
                compression=None,
                max_size=MESSAGE_BYTES,
                max_queue=2,
                open_timeout=HANDSHAKE_S,
                ping_interval=KEEPALIVE_S,
                ping_timeout=KEEPALIVE_S,
            )
        except OSError as error:
            raise OSError(f"cannot listen on TCP {bind}: {error.strerror}. Choose another --bind address.") from None
        return transport

    @property
    def key(self) -> bytes:
        return self._signer.public_key

    @property
    def port(self) -> int:
        """The TCP port; 0 for an endpoint that only dials."""
        return 0 if self._server is None else int(self._server.sockets[0].getsockname()[1])

    @property
    def addresses(self) -> tuple[str, ...]:
        return (f"{WEBSOCKET}{self._ip}:{self.port}",) if self._server is not None else ()

    async def dial(self, key: bytes, addresses: Sequence[str], timeout_s: float) -> PeerConnection:
        usable = [address for address in addresses if address.startswith(WEBSOCKET)]
        if not usable:
            raise HostUnreachable("the host has no address for websockets")
        problems = []
        try:
            async with asyncio.timeout(timeout_s):
                for address in usable:
                    try:
                        return await self._dial(key, address)
                    except (ConnectionLost, HostUnreachable) as error:
                        problems.append(f"{address}: {error.message}")
        except TimeoutError:
            problems.append(f"no answer within {timeout_s:g} s")
        raise HostUnreachable(f"cannot connect to the host ({'; '.join(problems)})")

    def admit_by(self, admit: Admit) -> None:
        if self._listener is not None:
            self._listener.admit = admit

    async def accept(self) -> PeerConnection | None:
        return await self._ready.next()

    async def close(self) -> None:
        for connection in tuple(self._open):
            await connection.close()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
        self._ready.close()

    async def _dial(self, key: bytes, address: str) -> WsConnection:
        # A proxy of the environment is used for other machines only.
        local = address.removeprefix(WEBSOCKET).startswith(("127.", "[::1]"))
        try:
            socket = await websockets.asyncio.client.connect(
                f"{address}/",
                ssl=client_context(),
                logger=_quiet,
                compression=None,
                max_size=MESSAGE_BYTES,
                max_queue=2,
                open_timeout=None,
                ping_interval=KEEPALIVE_S,
                ping_timeout=KEEPALIVE_S,
                proxy=None if local else True,
            )
        except (WebSocketException, OSError, EOFError) as error:
            raise HostUnreachable(_reason(error)) from None
        connection = WsConnection(socket, key)
        self._open.add(connection)
        try:
            presented = socket.transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
            if not is_certificate_of(key, presented):
                raise HostUnreachable("the server at this address does not have the host's key")  # noqa: TRY301
            nonce = await _receive(socket)
            if len(nonce) != _NONCE:
                raise HostUnreachable("the server at this address does not speak this protocol")  # noqa: TRY301
            await connection.write(self.key + self._signer.sign(_proof(nonce, key)))
        except BaseException:
            self._open.discard(connection)
            await connection.close()
            raise
        return connection

    async def _serve(self, socket: Any) -> None:
        connection = None
        if self._listener is not None:
            # From here on `_handshakes` counts it.
            self._listener.stop_counting(socket.transport.get_extra_info("socket").fileno())
        if self._handshakes < MAX_HANDSHAKES:
            self._handshakes += 1
            try:
                async with asyncio.timeout(HANDSHAKE_S):
                    connection = await self._prove(socket)
            except (TimeoutError, ConnectionLost):
                pass
            finally:
                self._handshakes -= 1
        if connection is None:
            socket.transport.abort()
            return
        self._open.add(connection)
        self._ready.put(connection)
        try:
            await socket.wait_closed()
        finally:
            self._open.discard(connection)

    async def _prove(self, socket: Any) -> WsConnection | None:
        nonce = secrets.token_bytes(_NONCE)
        try:
            await socket.send(nonce)
        except WebSocketException as error:
            raise ConnectionLost(_reason(error)) from None
        said = await _receive(socket)
        key, signature = said[:_KEY], said[_KEY:]
        if len(said) != _KEY + _SIGNATURE or not verify(key, "ed25519", _proof(nonce, self.key), signature):
            return None
        return WsConnection(socket, key)


def _proof(nonce: bytes, server_key: bytes) -> bytes:
    return CLIENT_CONTEXT + nonce + server_key


async def _receive(socket: Any) -> bytes:
    try:
        data = await socket.recv()
    except (WebSocketException, OSError) as error:
        raise ConnectionLost(_reason(error)) from None
    if not isinstance(data, bytes):
        raise ConnectionLost("the other side sent text")
    return data


def _reason(error: Exception) -> str:
    if isinstance(error, InvalidHandshake):
        return "no websocket answers there"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
