"""HTTP server that explains decisions: `gantry worker scheduler --answers IP:PORT`.

It serves one GET request, which changes nothing. The answers are public: hosts, tasks and placements are on the chain,
and scores follow from it and from the scheduler's account.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from aiohttp import web

from offchain.errors import OurError
from offchain.schema.protocol.decisions import PATH, SchedulingStatus
from offchain.schema.protocol.fields import canonical_json
from offchain.services.decision_reader import DecisionsError, read
from offchain.services.log import EventLog

DEFAULT_HOST: Final = "127.0.0.1"

ReadStanding = Callable[[int], Awaitable[tuple[SchedulingStatus, int | None]]]
"""Returns the standing of a task, and the equal task that was tried in its place."""

_AT_ONCE: Final = 4
"""How many requests are answered at the same time; others wait."""
_MOST_WAITING: Final = 64
"""How many requests may wait; others are rejected."""
_HEAD_BYTES: Final = 8190
_MOST_CONNECTIONS: Final = 128
_LIFE_S: Final = 10.0
"""The lifetime of a connection; answers take milliseconds."""
_NUMBER: Final = re.compile(r"[0-9]{1,18}\Z")


class DecisionServerError(OurError):
    """An address at which the server cannot listen."""

    code = "answers"


def parse_address(given: str, use: str = "answers") -> tuple[str, int]:
    """Return host and port of `IP:PORT`, `[IPV6]:PORT` or a local `PORT`. Raises DecisionServerError, with its use."""
    host, colon, port = given.rpartition(":")
    host = host.strip("[]") if colon and host else DEFAULT_HOST
    if not re.fullmatch(r"[0-9]{1,5}", port) or not int(port) <= 0xFFFF:
        raise DecisionServerError(
            f'"{given}" is not an address for {use}.', "Write it like 127.0.0.1:4437.", code="usage"
        )
    return host, int(port)


class DecisionServer:
    """Serves the decisions that are recorded in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stands: ReadStanding | None = None
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._asking = 0
        self._log = EventLog("answers")

    def ask(self, stands: ReadStanding | None) -> None:
        """Set the source of the present standing of tasks; None while the scheduler waits for its node."""
        self._stands = stands

    @contextlib.asynccontextmanager
    async def listening(self, host: str, port: int) -> AsyncIterator[tuple[str, int]]:
        """Listen at this address, and yield the bound one, which differs if the port is 0."""
        app = web.Application(client_max_size=1)
        app.router.add_get(PATH, self._decisions, allow_head=False)
        runner = web.AppRunner(app, access_log=None, max_line_size=_HEAD_BYTES, max_field_size=_HEAD_BYTES)
        await runner.setup()
        try:
            try:
                server = await asyncio.get_running_loop().create_server(_bounded(runner), host, port)
            except OSError as error:
                raise DecisionServerError(
                    f"{host}:{port} cannot be used for answers: {error.strerror or error}.", "Choose another IP:PORT."
                ) from None
            try:
                taken = server.sockets[0].getsockname()
                self._log.info("answers", host=taken[0], port=taken[1])
                yield taken[0], taken[1]
            finally:
                server.close()
        finally:
            await runner.cleanup()

    async def _decisions(self, request: web.Request) -> web.Response:
        number = request.match_info["task"]
        if not _NUMBER.match(number):
            return _said(404, {"error": "a task's number is digits"})
        if self._asking >= _MOST_WAITING:
            return _said(503, {"error": "too many ask at once"})
        self._asking += 1
        try:
            async with self._places:
                return await self._answer(int(number))
        finally:
            self._asking -= 1

    async def _answer(self, task: int) -> web.Response:
        now, like = (None, None) if self._stands is None else await self._stands(task)
        try:
            told = await asyncio.to_thread(read, self._folder, task, like)
        except DecisionsError:
            # Where the file is, and what is wrong with it, is the operator's business.
            return _said(503, {"error": "the scheduler's decisions cannot be read now"})
        told = replace(told, now=now)
        return _said(404 if told.empty else 200, told.plain())


class _TurnedAway(asyncio.Protocol):
    """The protocol of a connection beyond the limit: it is closed at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


def _bounded(runner: web.AppRunner) -> Callable[[], asyncio.Protocol]:
    """Return a factory of protocols that limits the number and the lifetime of connections."""
    server = runner.server
    assert server is not None  # noqa: S101  (it was set up)
    loop = asyncio.get_running_loop()

    def made() -> asyncio.Protocol:
        if len(server.connections) >= _MOST_CONNECTIONS:
            return _TurnedAway()
        handler = server()
        loop.call_later(_LIFE_S, handler.force_close)
        return handler

    return made


def _said(status: int, value: dict[str, object]) -> web.Response:
    return web.Response(status=status, body=canonical_json(value), content_type="application/json")
