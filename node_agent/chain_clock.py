"""The chain's time, by this machine's clock."""

from __future__ import annotations

import logging
from collections.abc import Callable

log = logging.getLogger(__name__)

TOLERANCE_MS = 30_000
"""A final block is some seconds old; what is beyond is a wrong clock, or a chain that stood still."""


class ChainClock:
    """The only time that says when a lease ends, whatever this machine's clock says. Unix milliseconds throughout."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._ahead_ms = 0
        """By how much the chain's time is ahead of the clock, where that is more than the age of a block."""

    def now_ms(self) -> int:
        """The chain's time."""
        return self._now_ms() + self._ahead_ms

    def machine_ms(self, chain_ms: int) -> int:
        """What this machine's clock shows when the chain's time is this."""
        return chain_ms - self._ahead_ms

    def compare(self, block_ms: int) -> None:
        """Take note of the time of a block that is new."""
        ahead_ms = block_ms - self._now_ms()
        wrong = abs(ahead_ms) > TOLERANCE_MS
        if wrong != bool(self._ahead_ms):
            log.warning("this machine's clock and the chain's differ by %d s; the chain's counts", ahead_ms // 1000)
        self._ahead_ms = ahead_ms if wrong else 0
