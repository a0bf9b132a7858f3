"""Log lines of several containers: named by service and put in the order of their time stamps. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

SEPARATOR = b" | "


def with_service(line: bytes, service: str) -> bytes:
    """A line `TIME text` as `TIME service | text`. One without a time stamp is named at its start."""
    stamp, space, text = line.partition(b" ")
    if not space or not is_stamp(stamp):
        return service.encode() + SEPARATOR + line
    return stamp + b" " + service.encode() + SEPARATOR + text


def without_service(line: bytes, service: str) -> bytes:
    """The line as it was before :func:`with_service`; one that names nobody, or another, stays as it is."""
    stamp, space, text = line.partition(b" ")
    name = service.encode() + SEPARATOR
    if space and is_stamp(stamp) and text.startswith(name):
        return stamp + b" " + text.removeprefix(name)
    return line.removeprefix(name)


def is_stamp(word: bytes) -> bool:
    """Whether it looks like the engine's time stamps (RFC 3339 in UTC)."""
    return len(word) >= 20 and word[4:5] == b"-" and word[10:11] == b"T" and word.endswith(b"Z")


def stamp_of(line: bytes) -> bytes:
    """The line's time stamp; empty where it has none."""
    word = line.partition(b" ")[0]
    return word if is_stamp(word) else b""


def merge_logs(logs: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    """The lines of several logs by time; those without a stamp stay behind the line before them."""
    keyed = [_keyed(place, lines) for place, lines in enumerate(logs)]
    for _, _, line in heapq.merge(*keyed, key=lambda item: item[:2]):
        yield line


def _keyed(place: int, lines: Iterable[bytes]) -> Iterator[tuple[bytes, int, bytes]]:
    last = b""
    for line in lines:
        # A stamp that goes back would break the order of a merge.
        last = max(last, stamp_of(line))
        yield last, place, line


MAX_LINE_BYTES = 1 << 16
"""A line of this length without an end is passed on in parts: a program may write without ever ending one."""


class LineSplitter:
    """Lines out of pieces of a stream, in time linear in their length. A line longer than `longest` bytes is cut."""

    def __init__(self, longest: int = MAX_LINE_BYTES) -> None:
        self._longest = longest
        self._held: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the lines that this piece ends, each with its line feed."""
        *lines, rest = piece.split(b"\n")
        if lines and self._held:
            lines[0] = b"".join([*self._held, lines[0]])
            self._held, self._size = [], 0
        found = []
        for line in lines:
            if len(line) <= self._longest:
                found.append(line + b"\n")
            else:
                found += self._cut(line)
        if rest:
            self._held.append(rest)
            self._size += len(rest)
        return found + self.end() if self._size > self._longest else found

    def end(self) -> list[bytes]:
        """Return what is left without a line feed."""
        rest, self._held, self._size = b"".join(self._held), [], 0
        return self._cut(rest) if rest else []

    def _cut(self, line: bytes) -> list[bytes]:
        return [line[start : start + self._longest] + b"\n" for start in range(0, len(line), self._longest)]
