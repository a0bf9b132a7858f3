"""What the agent has to say to the tenant of a pod: lines of the pod's log, each with its time."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing, contextmanager
from typing import Final

from node_agent.core.states import Pod
from node_agent.handlers.log_filter import comparable_stamp, comparable_stamp_of_ms
from node_agent.logs.store import LogKey, LogStore
from offchain.schema import terminal_escaping

log = logging.getLogger(__name__)

QUIET_S: Final = 1.0
"""Where no line has come for so long, none is on its way that is older than a note."""


class PodNotes:
    """The notes of all pods. `now_ms`: the machine's clock, by which the engine stamps what programs write."""

    def __init__(self, store: LogStore, pod_of: Callable[[int], Pod | None], now_ms: Callable[[], int]) -> None:
        self._store = store
        self._pod_of = pod_of
        self._now_ms = now_ms
        self._readers: dict[LogKey, list[InterleavedNotes]] = {}
        self._turn = threading.Lock()
        """Notes are written in the agent's loop and read in that of the link: none is missed, none comes twice."""

    def say(self, number: int, text: str) -> None:
        """Have a line in the log of this lease's pod, also for those who follow it now. Nothing where it is gone."""
        log.info("lease %d: %s", number, text)
        pod = self._pod_of(number)
        if pod is None:
            return
        key = LogKey(number, pod.lease.created_at_ms)
        line = comparable_stamp_of_ms(self._now_ms()) + f"Z [{terminal_escaping.line(text)}]\n".encode()
        with self._turn:
            try:
                self._store.note(key, line)
            except OSError as error:
                log.warning("lease %d: its log does not say so: %s", number, error)
            for reader in self._readers.get(key, ()):
                reader.add(line)

    @contextmanager
    def read(self, key: LogKey) -> Iterator[InterleavedNotes]:
        """What was said so far, and what is said meanwhile."""
        with self._turn:
            notes = InterleavedNotes(self._store.notes(key))
            self._readers.setdefault(key, []).append(notes)
        try:
            yield notes
        finally:
            with self._turn:
                self._readers[key].remove(notes)
                if not self._readers[key]:
                    del self._readers[key]


class InterleavedNotes:
    """Notes that are put between the lines of a log, by time."""

    def __init__(self, notes: Iterable[bytes] = ()) -> None:
        self._notes = deque(notes)

    def __bool__(self) -> bool:
        """Whether there are any that are nowhere yet."""
        return bool(self._notes)

    def add(self, note: bytes) -> None:
        """One more, the latest."""
        self._notes.append(note)

    def into(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """The lines, each after the notes that are older."""
        for line in lines:
            at = comparable_stamp(line)
            while at is not None and self._notes and (comparable_stamp(self._notes[0]) or at) < at:
                yield self._notes.popleft()
            yield line

    def rest(self) -> Iterator[bytes]:
        """Those that are later than all lines so far."""
        while self._notes:
            yield self._notes.popleft()

    async def through(self, pieces: AsyncGenerator[list[bytes], None]) -> AsyncGenerator[list[bytes], None]:
        """The lines as they come, and with them the notes; these also where no line comes any more."""
        async with aclosing(pieces):
            coming = asyncio.ensure_future(anext(pieces, None))
            try:
                while True:
                    await asyncio.wait((coming,), timeout=QUIET_S)
                    if not coming.done():
                        if self:
                            yield list(self.rest())
                        continue
                    lines = coming.result()
                    if lines is None:
                        yield list(self.rest())
                        return
                    yield list(self.into(lines))
                    coming = asyncio.ensure_future(anext(pieces, None))
            finally:
                coming.cancel()
                await asyncio.wait((coming,))
