"""Which lines of a log are wanted. Pure. Each line begins with its time as the engine writes it (RFC 3339, UTC)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from node_agent.logs.merge import stamp_of

MAX_LINE: Final = 1 << 16
"""A line is cut into pieces of this many bytes: a program may write without ever ending one."""
_LONGEST: Final = len("2026-01-01T00:00:00.000000000Z ")


class LineCutter:
    """Cuts pieces of a log into lines, their ends included."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are complete with these bytes."""
        # A carriage return moves a progress bar back; it ends no line.
        *whole, last = data.split(b"\n")
        lines = [line + b"\n" for line in whole]
        if lines and self._held:
            lines[0] = b"".join([*self._held, lines[0]])
            self._held, self._size = [], 0
        if last:
            self._held.append(last)
            self._size += len(last)
        return lines + self.rest() if self._size >= MAX_LINE else lines

    def rest(self) -> list[bytes]:
        """What has no end yet."""
        last, self._held, self._size = b"".join(self._held), [], 0
        return [last] if last else []


def comparable_stamp(line: bytes) -> bytes | None:
    """The line's time, to be compared with others as it is; None where it has none."""
    # Fractions of any length compare as text once the Z is gone.
    return stamp_of(line[:_LONGEST])[:-1] or None


def comparable_stamp_of_ms(at_ms: int) -> bytes:
    """A Unix time in ms, to be compared with :func:`comparable_stamp`. Far times are the last there is."""
    try:
        when = datetime.fromtimestamp(at_ms // 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return b"9999-12-31T23:59:59"
    return f"{when:%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03d}".encode()


def lines_since(lines: Iterable[bytes], oldest: bytes | None) -> Iterator[bytes]:
    """Lines from this time on; a line without a time belongs to the one before it."""
    wanted = oldest is None
    for line in lines:
        at = comparable_stamp(line)
        if oldest is not None and at is not None:
            wanted = at >= oldest
        if wanted:
            yield line


def in_chunks(lines: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in pieces of about this size."""
    piece = bytearray()
    for line in lines:
        piece += line
        if len(piece) >= size:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)


class LogTail:
    """The last so many lines, at most so many bytes of them."""

    def __init__(self, count: int, most_bytes: int) -> None:
        self._count = count
        self._most = most_bytes
        self._lines: deque[bytes] = deque()
        self._size = 0

    def add(self, lines: Iterable[bytes]) -> None:
        """More lines."""
        for line in lines:
            self._lines.append(line)
            self._size += len(line)
            while len(self._lines) > self._count or (self._size > self._most and len(self._lines) > 1):
                self._size -= len(self._lines.popleft())

    def lines(self) -> list[bytes]:
        """What is left of them."""
        return list(self._lines)
