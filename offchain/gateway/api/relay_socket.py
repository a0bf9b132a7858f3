"""The relay for pages: connections to the gateway over a WebSocket of the HTTP API.

A page cannot open QUIC, nor a WebSocket whose certificate is made from the gateway's own key. It reaches the API
through the TLS of the web server, and both sides prove their ed25519 keys inside, each by a signature of a random
number of the other. What a page sends to a host through the relay is encrypted for the host.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Collection, Sequence
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from aiohttp import WSMsgType, web

from offchain.adapters.keys.signer import Ed25519Signer, verify
from offchain.adapters.transport.accept_queue import AcceptQueue
from offchain.adapters.transport.happy_eyeballs import MergedListener
from offchain.adapters.transport.limits import Admission
from offchain.adapters.transport.port import (
    Admit,
    ConnectionLost,
    HostUnreachable,
    PeerConnection,
    Transport,
    admit_all,
)
from offchain.adapters.transport.websocket import MESSAGE_BYTES
from offchain.gateway.api import problems

RELAY_PATH: Final = "/v1/relay"
CLIENT_CONTEXT: Final = b"gantry/relay-client/v1"
SERVER_CONTEXT: Final = b"gantry/relay-server/v1"
NONCE: Final = 32
HANDSHAKE_S: Final = 10.0
MAX_HANDSHAKES: Final = 128
"""Most connections whose client has not proven its key."""
KEEPALIVE_S: Final = 20.0
_KEY, _SIGNATURE = 32, 64
_CLOSED_S: Final = 0.5
"""How often a connection that is not read is checked: aiohttp does not announce its end."""


class RelayConnection:
    """The gateway's end of a page's WebSocket."""

    via = "relay"

    def __init__(self, socket: web.WebSocketResponse, request: web.Request, remote_key: bytes) -> None:
        self._socket = socket
        self._transport = request.transport
        self._remote_key = remote_key
        self._remote_address = request.remote or ""
        self._over = asyncio.Event()

    @property
    def remote_key(self) -> bytes:
        return self._remote_key

    @property
    def remote_address(self) -> str:
        return self._remote_address

    async def read(self) -> bytes:
        try:
            while True:
                data = await _receive(self._socket)
                if data:
                    return data
        except ConnectionLost:
            self._over.set()
            raise

    async def write(self, data: bytes) -> None:
        try:
            for start in range(0, len(data), MESSAGE_BYTES):
                await self._socket.send_bytes(data[start : start + MESSAGE_BYTES])
        except (OSError, RuntimeError) as error:
            self._over.set()
            raise ConnectionLost(str(error) or type(error).__name__) from None

    async def wait_closed(self) -> None:
        while not self._over.is_set() and self._transport is not None and not self._transport.is_closing():
            try:
                async with asyncio.timeout(_CLOSED_S):
                    await self._over.wait()
            except TimeoutError:
                continue

    async def close(self) -> None:
        self._over.set()
        if isinstance(self._transport, asyncio.Transport):
            self._transport.abort()


class RelaySockets:
    """Accepts the WebSockets of an API, as a transport that dials nothing.

    `origins`: of pages that may open one, beside those of the gateway's own host name.
    """

    addresses: tuple[str, ...] = ()

    def __init__(self, seed: bytes, origins: Collection[str] = ()) -> None:
        self._signer = Ed25519Signer(seed)
        self._origins = frozenset(origins)
        self._admit: Admit = admit_all
        self._ready = AcceptQueue()
        self._open: set[RelayConnection] = set()
        self._handshakes = 0
        self._closed = False

    @property
    def key(self) -> bytes:
        return self._signer.public_key

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Serve a request for a WebSocket until the connection is over."""
        if (refused := self._refusal(request)) is not None:
            return refused
        socket = web.WebSocketResponse(max_msg_size=MESSAGE_BYTES + 1, heartbeat=KEEPALIVE_S, compress=False)
        if not socket.can_prepare(request):
            return problems.problem(
                HTTPStatus.UPGRADE_REQUIRED, "no_websocket", "This resource is a WebSocket.", "Open it as one."
            )
        self._handshakes += 1
        try:
            async with asyncio.timeout(HANDSHAKE_S):
                await socket.prepare(request)
                key = await self._prove(socket)
        except (TimeoutError, ConnectionLost, OSError, RuntimeError):
            key = None
        finally:
            self._handshakes -= 1
        if key is None or self._closed:
            if request.transport is not None:
                request.transport.abort()
            return socket
        connection = RelayConnection(socket, request, key)
        self._open.add(connection)
        self._ready.put(connection)
        try:
            await connection.wait_closed()
        finally:
            self._open.discard(connection)
            await connection.close()
        return socket

    def admit_by(self, admit: Admit) -> None:
        self._admit = admit

    async def dial(self, key: bytes, addresses: Sequence[str], timeout_s: float) -> PeerConnection:
        del key, addresses, timeout_s
        raise HostUnreachable("the relay for pages dials nobody")

    async def accept(self) -> PeerConnection | None:
        return await self._ready.next()

    async def close(self) -> None:
        self._closed = True
        for connection in tuple(self._open):
            await connection.close()
        self._ready.close()

    def _refusal(self, request: web.Request) -> web.Response | None:
        # A browser asks no server before it opens a WebSocket, so the origin is checked here. Programs send none.
        origin = request.headers.get("Origin")
        if origin is not None and origin not in self._origins and _place(origin) != request.host:
            return problems.problem(
                HTTPStatus.FORBIDDEN,
                "wrong_origin",
                f"Pages of {origin[:200]} may not use this relay.",
                "The gateway's operator names origins: --http-origin.",
            )
        is_full = self._closed or self._handshakes >= MAX_HANDSHAKES
        if is_full or self._admit(request.remote or "", True) is not Admission.ACCEPT:  # noqa: FBT003  (a callback)
            return problems.problem(
                HTTPStatus.TOO_MANY_REQUESTS,
                "too_many_requests",
                "Too many connections to the relay are opened, from this address or from all.",
                "Try again in a minute.",
            )
        return None

    async def _prove(self, socket: web.WebSocketResponse) -> bytes | None:
        """Return the key that the client has proven, after proving the own one; None if it has proven none."""
        nonce = secrets.token_bytes(NONCE)
        await socket.send_bytes(nonce)
        said = await _receive(socket)
        key, signature, challenge = said[:_KEY], said[_KEY : _KEY + _SIGNATURE], said[_KEY + _SIGNATURE :]
        if len(challenge) != NONCE or not verify(key, "ed25519", client_proof(nonce, self.key), signature):
            return None
        await socket.send_bytes(self._signer.sign(server_proof(challenge, key)))
        return key


