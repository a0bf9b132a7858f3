"""Notes of the agent in the logs of pods: events, and the progress of a start."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from datetime import UTC, datetime
from typing import Final

from node_agent.core.states import Phase, Pod
from node_agent.drivers.port import Driver
from node_agent.images.policy import progress_text
from node_agent.logs.lines import comparable_stamp, comparable_stamp_of_ms
from node_agent.logs.store import LogKey, LogStore
from offchain.schema import terminal_escaping

log = logging.getLogger(__name__)

QUIET_S: Final = 1.0
"""Without a line for this time, no line is on its way that is older than a note."""


class PodNotes:
    """Notes of all pods. `now_ms`: the machine's clock, with which the engine stamps the output of programs."""

    def __init__(self, store: LogStore, pod_of: Callable[[int], Pod | None], now_ms: Callable[[], int]) -> None:
        self._store = store
        self._pod_of = pod_of
        self._now_ms = now_ms
        self._readers: dict[LogKey, list[InterleavedNotes]] = {}
        self._turn = threading.Lock()
        """Notes are written in the agent's loop and read in that of the link: none is missed or repeated."""

    def say(self, number: int, text: str) -> None:
        """Add a line to the log of this lease's pod, also for readers. Does nothing if the pod is removed."""
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
        """Read the notes so far and those that come meanwhile."""
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
    """Notes that are inserted between the lines of a log by time."""

    def __init__(self, notes: Iterable[bytes] = ()) -> None:
        self._notes = deque(notes)

    def __bool__(self) -> bool:
        """Whether a note is left that was not inserted."""
        return bool(self._notes)

    def add(self, note: bytes) -> None:
        """Add the latest note."""
        self._notes.append(note)

    def interleave(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the lines, each after the older notes."""
        for line in lines:
            at = comparable_stamp(line)
            while at is not None and self._notes and (comparable_stamp(self._notes[0]) or at) < at:
                yield self._notes.popleft()
            yield line

    def remaining(self) -> Iterator[bytes]:
        """Yield the notes that are later than all lines so far."""
        while self._notes:
            yield self._notes.popleft()

    async def interleave_stream(self, pieces: AsyncGenerator[list[bytes], None]) -> AsyncGenerator[list[bytes], None]:
        """Yield lines and notes as they come; notes also while no line comes."""
        async with aclosing(pieces):
            coming = asyncio.ensure_future(anext(pieces, None))
            try:
                while True:
                    await asyncio.wait((coming,), timeout=QUIET_S)
                    if not coming.done():
                        if self:
                            yield list(self.remaining())
                        continue
                    lines = coming.result()
                    if lines is None:
                        yield list(self.remaining())
                        return
                    yield list(self.interleave(lines))
                    coming = asyncio.ensure_future(anext(pieces, None))
            finally:
                coming.cancel()
                await asyncio.wait((coming,))


PROGRESS_S: Final = 5.0


class StartProgress:
    """Reports the progress of image pulls in the logs of starting pods."""

    def __init__(self, driver: Driver, pods: Callable[[], Mapping[int, Pod]], say: Callable[[int, str], None]) -> None:
        self._driver = driver
        self._pods = pods
        self._say = say
        self._said: dict[int, str] = {}

    def report(self) -> None:
        """Report the progress of each pod that waits for images, if it has changed."""
        pods = self._pods()
        for number in self._said.keys() - pods.keys():
            del self._said[number]
        for number, pod in pods.items():
            if pod.phase is not Phase.PREPARING or pod.spec is None:
                continue
            text = "; ".join(progress_text(pull) for pull in self._driver.progress(pod.spec))
            if text and text != self._said.get(number):
                self._said[number] = text
                self._say(number, text)


def waiting_text(before: Pod | None, pod: Pod) -> str:
    """Return what a pod has begun to wait for from its tenant; empty if nothing."""
    has_begun = pod.phase is Phase.AWAITING and (before is None or before.phase is not Phase.AWAITING)
    if not has_begun:
        return ""
    files = "; ".join(f"gantry deliver {pod.lease.task} {name} FILE" for name in pod.awaited)
    until = "" if pod.start_due_ms is None else f" until {_time_text(pod.start_due_ms)} UTC"
    return f"this pod waits for its tenant{until}: {files}"


def _time_text(moment_ms: int) -> str:
    return datetime.fromtimestamp(moment_ms / 1000, UTC).strftime("%H:%M:%S")
