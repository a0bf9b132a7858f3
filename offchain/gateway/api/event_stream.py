"""New events for any number of clients: each is read from the index once, and is kept while it is new.

A client has a position, the key of the last event that it was sent or that was skipped for it. While its position is
within the kept events it is served from memory, else from the index; so a slow client delays nobody, and a client may
go on with its position at any gateway whose index has the same chain.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from offchain.errors import GantryError
from offchain.gateway.api.history import chosen_events, event_model
from offchain.gateway.api.index_readers import IndexReaders
from offchain.gateway.api.parameters import EventStreamChoice
from offchain.indexer.database import IndexDatabase
from offchain.indexer.pages import PageRequest, block_times, page, require_kept
from offchain.indexer.rows import EventRow, MentionRow
from offchain.indexer.tables import columns
from offchain.services.log import EventLog

KEPT_EVENTS: Final = 8_192
LOOK_EVERY_S: Final = 0.5
"""Interval of looking for new blocks in the index while there are clients."""
_AT_ONCE: Final = 1_000
_PAGE: Final = 200
_START: Final = (-1, -1)

EventKey = tuple[int, int]
"""Block, and index in it."""


@dataclass(frozen=True, slots=True)
class _KeptEvent:
    key: EventKey
    pallet: str
    name: str
    subjects: frozenset[str]
    text: bytes

    def matches(self, choice: EventStreamChoice) -> bool:
        return (
            (choice.pallet is None or choice.pallet == self.pallet)
            and (choice.name is None or choice.name == self.name)
            and (choice.subject is None or choice.subject in self.subjects)
        )


class EventStream:
    """The stream of one gateway. Run :meth:`follow` as long as it has clients."""

    def __init__(self, readers: IndexReaders, *, kept: int = KEPT_EVENTS, look_every_s: float = LOOK_EVERY_S) -> None:
        self._readers = readers
        self._kept: deque[_KeptEvent] = deque(maxlen=kept)
        self._look_every_s = look_every_s
        self._begin: EventKey | None = None
        """All events after this key are kept; None: it is not known yet."""
        self._end: EventKey = _START
        self._news = asyncio.Event()
        self._log = EventLog("api")
        self._clients = 0
        self._wanted = asyncio.Event()

    @property
    def clients(self) -> int:
        """How many clients receive events now."""
        return self._clients

    async def follow(self) -> None:
        """Read new events while there are clients, without end. What cannot be read now is tried again."""
        while True:
            await self._wanted.wait()
            try:
                while await self._read_more():
                    pass
            except (GantryError, SQLAlchemyError) as error:
                self._log.warning("waiting", reason=str(error))
            await asyncio.sleep(self._look_every_s)

    async def position(self, choice: EventStreamChoice) -> EventKey:
        """Return where a client begins: after the event that it names, else after the last one of the index.

        Raises EventsPruned, and the errors of :meth:`IndexReaders.read`.
        """
        if choice.after is None:
            return await self._readers.read(_last_key)
        block, _, index = choice.after.partition(".")
        named = int(block), int(index)
        await self._readers.read(lambda db: require_kept(db, named[0]))
        return named

    async def events(self, choice: EventStreamChoice, position: EventKey) -> AsyncIterator[bytes]:
        """Yield the chosen events after a position as server-sent events, several at once, without end."""
        self._clients += 1
        self._wanted.set()
        try:
            while True:
                news = self._news
                if self._begin is not None and position >= self._begin:
                    chosen = [one.text for one in self._kept if one.key > position and one.matches(choice)]
                    position = max(position, self._end)
                    if chosen:
                        yield b"".join(chosen)
                    if self._news is news:
                        await news.wait()
                    continue
                rows, position = await self._readers.read(partial(_read, choice=choice, after=position))
                if rows:
                    yield b"".join(rows)
                else:
                    await news.wait()
        finally:
            self._clients -= 1
            if not self._clients:
                self._wanted.clear()

    async def _read_more(self) -> bool:
        """Read the events after the last one; return whether there may be more."""
        if self._begin is None:
            self._end = self._begin = await self._readers.read(_last_key)
            self._announce()
            return False
        found = await self._readers.read(lambda db: _newer(db, self._end))
        if not found:
            return False
        dropped = len(self._kept) + len(found) - (self._kept.maxlen or 0)
        if dropped > 0:
            self._begin = [*self._kept, *found][dropped - 1].key
        self._kept.extend(found)
        self._end = found[-1].key
        self._announce()
        return len(found) == _AT_ONCE

    def _announce(self) -> None:
        announced, self._news = self._news, asyncio.Event()
        announced.set()


def _last_key(db: IndexDatabase) -> EventKey:
    found = page(db, EventRow, PageRequest(1))
    return (found[0].block, found[0].place) if found else _START


def _newer(db: IndexDatabase, after: EventKey) -> list[_KeptEvent]:
    rows = page(db, EventRow, PageRequest(_AT_ONCE, after, newest_first=False))
    if not rows:
        return []
    mention = columns(MentionRow)
    statement = select(mention.block, mention.place, mention.subject).where(
        mention.block >= rows[0].block, mention.block <= rows[-1].block
    )
    subjects: dict[EventKey, set[str]] = {}
    for block, place, subject in db.execute(statement):
        subjects.setdefault((block, place), set()).add(subject)
    return [
        _KeptEvent(
            (row.block, row.place), row.pallet, row.name, frozenset(subjects.get((row.block, row.place), ())), text
        )
        for row, text in zip(rows, _texts(db, rows), strict=True)
    ]


def _read(db: IndexDatabase, *, choice: EventStreamChoice, after: EventKey) -> tuple[list[bytes], EventKey]:
    """Return the next chosen events after a position, and the position after them."""
    request = PageRequest(_PAGE, after, newest_first=False)
    rows = chosen_events(db, choice, request)
    end = (rows[-1].block, rows[-1].place) if len(rows) == _PAGE else max(after, _last_key(db))
    return _texts(db, rows), end


def _texts(db: IndexDatabase, rows: Sequence[EventRow]) -> list[bytes]:
    times = block_times(db, [row.block for row in rows])
    made = [event_model(row, times[row.block]) for row in rows]
    return [f"id: {event.id}\ndata: {event.model_dump_json()}\n\n".encode() for event in made]
