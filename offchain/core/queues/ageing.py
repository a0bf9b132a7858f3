"""Ageing: a task gains priority while it waits, up to a bound: nobody waits for ever behind more important ones.

    effective = max(priority, min(up_to, priority + per_hour * hours waited))

Those that have come up to the bound are all alike: among them the oldest is first. So there are three ranks: above the
bound by their own priority; at the bound, by age; below it, by when they will reach it, which is the order of their
effective priorities at any time. A task changes its rank once, at a moment that is known when it comes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

HOUR_MS: Final = 3_600_000
HIGHEST_PRIORITY: Final = 255

TOGETHER_MS: Final = HOUR_MS // 10
"""Within so long of each other tasks have come at about the same time, however slowly they age."""

ABOVE: Final = 0
RISEN: Final = 1
RISING: Final = 2
"""The ranks: above the bound, at it, below it."""


@dataclass(frozen=True, slots=True)
class Ageing:
    """How much priority a task gains in an hour, and up to which effective priority. 0 an hour: it does not age."""

    per_hour: float = 10.0
    up_to: int = HIGHEST_PRIORITY

    @property
    def together_ms(self) -> int:
        """In so much time nobody gains a whole point of priority."""
        return int(min(TOGETHER_MS, HOUR_MS / self.per_hour)) if self.per_hour else TOGETHER_MS

    def rise_ms(self, priority: int) -> int:
        """After how long a task of this priority comes up to the bound; below 0, it does not age: -1 - priority."""
        if priority > self.up_to or not self.per_hour:
            return -1 - priority
        return math.ceil((self.up_to - priority) * HOUR_MS / self.per_hour)

    def effective(self, priority: int, submitted_at: int, now_ms: int) -> float:
        """The effective priority now, for people."""
        gained = self.per_hour * max(0, now_ms - submitted_at) / HOUR_MS
        return max(float(priority), min(float(self.up_to), priority + gained))
