"""Checkpoints of an SQLite database: its write-ahead log is copied into the file by a thread, not by a commit."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from typing import Final

CHANGED_ROWS: Final = 20_000
"""After so many changed rows a checkpoint is made. The log has about 20 MB then."""


class BackgroundCheckpoints:
    """Checkpoints of one database file in WAL mode.

    Within a commit of an event loop, a checkpoint of 8,000 pages took 320 ms on a busy disk.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._begun_at = 0
        self._thread: threading.Thread | None = None

    def note_commit(self, total_changes: int) -> None:
        """Start a checkpoint if it is due. `total_changes`: rows that the connection has changed so far."""
        is_running = self._thread is not None and self._thread.is_alive()
        if is_running or total_changes - self._begun_at < CHANGED_ROWS:
            return
        self._begun_at = total_changes
        self._thread = threading.Thread(target=_checkpoint, args=(self._path,), name="checkpoint", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait for the checkpoint in progress."""
        if self._thread is not None:
            self._thread.join()


def _checkpoint(path: str) -> None:
    # What is wrong with the disk is reported by the commits.
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        # The log begins anew only after a checkpoint that lets no commit in; by now little is left to copy.
        connection.execute("PRAGMA wal_checkpoint(RESTART)")
