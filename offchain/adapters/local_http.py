"""HTTP servers of a process for its operator: their address, and bounds on connections."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Final

from offchain.errors import OurError

if TYPE_CHECKING:  # slow to load, and not always wanted
    from aiohttp import web

DEFAULT_HOST: Final = "127.0.0.1"
HEAD_BYTES: Final = 8190
"""Limit of the first line of a request, and of each header."""
_LIFE_S: Final = 10.0
"""The lifetime of a connection; answers take milliseconds."""


class ListenError(OurError):
    """An address at which a server cannot listen."""

    code = "address"


def parse_address(given: str, use: str) -> tuple[str, int]:
    """Return host and port of `IP:PORT`, `[IPV6]:PORT` or a local `PORT`. Raises ListenError, which names the use."""
    host, colon, port = given.rpartition(":")
    host = host.strip("[]") if colon and host else DEFAULT_HOST
    if not re.fullmatch(r"[0-9]{1,5}", port) or not int(port) <= 0xFFFF:
        raise ListenError(f'"{given}" is not an address for {use}.', "Write it like 127.0.0.1:4437.", code="usage")
    return host, int(port)


def http_url(host: str, port: int) -> str:
    """Return the URL of a server at this IP address and port."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextlib.asynccontextmanager
async def listening(
    app: web.Application, host: str, port: int, use: str, *, most_connections: int
) -> AsyncIterator[tuple[str, int]]:
    """Serve `app` at this address, and yield the bound one, which differs if the port is 0.

    Connections beyond the limit are closed at once, the others after 10 s. Raises ListenError, which names the use.
    """
    from aiohttp import web  # noqa: PLC0415  (slow to load, and not always wanted)

    runner = web.AppRunner(app, access_log=None, max_line_size=HEAD_BYTES, max_field_size=HEAD_BYTES)
    await runner.setup()
    try:
        try:
            protocols = _bounded(runner, most_connections)
            server = await asyncio.get_running_loop().create_server(protocols, host, port)
        except OSError as error:
            raise ListenError(
                f"{host}:{port} cannot be used for {use}: {error.strerror or error}.", "Choose another IP:PORT."
            ) from None
        try:
            taken = server.sockets[0].getsockname()
            yield taken[0], taken[1]
        finally:
            server.close()
    finally:
        await runner.cleanup()


class _TurnedAway(asyncio.Protocol):
    """The protocol of a connection beyond the limit: it is closed at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


def _bounded(runner: web.AppRunner, most: int) -> Callable[[], asyncio.Protocol]:
    """Return a factory of protocols that limits the number and the lifetime of connections."""
    server = runner.server
    assert server is not None  # noqa: S101  (it was set up)
    loop = asyncio.get_running_loop()

    def made() -> asyncio.Protocol:
        if len(server.connections) >= most:
            return _TurnedAway()
        handler = server()
        loop.call_later(_LIFE_S, handler.force_close)
        return handler

    return made
