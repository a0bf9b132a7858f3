"""How long pods take from assignment to start, in the network as a whole: so that a slow host can be told."""

from __future__ import annotations

import statistics
from collections import deque
from typing import Final

MOST: Final = 256
"""Of the latest starts."""
ENOUGH: Final = 16
"""With fewer nobody is called slow."""
TIMES: Final = 4
"""So many times the median is slow,"""
LEAST_MS: Final = 20_000
"""if it is this long: a few blocks say nothing about a host."""


class Starts:
    """Follows starts."""

    def __init__(self) -> None:
        self._took: deque[int] = deque(maxlen=MOST)

    def slow(self, took_ms: int) -> bool:
        """Take in one more; gives whether it was slow, by those before it."""
        slow = len(self._took) >= ENOUGH and took_ms > max(LEAST_MS, TIMES * statistics.median(self._took))
        self._took.append(took_ms)
        return slow
