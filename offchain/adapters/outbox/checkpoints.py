"""The write-ahead log of an SQLite database: threads copy it into the file and write it to the disk, not commits."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

CHANGED_ROWS: Final = 20_000
"""After so many changed rows a checkpoint is made. The log has about 20 MB then."""

MAX_PASSES: Final = 50
"""Of one checkpoint. A pass copies what was committed during the pass before it."""


class BackgroundCheckpoints:
    """Checkpoints of one database file in WAL mode.

    Within a commit, a checkpoint of 8,000 pages took 320 ms on a busy disk.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._changed_rows = 0
        self._thread: threading.Thread | None = None

    def note_commit(self, changed_rows: int) -> None:
        """Start a checkpoint if it is due. One thread at a time may call this."""
        self._changed_rows += changed_rows
        is_running = self._thread is not None and self._thread.is_alive()
        if is_running or self._changed_rows < CHANGED_ROWS:
            return
        self._changed_rows = 0
        self._thread = threading.Thread(target=_checkpoint, args=(self._path,), name="checkpoint", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait for the checkpoint in progress."""
        if self._thread is not None:
            self._thread.join()


def _checkpoint(path: str) -> None:
    """Copy the whole log into the file, so that the next commit begins it anew. Commits go on meanwhile."""
    # What is wrong with the disk is reported by the commits.
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as connection:
        for _ in range(MAX_PASSES):
            _, in_log, copied = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if copied == in_log:
                return
        # Commits left no gap between them: the last pass lets none in.
        connection.execute("PRAGMA wal_checkpoint(RESTART)")


class LogSync:
    """Writes the log of one database file to the disk, in a thread: the event loop goes on meanwhile."""

    def __init__(self, path: str, commits: Callable[[], int]) -> None:
        """`commits`: returns how many commits this process has made."""
        self._log = Path(f"{path}-wal")
        self._synced = -1
        """The commits that are on the disk; negative: not even those of earlier processes."""
        self._syncing = asyncio.Lock()
        self._commits = commits

    async def sync(self) -> None:
        """Return when all commits so far are on the disk; those who wait share a system call. OSError: they are not."""
        wanted = self._commits()
        async with self._syncing:
            if self._synced < wanted:
                covered = self._commits()
                await asyncio.to_thread(_sync, self._log, with_folder=self._synced < 0)
                self._synced = covered


def _sync(log: Path, *, with_folder: bool) -> None:
    """Write the log to the disk, and with `with_folder` that it exists. Without a log all is in the database file."""
    for path in (log, log.parent) if with_folder else (log,):
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
