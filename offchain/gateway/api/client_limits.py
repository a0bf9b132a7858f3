"""Limits of the API's clients: requests, streams and connections, by address."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
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
            others = server.connections
            if len(others) >= MOST_CONNECTIONS or _of_address(others, address) >= MOST_CONNECTIONS_OF_ADDRESS:
                self.refused["connections"] += 1
                return None
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

        return lambda: _NewConnection(made)


class _NewConnection(asyncio.Protocol):
    """The protocol of a connection until it is admitted."""

    def __init__(self, made: Callable[[str], asyncio.Protocol | None]) -> None:
        self._made = made

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        handler = self._made(_peer(transport))
        if handler is None or not isinstance(transport, asyncio.Transport):
            transport.close()
            return
        transport.set_protocol(handler)
        handler.connection_made(transport)


def _of_address(connections: Iterable[asyncio.BaseProtocol], address: str) -> int:
    """Return the number of connections of an address."""
    transports = (getattr(one, "transport", None) for one in connections)
    return sum(transport is not None and _peer(transport) == address for transport in transports)


def _peer(transport: asyncio.BaseTransport) -> str:
    name = transport.get_extra_info("peername")
    return network_of(str(name[0])) if name else ""


def _address(request: web.Request) -> str:
    return network_of(request.remote or "")
