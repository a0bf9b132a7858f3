"""Carries a stream that blocks into the event loop: what has come meanwhile is taken as one piece."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterable

MOST_WAITING = 1 << 18
"""Bytes that may wait to be taken; a faster stream is not read on until then.

The event loop works on one such piece at a time: some ten milliseconds for the shortest lines.
"""


class Hose:
    """One stream. :meth:`run` reads it in a thread of its own, :meth:`take` is for the loop that made it."""

    def __init__(self, stream: Iterable[bytes]) -> None:
        self._stream = stream
        self._loop = asyncio.get_running_loop()
        self._room = threading.Condition()
        self._parts: list[bytes] = []
        self._size = 0
        self._closed = False
        self._ended = False
        self._error: Exception | None = None
        self._come = asyncio.Event()

    def run(self) -> None:
        """Read until the stream ends or the hose is closed."""
        try:
            for part in self._stream:
                if not self._put(part):
                    return
        except Exception as error:  # noqa: BLE001 - told by whoever takes
            self._error = error
        finally:
            self._ended = True
            self._tell()

    async def take(self) -> bytes:
        """All that has come since the last time, waiting for some; empty at the end. Raises what reading raised."""
        while True:
            ended = self._ended
            with self._room:
                parts, self._parts, self._size = self._parts, [], 0
                self._room.notify()
            if parts:
                return b"".join(parts)
            if ended:
                if self._error is not None:
                    raise self._error
                return b""
            await self._come.wait()
            self._come.clear()

    def close(self) -> None:
        """No more is wanted. A thread that waits for the stream ends with the stream."""
        with self._room:
            self._closed = True
            self._room.notify()

    def _put(self, part: bytes) -> bool:
        with self._room:
            while self._size >= MOST_WAITING and not self._closed:
                self._room.wait()
            first = not self._parts
            self._parts.append(part)
            self._size += len(part)
        if first:
            self._tell()
        return not self._closed

    def _tell(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(self._come.set)
