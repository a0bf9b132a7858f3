"""Lists as CSV: read in parts and sent as they are read, up to one final block."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from aiohttp import web

from offchain.errors import GantryError
from offchain.gateway.api.answers import as_of
from offchain.gateway.api.index_readers import IndexReaders, ReadersBusy
from offchain.gateway.api.models import BlockReference
from offchain.gateway.api.parameters import CsvListParameters, encode_cursor
from offchain.indexer.database import IndexDatabase
from offchain.indexer.pages import Key, PageRequest
from offchain.services.csv_text import Cell, csv_text

PART_ROWS: Final = 500
MOST_EXPORTS: Final = 4
"""Exports that are sent at the same time."""
_WRITE_S: Final = 30.0
_ASK_AGAIN_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class CsvPart:
    """Rows of a table, and the key of the last one; None if there are no rows."""

    rows: list[list[Cell]]
    last: Key | None


@dataclass(frozen=True, slots=True)
class CsvExport:
    """A list as a table, without the rows of blocks after the given one.

    `read`: the rows of a page. `end`: the key of the last row of a page if more rows follow it.
    """

    header: tuple[str, ...]
    read: Callable[[IndexDatabase, Any, PageRequest, int], CsvPart]
    end: Callable[[IndexDatabase, Any, PageRequest, int], Key | None]


@dataclass(frozen=True, slots=True)
class _Scope:
    """What a table contains: all until block `upto`, or until the row with the key `end`, after which more follow."""

    upto: BlockReference
    end: Key | None


class CsvExports:
    """Sends exports. `admit`: whether the client of a request may make one more read now."""

    def __init__(self, readers: IndexReaders, admit: Callable[[web.Request], bool]) -> None:
        self._readers = readers
        self._admit = admit
        self._running = 0

    async def send(
        self, request: web.Request, export: CsvExport, asked: CsvListParameters, headers: dict[str, str]
    ) -> web.StreamResponse:
        """Send the table. Raises ReadersBusy if too many are being sent, and the errors of the first read."""
        if self._running >= MOST_EXPORTS:
            raise ReadersBusy(f"{MOST_EXPORTS} exports are being sent, which is the limit.", "Try again in a minute.")
        self._running += 1
        try:
            wanted = asked.csv_page()
            scope = await self._readers.read(partial(_scope, export=export, asked=asked, request=wanted))
            if request.method == "HEAD":
                return web.Response(headers=_headers(request, scope), content_type="text/csv", charset="utf-8")
            answer = web.StreamResponse(headers=headers | _headers(request, scope))
            answer.content_type, answer.charset = "text/csv", "utf-8"
            answer.enable_compression()
            await answer.prepare(request)
            try:
                async with contextlib.aclosing(self._pieces(request, export, asked, scope.upto.number)) as pieces:
                    async for piece in pieces:
                        async with asyncio.timeout(_WRITE_S):
                            await answer.write(piece.encode())
                await answer.write_eof()
            except (GantryError, TimeoutError):
                # The status was sent already: the client sees that the answer has no end.
                if request.transport is not None:
                    request.transport.abort()
            return answer
        finally:
            self._running -= 1

    async def _pieces(
        self, request: web.Request, export: CsvExport, asked: CsvListParameters, upto: int
    ) -> AsyncGenerator[str, None]:
        yield csv_text([export.header])
        wanted = asked.csv_page()
        left, after = wanted.limit, wanted.after
        while left > 0:
            asked_rows = PageRequest(min(PART_ROWS, left), after, wanted.newest_first)
            part = await self._readers.read(partial(_part, export=export, asked=asked, request=asked_rows, upto=upto))
            if part.rows:
                yield csv_text(part.rows)
            if len(part.rows) < asked_rows.limit:
                return
            left, after = left - len(part.rows), part.last
            while not self._admit(request):  # noqa: ASYNC110 - the client's share of requests grows with time only
                await asyncio.sleep(_ASK_AGAIN_S)


def _part(
    db: IndexDatabase, *, export: CsvExport, asked: CsvListParameters, request: PageRequest, upto: int
) -> CsvPart:
    return export.read(db, asked, request, upto)


def _scope(db: IndexDatabase, *, export: CsvExport, asked: CsvListParameters, request: PageRequest) -> _Scope:
    upto = as_of(db)
    return _Scope(upto, export.end(db, asked, request, upto.number))


def _headers(request: web.Request, scope: _Scope) -> dict[str, str]:
    name = request.path.strip("/").replace("/", "-")
    upto = scope.upto
    found = {
        "Content-Disposition": f'attachment; filename="{name}-{upto.number}.csv"',
        "Gantry-Block": f"{upto.number} {upto.hash} {upto.time_ms}",
        "Cache-Control": "no-store",
    }
    if scope.end is not None:
        following = request.rel_url.update_query(after=encode_cursor(scope.end), format="csv")
        found["Link"] = f'<{following}>; rel="next"'
    return found
