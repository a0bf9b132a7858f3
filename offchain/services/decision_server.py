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

from offchain.adapters.local_http import listening
from offchain.schema.protocol.decisions import PATH, SchedulingStatus
from offchain.schema.protocol.fields import canonical_json
from offchain.services.decision_reader import DecisionsError, read
from offchain.services.log import EventLog

ReadStanding = Callable[[int], Awaitable[tuple[SchedulingStatus, int | None]]]
"""Returns the standing of a task, and the equal task that was tried in its place."""

_AT_ONCE: Final = 4
"""How many requests are answered at the same time; others wait."""
_MOST_WAITING: Final = 64
"""How many requests may wait; others are rejected."""
_MOST_CONNECTIONS: Final = 128
_NUMBER: Final = re.compile(r"[0-9]{1,18}\Z")


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
        async with listening(app, host, port, "answers", most_connections=_MOST_CONNECTIONS) as bound:
            self._log.info("answers", host=bound[0], port=bound[1])
            yield bound

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
            decisions = await asyncio.to_thread(read, self._folder, task, like)
        except DecisionsError:
            # Where the file is, and what is wrong with it, is the operator's business.
            return _said(503, {"error": "the scheduler's decisions cannot be read now"})
        report = replace(decisions, now=now)
        return _said(404 if report.empty else 200, report.plain())


def _said(status: int, value: dict[str, object]) -> web.Response:
    return web.Response(status=status, body=canonical_json(value), content_type="application/json")
