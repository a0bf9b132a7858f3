"""Logs of a pod's containers."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import urllib3.exceptions

from node_agent.drivers.docker.engine import SDK_ERRORS, Engine
from node_agent.drivers.port import EngineBusy, EngineUnreachable, PodGone
from node_agent.logs.lines import LineSplitter, stamp_of, with_service

MAX_READERS = 64
"""Concurrent log streams; each that follows a container occupies a thread."""
MAX_FOLLOWERS = 48
"""Streams that follow; the rest is for logs of ended pods, which are always read and stored."""
MAX_OF_LEASE = 16
"""Followers of one lease, so that capacity is left for other tenants."""
WAITING_LINES = 64
"""Lines of at most MAX_LINE_BYTES that are queued for a slow reader."""
_BROKEN = (*SDK_ERRORS, urllib3.exceptions.HTTPError)
MOST_WAITING = 1 << 18
"""Bytes that may wait to be read; a faster stream is paused. The event loop processes one such piece at a time: some
ten milliseconds for the shortest lines."""


class ContainerLogs:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._pool = ThreadPoolExecutor(MAX_READERS, thread_name_prefix="docker-logs")
        self._readers = 0
        self._followers: Counter[int] = Counter()
        self._count = threading.Lock()
        """Logs are read in the event loop of the transport and in the agent's own."""

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def read(
        self, lease: int, containers: Sequence[tuple[str, str]], *, follow: bool, several: bool, tail: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the logs of a lease's containers, given as (service, id). With `several`, each line names its service.

        `tail`: only this many of the last existing lines of each. Raises EngineBusy if there are too many readers.
        """
        reading = self._read(containers, follow=follow, several=several, tail=tail)
        with self._following(lease, len(containers)) if follow else contextlib.nullcontext():
            async with contextlib.aclosing(reading) as pieces:
                async for piece in pieces:
                    yield piece

    @contextlib.contextmanager
    def _following(self, lease: int, count: int) -> Iterator[None]:
        with self._count:
            of_lease, total = self._followers[lease], self._followers.total()
            if of_lease and of_lease + count > MAX_OF_LEASE:
                raise EngineBusy(f"{of_lease} readers follow the log of lease {lease} already; end one first")
            if total + count > MAX_FOLLOWERS:
                raise EngineBusy(f"{total} readers follow logs on this host already; try again later")
            self._followers[lease] += count
        try:
            yield
        finally:
            with self._count:
                self._followers[lease] -= count
                if not self._followers[lease]:
                    del self._followers[lease]

    async def _read(
        self, containers: Sequence[tuple[str, str]], *, follow: bool, several: bool, tail: int | None
    ) -> AsyncGenerator[bytes, None]:
        if self._readers + len(containers) > MAX_READERS:
            raise EngineBusy(f"{self._readers} readers follow logs already")
        if not several:
            async with contextlib.aclosing(self._pieces(containers[0][1], tail, follow=follow)) as pieces:
                async for piece in pieces:
                    yield piece
            return
        reading = self._side_by_side(containers, tail) if follow else self._in_order(containers, tail)
        async with contextlib.aclosing(reading) as lines:
            async for line in lines:
                yield line

    async def _in_order(self, containers: Sequence[tuple[str, str]], tail: int | None) -> AsyncGenerator[bytes, None]:
        """Yield the lines of several containers by time, with at most one line of each in memory."""
        async with contextlib.AsyncExitStack() as stack:
            logs = [
                (name, await stack.enter_async_context(contextlib.aclosing(self._lines(identity, tail, follow=False))))
                for name, identity in containers
            ]
            heads: dict[int, tuple[bytes, bytes]] = {}

            async def take(place: int, before: bytes) -> None:
                heads.pop(place, None)
                line = await anext(logs[place][1], None)
                if line is not None:
                    heads[place] = (max(before, stamp_of(line)), with_service(line, logs[place][0]))

            for place in range(len(logs)):
                await take(place, b"")
            while heads:
                place = min(heads, key=lambda one: (heads[one][0], one))
                stamp, line = heads[place]
                yield line
                await take(place, stamp)

    async def _side_by_side(
        self, containers: Sequence[tuple[str, str]], tail: int | None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the lines of several followed containers as they arrive; readers wait while the queue is full."""
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(WAITING_LINES)

        async def pass_on(name: str, identity: str) -> None:
            try:
                async for line in self._lines(identity, tail, follow=True):
                    await queue.put(with_service(line, name))
            except PodGone:
                pass
            finally:
                await queue.put(None)

        tasks = [asyncio.create_task(pass_on(name, identity)) for name, identity in containers]
        try:
            left = len(tasks)
            while left:
                line = await queue.get()
                if line is None:
                    left -= 1
                else:
                    yield line
            for task in tasks:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            while not queue.empty():
                queue.get_nowait()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _add_readers(self, count: int) -> None:
        with self._count:
            self._readers += count

    async def _lines(self, identity: str, tail: int | None, *, follow: bool) -> AsyncGenerator[bytes, None]:
        splitter = LineSplitter()
        async with contextlib.aclosing(self._pieces(identity, tail, follow=follow)) as pieces:
            async for piece in pieces:
                for line in splitter.feed(piece):
                    yield line
        for line in splitter.end():
            yield line

    async def _pieces(self, identity: str, tail: int | None, *, follow: bool) -> AsyncGenerator[bytes, None]:
        wanted: dict[str, Any] = {"stdout": True, "stderr": True, "timestamps": True, "stream": True, "follow": follow}
        wanted["tail"] = "all" if tail is None else tail
        stream = await self._engine.call(lambda: self._engine.api.logs(identity, **wanted))
        self._add_readers(1)
        reader = ThreadedStreamReader(stream)
        # A follower blocks its thread until the next line, so it uses a pool of its own.
        self._pool.submit(_read, reader, stream)
        try:
            while piece := await reader.take():
                yield piece
        except _BROKEN as error:
            raise EngineUnreachable(f"the engine broke off while it gave a log: {error}") from None
        finally:
            self._add_readers(-1)
            reader.close()
            with contextlib.suppress(OSError, AttributeError):
                stream.close()


def _read(reader: ThreadedStreamReader, stream: Any) -> None:
    """Read to the end and release the connection.

    Closing the stream ends only the reading: the socket stays open until its response is closed, too, for which the
    library has no call.
    """
    reader.run()
    response = getattr(stream, "_response", None)
    if response is not None:
        response.close()


class ThreadedStreamReader:
    """Transfers a blocking stream into the event loop. :meth:`run` reads it in a thread, :meth:`take` is for the loop.

    All data that arrived meanwhile is taken as one piece.
    """

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
        """Read until the stream ends or the reader is closed."""
        try:
            for part in self._stream:
                if not self._put(part):
                    return
        except Exception as error:  # noqa: BLE001 - raised by take
            self._error = error
        finally:
            self._ended = True
            self._tell()

    async def take(self) -> bytes:
        """Wait for data and return all that has arrived; empty at the end. Raises the error of the stream."""
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
        """Stop reading. A thread that waits for the stream ends with the stream."""
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
