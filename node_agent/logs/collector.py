"""Keeps the logs of a pod's containers when these go."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from node_agent.core.states import Pod
from node_agent.drivers.port import MAX_LOG_LINES, Driver, DriverError, PodGone
from node_agent.logs.merge import LineSplitter, with_service
from node_agent.logs.store import LogKey, LogStore

log = logging.getLogger(__name__)


class LogCollector:
    """From the driver into the store."""

    def __init__(self, driver: Driver, store: LogStore, pod_of: Callable[[int], Pod | None]) -> None:
        self._driver = driver
        self._store = store
        self._pod_of = pod_of

    async def save_all(self, number: int, service: str | None = None, *, before: int | None = None) -> None:
        """Keep the logs of the lease's containers, or of one service where its start is before this one."""
        for found in await self._driver.recover(number):
            start = found.handle.start
            if service in (None, found.handle.service) and (before is None or start < before):
                await self.save(number, found.handle.service, start)

    async def save(self, number: int, service: str, start: int, note: str = "") -> None:
        """Keep the log of one start of a service; `note` is its last line."""
        pod = self._pod_of(number)
        if pod is None or pod.spec is None:
            return  # an orphan: nobody can be told whose log it is
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
