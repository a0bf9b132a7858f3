"""Threads that read the index for the API, each with a connection of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from offchain.errors import OurError
from offchain.indexer.database import IndexDatabase
from offchain.indexer.queries import open_for_reading
from offchain.indexer.status import unusable

T = TypeVar("T")

READ_LIMIT_S: Final = 2.0
THREADS: Final = 2
MOST_WAITING: Final = 256
"""How many reads may be running or waiting."""


class ReadersBusy(OurError):  # noqa: N818
    """Too many reads wait."""

    code = "busy"


class IndexReaders:
    """Reads the index at an address; it need not exist yet. Use :meth:`close` at the end."""

    def __init__(self, address: str, *, threads: int = THREADS, read_limit_s: float = READ_LIMIT_S) -> None:
        self._address = address
        self._read_limit_s = read_limit_s
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="index-reader")
        self._own = threading.local()
        self._opened: list[IndexDatabase] = []
        self._asked = 0

    async def read(self, ask: Callable[[IndexDatabase], T]) -> T:
        """Call `ask` in a thread, within one snapshot of the index, and return its result.

        Raises what `ask` raises; IndexFault where the index cannot be read now; StoreStuck where the database is away;
        ReadTooLong; and ReadersBusy.
        """
        if self._asked >= MOST_WAITING:
            raise ReadersBusy(f"{MOST_WAITING} reads wait, which is the limit.", "Try again in a few seconds.")
        self._asked += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, self._read, ask)
        finally:
            self._asked -= 1

    def close(self) -> None:
        """Wait for the reads that run, and close all connections."""
        self._pool.shutdown(cancel_futures=True)
        for db in self._opened:
            db.close()

    def _read(self, ask: Callable[[IndexDatabase], T]) -> T:
        db: IndexDatabase | None = getattr(self._own, "db", None)
        if db is None:
            db = self._own.db = open_for_reading(self._address, self._read_limit_s)
            self._opened.append(db)
        with db.snapshot():
            if (fault := unusable(db)) is not None:
                raise fault
            return ask(db)
