"""The queue of chain queries that unproven peers cause: a few at a time, few waiting, suspects last."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from offchain.adapters.transport.port import HostRefused, refused
from offchain.schema.protocol.messages import Code

AT_ONCE: Final = 2
MOST_WAITING: Final = 64
MOST_WAITING_OF_NETWORK: Final = 16


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    turn: asyncio.Future[None]
    network: str


class QueryQueue:
    """Admits `at_once` queries; the others wait in the order of their arrival, those of suspects after all others.

    A query that finds the queue full is refused. One of a suspect gives up its place to one that is no suspect's.
    """

    def __init__(
        self, at_once: int = AT_ONCE, most_waiting: int = MOST_WAITING, of_network: int = MOST_WAITING_OF_NETWORK
    ) -> None:
        self._free = at_once
        self._most_waiting = most_waiting
        self._of_network = of_network
        self._waiting: deque[_Waiting] = deque()
        self._suspects: deque[_Waiting] = deque()
        self._count: Counter[str] = Counter()

    @property
    def waiting(self) -> int:
        """Queries that wait."""
        return len(self._waiting) + len(self._suspects)

    @contextlib.asynccontextmanager
    async def turn(self, network: str, *, suspect: bool) -> AsyncIterator[None]:
        """Wait for a turn, and have it as long as the block lasts. Raises :class:`HostRefused` where it is full."""
        await self._enter(network, suspect=suspect)
        try:
            yield
        finally:
            self._pass_on()

    async def _enter(self, network: str, *, suspect: bool) -> None:
        if self._free:
            self._free -= 1
            return
        if self._count[network] >= self._of_network:
            raise _is_full()
        if self.waiting >= self._most_waiting:
            if suspect or not self._suspects:
                raise _is_full()
            self._suspects.popleft().turn.set_exception(_is_full())
        queue = self._suspects if suspect else self._waiting
        mine = _Waiting(asyncio.get_running_loop().create_future(), network)
        queue.append(mine)
        self._count[network] += 1
        try:
            await mine.turn
        except BaseException:
            if mine in queue:
                queue.remove(mine)
            elif mine.turn.done() and not mine.turn.cancelled() and mine.turn.exception() is None:
                self._pass_on()  # the turn came at the moment of the cancellation
            raise
        finally:
            self._count[network] -= 1
            if not self._count[network]:
                del self._count[network]

    def _pass_on(self) -> None:
        for queue in (self._waiting, self._suspects):
            while queue:
                first = queue.popleft()
                if not first.turn.done():
                    first.turn.set_result(None)
                    return
        self._free += 1


def _is_full() -> HostRefused:
    return refused(Code.BUSY, "Too many requests of unknown peers wait for an answer of the chain.", "Try again soon.")
