"""A worker's local database: SQLite, one writer, and what was committed survives a power cut."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from offchain.link.errors import StoreCorrupt

_BUSY_MS = 5000


class Store:
    """One database file, or `:memory:`. Each component brings its own tables through :meth:`migrate`.

    Calls do not wait for anything but the disk, so they are made straight from the event loop; a transaction must not
    span an `await`.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        try:
            if self.path != ":memory:":
                Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, isolation_level=None)
            self._db.row_factory = sqlite3.Row
            for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={_BUSY_MS}"):
                self._db.execute(f"PRAGMA {pragma}")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS migrations (component TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT"
            )
        except (sqlite3.Error, OSError) as error:
            raise StoreCorrupt(
                f"The database {self.path} cannot be used: {error}.", "Check the path and its rights, or move it away."
            ) from None

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def migrate(self, component: str, steps: Sequence[str]) -> None:
        """Bring a component's tables to the newest version. `steps[n]` leads from version n to n + 1."""
        row = self.one("SELECT version FROM migrations WHERE component = ?", component)
        version = 0 if row is None else int(row["version"])
        if version > len(steps):
            raise StoreCorrupt(
                f"The database {self.path} is of a newer release ({component} {version}, known: {len(steps)}).",
                "Use that release again.",
            )
        for number, step in enumerate(steps[version:], start=version + 1):
            with self.transaction():
                for statement in step.split(";"):
                    if statement.strip():
                        self._db.execute(statement)
                self._db.execute("INSERT OR REPLACE INTO migrations VALUES (?, ?)", (component, number))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing. Inside another transaction it is part of that one."""
        if self._db.in_transaction:
            yield
            return
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def run(self, statement: str, *values: Any) -> int:
        """Execute a statement; returns how many rows it changed."""
        return self._db.execute(statement, values).rowcount

    def one(self, statement: str, *values: Any) -> sqlite3.Row | None:
        """The first row."""
        row: sqlite3.Row | None = self._db.execute(statement, values).fetchone()
        return row

    def all(self, statement: str, *values: Any) -> list[sqlite3.Row]:
        """All rows."""
        return self._db.execute(statement, values).fetchall()
