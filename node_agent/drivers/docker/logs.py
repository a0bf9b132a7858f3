"""Reads the logs of a pod's containers, side by side where they are several."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import docker.errors
import requests.exceptions
import urllib3.exceptions

from node_agent.drivers.docker.engine import Engine
from node_agent.drivers.docker.stream_reader import Hose
from node_agent.drivers.port import EngineBusy, EngineUnreachable, PodGone
from node_agent.logs.lines import LineSplitter, stamp_of, with_service

MAX_READERS = 64
"""Streams at once; each that follows a container keeps a thread."""
MAX_FOLLOWERS = 48
"""Of them those that follow: the logs of pods that end are always read, to be kept."""
MAX_OF_LEASE = 16
"""Followers of one lease, which leave room for other tenants."""
WAITING_LINES = 64
"""Lines of at most MAX_LINE_BYTES that wait for a slow reader."""
_BROKEN = (
    docker.errors.DockerException,
    requests.exceptions.RequestException,
    urllib3.exceptions.HTTPError,
    OSError,
)


class DockerLogs:
    """The log readers of one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._pool = ThreadPoolExecutor(MAX_READERS, thread_name_prefix="docker-logs")
        self._readers = 0
        self._followers: Counter[int] = Counter()
        self._count = threading.Lock()
        """Logs are read in the loop of the link and in the agent's own."""

    def close(self) -> None:
        """End all readers."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def read(
        self, lease: int, containers: Sequence[tuple[str, str]], *, follow: bool, several: bool, tail: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """The logs of containers of a lease, given as service and id. With `several`, each line names its service.

        `tail`: of each only so many of the lines that are there already, the last. Raises EngineBusy where too many
        read already.
        """
        if not follow:
            async with contextlib.aclosing(self._read(containers, several=several, tail=tail)) as pieces:
                async for piece in pieces:
                    yield piece
            return
        with self._following(lease, len(containers)):
            async with contextlib.aclosing(self._read(containers, follow=True, several=several, tail=tail)) as pieces:
                async for piece in pieces:
                    yield piece

    @contextlib.contextmanager
    def _following(self, lease: int, count: int) -> Iterator[None]:
        with self._count:
            mine, all_of_them = self._followers[lease], self._followers.total()
            if mine and mine + count > MAX_OF_LEASE:
                raise EngineBusy(f"{mine} readers follow the log of lease {lease} already; end one first")
            if all_of_them + count > MAX_FOLLOWERS:
                raise EngineBusy(f"{all_of_them} readers follow logs on this host already; try again later")
            self._followers[lease] += count
        try:
            yield
        finally:
            with self._count:
                self._followers[lease] -= count
                if not self._followers[lease]:
                    del self._followers[lease]

    async def _read(
        self, containers: Sequence[tuple[str, str]], *, follow: bool = False, several: bool, tail: int | None
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
        """By time, without holding more than a line of each."""
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
        """As they come; a reader that is ahead waits until its lines are taken."""
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
        hose = Hose(stream)
        # A follower blocks its thread until the next line: not one of the engine's.
        self._pool.submit(_read, hose, stream)
        try:
            while piece := await hose.take():
                yield piece
        except _BROKEN as error:
            raise EngineUnreachable(f"the engine broke off while it gave a log: {error}") from None
        finally:
            self._add_readers(-1)
            hose.close()
            with contextlib.suppress(OSError, AttributeError):
                stream.close()


def _read(hose: Hose, stream: Any) -> None:
    """Read to the end, and let go of the connection.

    To close the stream, as its reader does who wants no more, only ends what is read from it: the socket stays open
    until its response is closed, too, for which the library has no call.
    """
    hose.run()
    response = getattr(stream, "_response", None)
    if response is not None:
        response.close()
