"""Local SQLite database of a worker or agent. Its event loop reads; a thread of its own writes."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from offchain.adapters.keys.secret_file import make_private
from offchain.adapters.outbox.checkpoints import BackgroundCheckpoints, LogSync
from offchain.adapters.outbox.connection import StoreConnection, unusable
from offchain.errors import StoreCorrupt, StoreStuck

T = TypeVar("T")
IN_MEMORY = ":memory:"


class Store(StoreConnection):
    """One database file, or `:memory:`. Each component creates its own tables through :meth:`migrate`.

    The store is itself the connection of the thread that makes it, which is that of the event loop. A transaction on it
    holds the event loop up while the disk is slow, so what changes often is changed with :meth:`write`, in a thread
    with the connection :attr:`writer`. The event loop sees the committed state only. A transaction must not span an
    `await`.

    Commits survive the end of the process, and a power cut. With `defers_sync` they survive that after :meth:`flush`
    only, and do not wait for the disk: what is left after a power cut is the state after one of the commits since then.
    """

    def __init__(self, path: Path | str, *, defers_sync: bool = False) -> None:
        is_file = str(path) != IN_MEMORY
        defers_sync &= is_file
        self._commits = 0
        self._checkpoints = BackgroundCheckpoints(str(path))
        self._log_sync = LogSync(str(path), lambda: self._commits) if defers_sync else None
        writing = threading.RLock()
        super().__init__(str(path), defers_sync=defers_sync, writing=writing, note_commit=self._count_commit)
        try:
            if is_file:
                Path(self.path).parent.mkdir(parents=True, exist_ok=True)
                # SQLite gives its other files the rights of this one.
                make_private(Path(self.path))
            self.open()
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS migrations (component TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT"
            )
        except (sqlite3.Error, OSError) as error:
            raise unusable(self.path, error) from None
        # A database in memory has one connection. Its changes are made in the event loop, in their order as well.
        self._thread = ThreadPoolExecutor(1, "store-writer") if is_file else None
        self._writer_is_open = not is_file
        self.writer: StoreConnection = self
        """The connection that :meth:`write` uses."""
        if is_file:
            self.writer = StoreConnection(
                self.path, defers_sync=defers_sync, writing=writing, note_commit=self._count_commit
            )

    def close(self) -> None:
        """Close the database when the changes that were begun are made."""
        if self._thread is not None:
            self._thread.submit(self._close_writer)
            self._thread.shutdown()
        self._checkpoints.wait()
        super().close()

    def _close_writer(self) -> None:
        if self._writer_is_open:
            self.writer.close()

    def _count_commit(self, changed_rows: int) -> None:
        self._commits += 1
        self._checkpoints.note_commit(changed_rows)

    async def write(self, change: Callable[[], T], then: Callable[[T], None] | None = None) -> T:
        """Run `change` in a transaction in the writer's thread; return what it returns, once that is committed.

        `change` uses the connection :attr:`writer` only. What it raises is raised here, and nothing is written then.
        Changes are made in the order of the calls, one at a time. A change that was begun is finished: where the caller
        is cancelled, the cancellation is raised after the end of the change. `then` is called in the event loop after
        the commit, also in that case.
        """
        made = self.begin_write(change, then)
        try:
            return await asyncio.shield(made)
        except asyncio.CancelledError:
            while not made.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([made])
            made.exception()  # nobody else looks at it
            raise

    def begin_write(self, change: Callable[[], T], then: Callable[[T], None] | None = None) -> asyncio.Future[T]:
        """As :meth:`write`, without waiting. The future must not be cancelled."""
        made = self._run_in_thread(lambda: self._write(change))
        if then is not None:
            made.add_done_callback(lambda done: None if done.exception() else then(done.result()))
        return made

    def _run_in_thread(self, work: Callable[[], T]) -> asyncio.Future[T]:
        loop = asyncio.get_running_loop()
        if self._thread is not None:
            return loop.run_in_executor(self._thread, work)
        done: asyncio.Future[T] = loop.create_future()
        loop.call_soon(_settle, done, work)
        return done

    async def version_of_others(self) -> int:
        """A number that changes whenever another connection than :attr:`writer` has changed the file."""
        return await self._run_in_thread(self._read_version)

    def _read_version(self) -> int:
        self._open_writer()
        return self.writer.version

    def _write(self, change: Callable[[], T]) -> T:
        self._open_writer()
        with self.writer.transaction():
            return change()

    def _open_writer(self) -> None:
        if not self._writer_is_open:
            self.writer.open()
            self._writer_is_open = True

    async def flush(self) -> None:
        """Return when everything that was committed so far survives a power cut. The event loop goes on meanwhile.

        StoreStuck: the disk failed.
        """
        if self._log_sync is None:
            return
        try:
            await self._log_sync.sync()
        except OSError as error:
            raise StoreStuck(
                f"The database {self.path} cannot be written: {error.strerror}.",
                "See to the disk; the work goes on by itself then.",
                code="disk_full",
            ) from None

    def migrate(self, component: str, steps: Sequence[str]) -> None:
        """Migrate the tables of a component to the newest version. `steps[n]` leads from version n to n + 1."""
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
                        self._execute(statement)
                self._execute("INSERT OR REPLACE INTO migrations VALUES (?, ?)", (component, number))


def _settle(done: asyncio.Future[T], work: Callable[[], T]) -> None:
    if done.cancelled():
        return
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001 - raised where the work was requested
        done.set_exception(error)
    else:
        done.set_result(result)
