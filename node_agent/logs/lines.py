"""Log lines: time stamps, names of services, order, selection. Pure. Stamps are the engine's (RFC 3339, UTC)."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

SEPARATOR = b" | "


def with_service(line: bytes, service: str) -> bytes:
    """Return the line `TIME text` as `TIME service | text`. Without a time stamp the name comes first."""
    stamp, space, text = line.partition(b" ")
    if not space or not is_stamp(stamp):
        return service.encode() + SEPARATOR + line
    return stamp + b" " + service.encode() + SEPARATOR + text


def without_service(line: bytes, service: str) -> bytes:
    """Undo :func:`with_service`; a line without this name stays as it is."""
    stamp, space, text = line.partition(b" ")
    name = service.encode() + SEPARATOR
    if space and is_stamp(stamp) and text.startswith(name):
        return stamp + b" " + text.removeprefix(name)
    return line.removeprefix(name)


def is_stamp(word: bytes) -> bool:
    """Whether the word looks like a time stamp of the engine."""
    return len(word) >= 20 and word[4:5] == b"-" and word[10:11] == b"T" and word.endswith(b"Z")


def stamp_of(line: bytes) -> bytes:
    """Return the line's time stamp; empty without one."""
    word = line.partition(b" ")[0]
    return word if is_stamp(word) else b""


def merge_logs(logs: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    """Merge several logs by time; lines without a stamp stay behind the line before them."""
    keyed = [_keyed(place, lines) for place, lines in enumerate(logs)]
    for _, _, line in heapq.merge(*keyed, key=lambda item: item[:2]):
        yield line


def _keyed(place: int, lines: Iterable[bytes]) -> Iterator[tuple[bytes, int, bytes]]:
    last = b""
    for line in lines:
        # A stamp that goes back would break the order of the merge.
        last = max(last, stamp_of(line))
        yield last, place, line


MAX_LINE_BYTES = 1 << 16
"""A longer line is split: a program may write without ever ending one."""


class LineSplitter:
    """Splits a stream into lines in linear time.

    A line longer than `longest` bytes is cut into lines; with `verbatim` no byte is added, so that only an incomplete
    line is passed on in parts.
    """

    def __init__(self, longest: int = MAX_LINE_BYTES, *, verbatim: bool = False) -> None:
        self._longest = longest
        self._verbatim = verbatim
        self._held: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the lines that this piece completes, each with its line feed."""
        *lines, rest = piece.split(b"\n")
        if lines and self._held:
            lines[0] = b"".join([*self._held, lines[0]])
            self._held, self._size = [], 0
        found = []
        for line in lines:
            if self._verbatim or len(line) <= self._longest:
                found.append(line + b"\n")
            else:
                found += self._cut(line)
        if rest:
            self._held.append(rest)
            self._size += len(rest)
        return found + self.end() if self._size > self._longest else found

    def end(self) -> list[bytes]:
        """Return the incomplete last line."""
        rest, self._held, self._size = b"".join(self._held), [], 0
        if not rest:
            return []
        return [rest] if self._verbatim else self._cut(rest)

    def _cut(self, line: bytes) -> list[bytes]:
        return [line[start : start + self._longest] + b"\n" for start in range(0, len(line), self._longest)]


_LONGEST: Final = len("2026-01-01T00:00:00.000000000Z ")


def comparable_stamp(line: bytes) -> bytes | None:
    """Return the line's time in a form that compares as bytes; None without one."""
    # Fractions of any length compare as text without the Z.
    return stamp_of(line[:_LONGEST])[:-1] or None


def comparable_stamp_of_ms(at_ms: int) -> bytes:
    """Return a Unix time in ms in the form of :func:`comparable_stamp`. Times out of range are the latest one."""
    try:
        when = datetime.fromtimestamp(at_ms // 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return b"9999-12-31T23:59:59"
    return f"{when:%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03d}".encode()


def lines_since(lines: Iterable[bytes], oldest: bytes | None) -> Iterator[bytes]:
    """Yield the lines from this time on; a line without a time belongs to the one before it."""
    wanted = oldest is None
    for line in lines:
        at = comparable_stamp(line)
        if oldest is not None and at is not None:
            wanted = at >= oldest
        if wanted:
            yield line


def in_chunks(lines: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Yield the same bytes in chunks of about this size."""
    piece = bytearray()
    for line in lines:
        piece += line
        if len(piece) >= size:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)


class LogTail:
    """The last `count` lines, at most `most_bytes` of them."""

    def __init__(self, count: int, most_bytes: int) -> None:
        self._count = count
        self._most = most_bytes
        self._lines: deque[bytes] = deque()
        self._size = 0

    def add(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._lines.append(line)
            self._size += len(line)
            while len(self._lines) > self._count or (self._size > self._most and len(self._lines) > 1):
                self._size -= len(self._lines.popleft())

    def lines(self) -> list[bytes]:
        return list(self._lines)
