"""Logs of ended containers: the end of each run's log, on disk."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from node_agent.core.states import Pod
from node_agent.drivers.port import MAX_LOG_BYTES, MAX_LOG_LINES, Driver, DriverError, PodGone
from node_agent.logs.lines import MAX_LINE_BYTES, LineSplitter, merge_logs, with_service
from offchain.schema import terminal_escaping

_CUT = b"[the log was longer; its beginning was not kept]\n"
_PIECE = 1 << 18
MOST_BYTES = 2 << 30
"""Limit for all logs together; above it the oldest are removed."""
MOST_NOTES_BYTES = 1 << 16
"""Limit for the agent's notes in one log; further notes are dropped."""


@dataclass(frozen=True, slots=True)
class LogKey:
    """Key of a pod's log. A lease number is reused when a block is reverted; its creation time is not."""

    lease: int
    created_at_ms: int

    @property
    def stem(self) -> str:
        """First part of the file name."""
        return f"{self.lease}-{self.created_at_ms}"


class LogStore:
    """Logs in one folder."""

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self._folder = folder
        self._most_bytes = most_bytes

    async def save(
        self, key: LogKey, container: int, start: int, chunks: AsyncGenerator[bytes, None] | None, note: str = ""
    ) -> None:
        """Store the end of the log of one start of a container, by its index in the pod.

        A stored log is not changed. `note` is its last line. `chunks` is None if the container does not exist.
        """
        target = self._folder / f"{key.stem}.{container}.{start}.log"
        if target.exists():
            return
        ring, part = (target.with_name(f".{target.name}.{kind}") for kind in ("ring", "part"))
        try:
            written = await _fill(ring, chunks)
            await asyncio.to_thread(_finish, ring, part, written, note)
            part.replace(target)
        finally:
            for left in (ring, part):
                with contextlib.suppress(OSError):
                    left.unlink(missing_ok=True)
        self._make_room()

    def lines(self, key: LogKey, container: int | None = None) -> Iterator[bytes] | None:
        """Yield the stored log of a pod by time; None without one.

        Of all its containers or of the one with this index, and of all their starts.
        """
        by_container: dict[int, list[Path]] = {}
        for file in sorted(self._folder.glob(f"{key.stem}.*.log"), key=_place):
            if container in (None, _place(file)[0]):
                by_container.setdefault(_place(file)[0], []).append(file)
        if not by_container:
            return None
        logs = [_lines(files) for files in by_container.values()]
        return logs[0] if len(logs) == 1 else merge_logs(logs)

    def note(self, key: LogKey, line: bytes) -> None:
        """Add a note of the agent to this log."""
        with self._notes(key).open("ab") as file:
            if file.tell() + len(line) <= MOST_NOTES_BYTES:
                file.write(line)

    def notes(self, key: LogKey) -> list[bytes]:
        """Return the notes of the agent in this log."""
        try:
            return self._notes(key).read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return []

    def _notes(self, key: LogKey) -> Path:
        return self._folder / f"{key.stem}.notes"

    def _make_room(self) -> None:
        """Remove the oldest logs above the limit."""
        found = []
        for file in self._folder.glob("*.log"):
            with contextlib.suppress(FileNotFoundError):
                stat = file.stat()
                found.append((stat.st_mtime_ns, stat.st_size, file))
        excess = sum(size for _, size, _ in found) - self._most_bytes
        for _, size, file in sorted(found):
            if excess <= 0:
                return
            file.unlink(missing_ok=True)
            excess -= size


async def _fill(ring: Path, chunks: AsyncGenerator[bytes, None] | None) -> int:
    """Write to a ring buffer of which the end remains; return the number of all bytes."""
    written = 0
    with _new(ring) as file:
        if chunks is None:
            return written
        async with aclosing(chunks):
            async for chunk in chunks:
                rest = memoryview(chunk)[-MAX_LOG_BYTES:]
                written += len(chunk) - len(rest)
                while rest:
                    place = written % MAX_LOG_BYTES
                    now = rest[: MAX_LOG_BYTES - place]
                    file.seek(place)
                    file.write(now)
                    written += len(now)
                    rest = rest[len(now) :]
    return written


def _finish(ring: Path, part: Path, written: int, note: str) -> None:
    with _new(part) as file:
        with ring.open("rb") as taken:
            _unroll(taken, written, file)
        if note:
            file.write(f"[{terminal_escaping.line(note)}]\n".encode())
        file.flush()
        os.fsync(file.fileno())


def _unroll(ring: BinaryIO, written: int, out: BinaryIO) -> None:
    """Copy the ring in order, from its first whole line on."""
    if written <= MAX_LOG_BYTES:
        _copy(ring, out, written)
        return
    out.write(_CUT)
    place = written % MAX_LOG_BYTES
    ring.seek(place)
    begun = 0
    while part := ring.readline(min(_PIECE, MAX_LOG_BYTES - place - begun)):
        begun += len(part)
        if part.endswith(b"\n"):
            break
    _copy(ring, out, MAX_LOG_BYTES - place - begun)
    ring.seek(0)
    _copy(ring, out, place)


def _copy(source: BinaryIO, out: BinaryIO, count: int) -> None:
    while count > 0 and (piece := source.read(min(_PIECE, count))):
        out.write(piece)
        count -= len(piece)


def _new(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), "w+b")


def _lines(files: list[Path]) -> Iterator[bytes]:
    for path in files:
        # A file that was removed meanwhile has no lines.
        with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
            while line := file.readline(MAX_LINE_BYTES):
                yield line


def _place(file: Path) -> tuple[int, int]:
    """Return container and start of a stored log. Logs of old agents have no container."""
    numbers = file.name.split(".")[1:-1]
    return (0, int(numbers[0])) if len(numbers) == 1 else (int(numbers[0]), int(numbers[1]))


log = logging.getLogger(__name__)


class LogCollector:
    """Saves logs from the driver to the store."""

    def __init__(self, driver: Driver, store: LogStore, pod_of: Callable[[int], Pod | None]) -> None:
        self._driver = driver
        self._store = store
        self._pod_of = pod_of

    async def save_all(self, number: int, service: str | None = None, *, before: int | None = None) -> None:
        """Save the logs of the lease's containers, or of one service with starts before this one."""
        for found in await self._driver.recover(number):
            start = found.handle.start
            if service in (None, found.handle.service) and (before is None or start < before):
                await self.save(number, found.handle.service, start)

    async def save(self, number: int, service: str, start: int, note: str = "") -> None:
        """Save the log of one start of a service; `note` is its last line."""
        pod = self._pod_of(number)
        if pod is None or pod.spec is None:
            return  # an orphan: the owner of its log is unknown
        key = LogKey(number, pod.lease.created_at_ms)
        names = [one.service.name for one in pod.spec.containers]
        if service not in names:
            return
        log_of = self._driver.logs(number, follow=False, service=service, tail=MAX_LOG_LINES)
        lines = log_of if len(names) == 1 else _named(log_of, service)
        place = names.index(service)
        try:
            await self._store.save(key, place, start, lines, note)
        except PodGone:
            if note:
                await self._store.save(key, place, start, None, note)
        except (DriverError, OSError) as error:
            log.warning("lease %d: its log could not be kept: %s", number, error)


async def _named(pieces: AsyncGenerator[bytes, None], service: str) -> AsyncGenerator[bytes, None]:
    splitter = LineSplitter()
    async with aclosing(pieces):
        async for piece in pieces:
            for line in splitter.feed(piece):
                yield with_service(line, service)
    for line in splitter.end():
        yield with_service(line, service)
