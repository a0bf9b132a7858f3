"""The logs of pods that are over: of each run of a container its end, on disk, and never much of it in memory."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from node_agent.drivers.port import MAX_LOG_BYTES
from node_agent.logs.merge import MAX_LINE_BYTES, merge_logs
from offchain.schema import terminal_escaping

_CUT = b"[the log was longer; its beginning was not kept]\n"
_PIECE = 1 << 18
MOST_BYTES = 2 << 30
"""All kept logs together; above it the oldest go first."""
MOST_NOTES_BYTES = 1 << 16
"""Of what the agent says itself in one log; what is said after that is in nobody's log."""


@dataclass(frozen=True, slots=True)
class LogKey:
    """Whose log it is. A lease's number may come twice when a block is reverted; its time of opening does not."""

    lease: int
    created_at_ms: int

    @property
    def stem(self) -> str:
        """The file name's first part."""
        return f"{self.lease}-{self.created_at_ms}"


class LogStore:
    """Logs in one folder."""

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self._folder = folder
        self._most_bytes = most_bytes

    async def save(
        self, key: LogKey, container: int, start: int, chunks: AsyncGenerator[bytes, None] | None, note: str = ""
    ) -> None:
        """Keep the end of the log of one start of a pod's container, by its place in the pod.

        What is kept stays as it is. `note` is its last line. `chunks` None: of a container that is not there.
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
        """The kept logs of a pod by time, line by line; None where there is none.

        Of all its containers, or of the one at this place; of all their starts.
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
        """Add to what the agent itself says in this log."""
        with self._notes(key).open("ab") as file:
            if file.tell() + len(line) <= MOST_NOTES_BYTES:
                file.write(line)

    def notes(self, key: LogKey) -> list[bytes]:
        """The same, line by line."""
        try:
            return self._notes(key).read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return []

    def _notes(self, key: LogKey) -> Path:
        return self._folder / f"{key.stem}.notes"

    def _make_room(self) -> None:
        """Remove the oldest where all together are too large."""
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
    """Write round and round, so that the end is what is left; how many bytes there were in all."""
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
    """Copy what the ring holds in its order, from its first whole line on."""
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
        # One that was removed meanwhile has no lines any more.
        with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
            while line := file.readline(MAX_LINE_BYTES):
                yield line


def _place(file: Path) -> tuple[int, int]:
    """Container and start of a kept log. Those of older agents have no container."""
    numbers = file.name.split(".")[1:-1]
    return (0, int(numbers[0])) if len(numbers) == 1 else (int(numbers[0]), int(numbers[1]))
