"""The chain's time on this machine, and for how long nothing was heard of the chain."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

log = logging.getLogger(__name__)

TOLERANCE_MS: Final = 30_000
"""A final block is some seconds old; what is beyond is a wrong clock, or a chain that stood still."""
LONG_SILENCE_MS: Final = 15_000
"""After so long without a block the chain may have given this host's leases to others."""


def ticks_ms() -> int:
    """Milliseconds since the machine was started, its sleep included: setting its clock does not move them."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


class ChainClock:
    """The only time that says when a lease ends, whatever this machine's clock says. Unix milliseconds throughout.

    It is the time of a block and what has passed since. Where the machine's clock (`now_ms`) agrees with the block, it
    is the clock's, which is more exact. `ticks`: milliseconds that only grow.
    """

    def __init__(self, now_ms: Callable[[], int], ticks: Callable[[], int] = ticks_ms) -> None:
        self._machine_ms = now_ms
        self._ticks = ticks
        self._base_ms: int | None = None
        self._base_ticks = 0
        self._off_ms = 0
        """By how much the machine's clock is ahead of the chain's, where that is more than the age of a block."""

    def now_ms(self) -> int:
        """The chain's time; before the first block, what the machine's clock says."""
        if self._base_ms is None:
            return self._machine_ms()
        return self._base_ms + self._ticks() - self._base_ticks

    @property
    def trouble(self) -> str:
        """What is wrong with the machine's clock, for people; empty where nothing is."""
        if not self._off_ms:
            return ""
        way = "ahead of" if self._off_ms > 0 else "behind"
        return f"this machine's clock is {abs(self._off_ms) // 1000} s {way} the chain's, which counts; set the clock"

    def compare(self, block_ms: int) -> None:
        """Take note of the time of a block.

        It may be an old one: after a time away those that were missed come first, and time does not go back for them.
        """
        machine_ms, before = self._machine_ms(), self._off_ms
        if abs(machine_ms - block_ms) <= TOLERANCE_MS:
            self._base_ms, self._base_ticks, self._off_ms = machine_ms, self._ticks(), 0
        else:
            if self._base_ms is None or block_ms > self.now_ms() + TOLERANCE_MS:
                self._base_ms, self._base_ticks = block_ms, self._ticks()
            if block_ms >= self.now_ms() - TOLERANCE_MS:
                self._off_ms = machine_ms - self.now_ms()
        if bool(before) != bool(self._off_ms):
            log.warning("%s", self.trouble or "this machine's clock and the chain's agree again")


class ChainSilence:
    """For how long no block was seen. Reports wait while it is long: it may have to be asked whose the leases are."""

    def __init__(self, ticks: Callable[[], int] = ticks_ms) -> None:
        self._ticks = ticks
        self._heard = ticks()
        self._over = asyncio.Event()

    @property
    def ms(self) -> int:
        """So long."""
        return self._ticks() - self._heard

    @property
    def long(self) -> bool:
        """Whether the chain may have decided without us meanwhile."""
        return self.ms > LONG_SILENCE_MS

    def heard(self) -> None:
        """A block was seen, and what it says of our leases is known."""
        self._heard = self._ticks()
        self._over.set()

    async def end(self) -> None:
        """Return when the chain was heard of lately."""
        while self.long:
            self._over.clear()
            await self._over.wait()
