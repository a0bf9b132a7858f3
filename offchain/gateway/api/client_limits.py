"""Limits of the API's clients: requests, streams and connections, by address."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from typing import Final

from aiohttp import web

from offchain.adapters.transport.limits import CpuShare, TokenBucket, network_of

MOST_CONNECTIONS: Final = 4_096
MOST_CONNECTIONS_OF_ADDRESS: Final = 1_024
MOST_STREAMS: Final = 2_048
_MOST_ADDRESSES: Final = 4_096
_FIRST_REQUEST_S: Final = 10.0
"""How long a new connection may take to send its first request."""
_REQUEST_US: Final = 1_000_000.0
_BURST_S: Final = 4.0


def now_s() -> float:
    """Return the time by which rates are measured, in seconds."""
    return time.monotonic()


class ClientLimits:
    """`requests_per_s`: of one address, four times as many at once; `streams`: open ones of one address."""

    def __init__(self, *, requests_per_s: float, streams: int) -> None:
        self._share = CpuShare(requests_per_s * _REQUEST_US, requests_per_s * _REQUEST_US * _BURST_S)
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()
        self._most_streams = streams
        self._streams: Counter[str] = Counter()
        self._connections: Counter[str] = Counter()
        self._silent: set[asyncio.BaseProtocol] = set()
        """Connections that have not sent a request yet."""
        self.refused = {"requests": 0, "streams": 0, "connections": 0}
        """What each limit has refused since the start."""

    def admit(self, request: web.Request) -> bool:
        """Count a request; return whether its address is within its rate."""
        self._silent.discard(request.protocol)
        address = _address(request)
        bucket = self._buckets.pop(address, None) or TokenBucket(self._share)
        self._buckets[address] = bucket
        if len(self._buckets) > _MOST_ADDRESSES:
            self._buckets.popitem(last=False)
        asked_s = now_s()
        if bucket.spend(0, asked_s) > 0:
            self.refused["requests"] += 1
            return False
        bucket.spend(_REQUEST_US, asked_s)
        return True

    @contextlib.contextmanager
    def stream(self, request: web.Request) -> Iterator[bool]:
        """Count a stream while the block lasts; yield whether it is allowed."""
        address = _address(request)
        if self._streams[address] >= self._most_streams or self._streams.total() >= MOST_STREAMS:
            self.refused["streams"] += 1
            yield False
            return
        self._streams[address] += 1
        try:
            yield True
        finally:
            self._streams[address] -= 1
            self._streams += Counter()  # without the addresses that have none

    def protocols(self, runner: web.AppRunner) -> Callable[[], asyncio.Protocol]:
        """Return a factory of protocols that closes connections beyond the limits, and those that send no request."""
        server = runner.server
        assert server is not None  # noqa: S101  (it was set up)
        loop = asyncio.get_running_loop()

        def made(address: str) -> asyncio.Protocol | None:
            of_address = self._connections[address]
            if self._connections.total() >= MOST_CONNECTIONS or of_address >= MOST_CONNECTIONS_OF_ADDRESS:
                self.refused["connections"] += 1
                return None
            self._connections[address] += 1
            handler = server()
            self._silent.add(handler)

            def close_if_silent() -> None:
                if handler in self._silent:
                    self._silent.discard(handler)
                    handler.force_close()
                    if handler.transport is not None:
                        handler.transport.close()

            loop.call_later(_FIRST_REQUEST_S, close_if_silent)
            return handler

        def ended(address: str) -> None:
            self._connections[address] -= 1
            if not self._connections[address]:
                del self._connections[address]

        return lambda: _LimitedConnection(made, ended)


class _LimitedConnection(asyncio.Protocol):
    """A connection whose protocol `made` gives for its address; None: it is closed. `ended` is called after its end."""

    def __init__(self, made: Callable[[str], asyncio.Protocol | None], ended: Callable[[str], None]) -> None:
        self._made = made
        self._ended = ended
        self._handler: asyncio.Protocol | None = None
        self._address = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._address = _peer(transport)
        self._handler = self._made(self._address)
        if self._handler is None:
            transport.close()
        else:
            self._handler.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._handler is not None:
            self._ended(self._address)
            self._handler.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._handler is not None:
            self._handler.data_received(data)

    def eof_received(self) -> bool | None:
        return None if self._handler is None else self._handler.eof_received()

    def pause_writing(self) -> None:
        if self._handler is not None:
            self._handler.pause_writing()

    def resume_writing(self) -> None:
        if self._handler is not None:
            self._handler.resume_writing()


def _peer(transport: asyncio.BaseTransport) -> str:
    name = transport.get_extra_info("peername")
    return network_of(str(name[0])) if name else ""


def _address(request: web.Request) -> str:
    return network_of(request.remote or "")
