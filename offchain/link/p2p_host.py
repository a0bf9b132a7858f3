"""The host's side: checks who asks, then serves results and logs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Protocol

from offchain.link.p2p import (
    Connection,
    HostMisbehaved,
    HostRefused,
    Stream,
    StreamClosed,
    Transport,
    read_frame,
    write_frame,
)
from offchain.schema.wire import (
    END_OF_BODY,
    MAX_FRAME,
    MAX_REQUEST_LIFE_MS,
    Answer,
    Code,
    Op,
    Refusal,
    Request,
    WireError,
)

log = logging.getLogger(__name__)

MAX_NONCES = 65_536
MAX_CONNECTIONS = 256
MAX_STREAMS_PER_CONNECTION = 16
LINGER_S = 30.0
STRANGER_S = 20.0
"""A connection on which nobody has proven within this time to be a tenant is closed: places are few."""

Authorise = Callable[[Request], Awaitable[None]]
"""Raises :class:`HostRefused` unless `request.account` is the tenant of `request.lease` on chain."""
VerifySignature = Callable[[str, str, bytes, bytes], bool]
"""(account, crypto, payload, signature) -> genuine?"""


class Provider(Protocol):
    """Where results and logs come from. Each raises :class:`HostRefused` to say why there is nothing."""

    async def result(self, lease: int) -> bytes:
        """The stored result."""
        ...

    def logs(self, lease: int, *, follow: bool) -> AsyncGenerator[bytes, None]:
        """The log so far in pieces; with `follow` until the pod ends."""
        ...


class NonceCache:
    """Nonces of requests that have not expired yet. Bounded: when full it refuses, since forgetting allows a replay."""

    def __init__(self, capacity: int = MAX_NONCES) -> None:
        self._capacity = capacity
        self._expiry: dict[tuple[str, str], int] = {}

    def seen(self, request: Request) -> bool:
        """Whether this account used this nonce, in a request that could still be replayed."""
        return (request.account, request.nonce) in self._expiry

    def add(self, request: Request, now_ms: int) -> bool:
        """Remember it. False where the cache is full of live nonces."""
        if len(self._expiry) >= self._capacity:
            self._expiry = {key: expiry for key, expiry in self._expiry.items() if expiry >= now_ms}
        if len(self._expiry) >= self._capacity:
            return False
        self._expiry[(request.account, request.nonce)] = request.expires_ms
        return True


class HostServer:
    """Serves a host's peers over one transport until it is closed."""

    def __init__(
        self,
        transport: Transport,
        *,
        genesis_hash: bytes,
        authorise: Authorise,
        provider: Provider,
        verify: VerifySignature,
        now_ms: Callable[[], int],
        stranger_s: float = STRANGER_S,
    ) -> None:
        self._stranger_s = stranger_s
        self._transport = transport
        self._genesis_hash = genesis_hash
        self._authorise = authorise
        self._provider = provider
        self._verify = verify
        self._now_ms = now_ms
        self._nonces = NonceCache()
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections: set[Connection] = set()

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where the host listens."""
        return self._transport.addresses

    async def serve(self) -> None:
        """Accept connections until :meth:`close`."""
        while (connection := await self._transport.accept()) is not None:
            if len(self._connections) >= MAX_CONNECTIONS:
                await connection.close()
                continue
            self._connections.add(connection)
            self._spawn(self._serve_connection(connection))

    async def close(self) -> None:
        """Drop every connection and stop listening."""
        for connection in tuple(self._connections):
            await connection.close()
        await self._transport.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _spawn(self, work: Awaitable[None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _serve_connection(self, connection: Connection) -> None:
        streams: set[asyncio.Task[None]] = set()
        known = asyncio.Event()
        self._spawn(_close_stranger(connection, known, self._stranger_s))
        try:
            while True:
                stream = await connection.accept_stream()
                if len(streams) >= MAX_STREAMS_PER_CONNECTION:
                    await stream.abort()
                    continue
                task = self._spawn(self._serve_stream(stream, known))
                streams.add(task)
                task.add_done_callback(streams.discard)
        except StreamClosed:
            pass
        finally:
            known.set()
            self._connections.discard(connection)
            await connection.close()

    async def _serve_stream(self, stream: Stream, known: asyncio.Event) -> None:
        try:
            while True:
                await self._answer(stream, await read_frame(stream), known)
        except (StreamClosed, HostMisbehaved):
            await stream.abort()
        except Exception:
            # A provider failed in the middle of a body; the peer sees a dropped stream, never a short file.
            log.exception("serving a request failed")
            await stream.abort()

    async def _answer(self, stream: Stream, data: bytes, known: asyncio.Event) -> None:
        try:
            request = await self._admit(data)
            if request.op is not Op.PING:
                known.set()
            if request.op is Op.PING:
                body, size = _chunks(b""), 0
            elif request.op is Op.RESULT:
                result = await self._provider.result(_lease(request))
                body, size = _chunks(result), len(result)
            else:
                body, size = self._provider.logs(_lease(request), follow=request.follow), None
            first = await anext(body, END_OF_BODY)
        except HostRefused as refused:
            await write_frame(stream, refused.refusal.encode())
            return
        # A peer that goes away in the middle must not leave a reader of a running pod's log behind.
        async with contextlib.aclosing(body):
            await write_frame(stream, Answer(request.op, size).encode())
            following = asyncio.ensure_future(_departure(stream)) if request.follow else None
            try:
                while first:
                    for start in range(0, len(first), MAX_FRAME):
                        await write_frame(stream, first[start : start + MAX_FRAME])
                    first = await _next_unless_gone(body, following)
                await write_frame(stream, END_OF_BODY)
                if following is not None:
                    # The stream was read from to see the peer leave, so it cannot carry another request.
                    await asyncio.wait({following}, timeout=LINGER_S)
                    raise StreamClosed("the log was followed to its end")
            finally:
                if following is not None:
                    following.cancel()
                    await asyncio.gather(following, return_exceptions=True)

    async def _admit(self, data: bytes) -> Request:
        try:
            request = Request.decode(data)
        except WireError as error:
            raise _refused(Code.BAD_REQUEST, f"The request is malformed: {error}.", "Use a matching client.") from None
        now_ms = self._now_ms()
        if request.expires_ms <= now_ms:
            late_s = (now_ms - request.expires_ms) / 1000
            raise _refused(
                Code.EXPIRED,
                f"The request expired {late_s:.1f} s ago.",
                "Check your machine's clock and send a new one.",
            )
        if request.expires_ms > now_ms + MAX_REQUEST_LIFE_MS:
            raise _refused(
                Code.EXPIRES_TOO_LATE,
                f"The request is valid for more than {MAX_REQUEST_LIFE_MS // 1000} s.",
                "Check your machine's clock and sign for a shorter time.",
            )
        payload = request.payload(self._genesis_hash, self._transport.key)
        if not self._verify(request.account, request.crypto, payload, request.signature):
            raise _refused(
                Code.BAD_SIGNATURE,
                f"The signature is not one of {request.account} for this host and chain.",
                "Sign with the tenant's key, for the chain and the host key you are dialling.",
            )
        if request.op is Op.PING:
            return request  # anybody may ask, and ask again; it is not kept, for anybody could fill the cache
        if not self._nonces.seen(request):
            await self._authorise(request)
        # No await between these two: of two equal requests at once, one passes.
        if self._nonces.seen(request):
            raise _refused(Code.REPLAYED, "This request was sent before.", "Send one with a new nonce.")
        if not self._nonces.add(request, now_ms):
            raise _refused(Code.BUSY, "The host has too many requests in hand.", "Try again in a minute.")
        return request


async def _departure(stream: Stream) -> None:
    """Ends when the peer drops the stream, or says something where it has nothing to say."""
    with contextlib.suppress(StreamClosed):
        await stream.read_exact(1)


async def _next_unless_gone(body: AsyncGenerator[bytes, None], departure: asyncio.Future[None] | None) -> bytes:
    if departure is None:
        return await anext(body, END_OF_BODY)
    chunk = asyncio.ensure_future(anext(body, END_OF_BODY))
    try:
        either: set[asyncio.Future[Any]] = {chunk, departure}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not chunk.done():
            raise StreamClosed("the peer left")
        return chunk.result()
    finally:
        if not chunk.done():
            chunk.cancel()
            await asyncio.gather(chunk, return_exceptions=True)


async def _close_stranger(connection: Connection, known: asyncio.Event, patience_s: float) -> None:
    try:
        await asyncio.wait_for(known.wait(), patience_s)
    except TimeoutError:
        await connection.close()


def _refused(code: Code, message: str, remedy: str) -> HostRefused:
    return HostRefused(Refusal(code, message, remedy))


def _lease(request: Request) -> int:
    if request.lease is None:
        raise _refused(Code.BAD_REQUEST, "The request names no lease.", "Use a matching client.")
    return request.lease


async def _chunks(data: bytes) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(data), MAX_FRAME):
        yield data[start : start + MAX_FRAME]