class JoinedTransport:
    """A gateway's own transport, which also accepts the connections of its relay for pages."""

    def __init__(self, base: Transport, relay: RelaySockets) -> None:
        self._base = base
        self._relay = relay
        self._listener = MergedListener((relay, base))

    @property
    def key(self) -> bytes:
        return self._base.key

    @property
    def addresses(self) -> tuple[str, ...]:
        return self._base.addresses

    async def dial(self, key: bytes, addresses: Sequence[str], timeout_s: float) -> PeerConnection:
        return await self._base.dial(key, addresses, timeout_s)

    def admit_by(self, admit: Admit) -> None:
        self._relay.admit_by(admit)
        self._base.admit_by(admit)

    async def accept(self) -> PeerConnection | None:
        return await self._listener.accept()

    async def close(self) -> None:
        await self._listener.close()


def client_proof(nonce: bytes, server_key: bytes) -> bytes:
    """Return what a client signs: the server's random number, for the server with this key."""
    return CLIENT_CONTEXT + nonce + server_key


def server_proof(nonce: bytes, client_key: bytes) -> bytes:
    """Return what a server signs: the client's random number, for the client with this key."""
    return SERVER_CONTEXT + nonce + client_key


def _place(origin: str) -> str:
    """Return the host and port of an origin; empty if it has none."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


async def _receive(socket: web.WebSocketResponse) -> bytes:
    try:
        message = await socket.receive()
    except (OSError, RuntimeError) as error:
        raise ConnectionLost(str(error) or type(error).__name__) from None
    if message.type is not WSMsgType.BINARY:
        raise ConnectionLost(
            "the other side sent text" if message.type is WSMsgType.TEXT else "the other side ended the connection"
        )
    data: bytes = message.data
    return data
