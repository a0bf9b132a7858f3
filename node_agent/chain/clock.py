"""Chain time on this machine, and the time since the last block."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

log = logging.getLogger(__name__)

TOLERANCE_MS: Final = 30_000
"""A final block is some seconds old; a larger difference is a wrong clock or a chain that stood still."""
LONG_SILENCE_MS: Final = 15_000
"""After this time without a block the chain may have assigned this host's leases to others."""


def ticks_ms() -> int:
    """Return milliseconds since boot, including sleep; they do not change when the clock is set."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


class ChainClock:
    """Chain time in Unix milliseconds, which alone decides when a lease ends.

    It is the time of the last block plus the time since. If the machine's clock (`now_ms`) agrees with the block, it is
    that clock, which is more precise. `ticks`: monotonic milliseconds.
    """

    def __init__(self, now_ms: Callable[[], int], ticks: Callable[[], int] = ticks_ms) -> None:
        self._machine_ms = now_ms
        self._ticks = ticks
        self._base_ms: int | None = None
        self._base_ticks = 0
        self._off_ms = 0
        """Offset of the machine's clock from chain time, if it exceeds the age of a block."""

    def now_ms(self) -> int:
        """Return chain time; before the first block, the machine's clock."""
        if self._base_ms is None:
            return self._machine_ms()
        return self._base_ms + self._ticks() - self._base_ticks

    @property
    def trouble(self) -> str:
        """A sentence about a wrong clock; empty if it is right."""
        if not self._off_ms:
            return ""
        way = "ahead of" if self._off_ms > 0 else "behind"
        return f"this machine's clock is {abs(self._off_ms) // 1000} s {way} the chain's, which counts: set the clock"

    def compare(self, block_ms: int) -> None:
        """Compare with the time of a block.

        After an interruption missed blocks come first; time does not go back for them.
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
    """Time since the last block. Reports wait while it is long, because the leases may have been reassigned."""

    def __init__(self, ticks: Callable[[], int] = ticks_ms) -> None:
        self._ticks = ticks
        self._heard = ticks()
        self._over = asyncio.Event()

    @property
    def ms(self) -> int:
        """Milliseconds since the last block."""
        return self._ticks() - self._heard

    @property
    def is_long(self) -> bool:
        """Whether the chain may have reassigned leases meanwhile."""
        return self.ms > LONG_SILENCE_MS

    def note_block(self) -> None:
        """Note a block whose effect on the leases is known."""
        self._heard = self._ticks()
        self._over.set()

    async def wait_until_over(self) -> None:
        """Wait until a recent block is known."""
        while self.is_long:
            self._over.clear()
            await self._over.wait()
