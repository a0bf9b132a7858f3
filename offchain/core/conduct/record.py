"""How much failed on one host lately: a sum that halves with time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from offchain.core.conduct.seen import WEIGHT, What

HALF_LIFE_MS: Final = 3_600_000
"""After an hour it counts half: reputation on the chain is for the long run."""

MIDDLE: Final = 2.0
"""So much makes a score of one half."""

MOST_TOLD: Final = 8


@dataclass(frozen=True, slots=True)
class Record:
    """`level` at `at_ms`; the last things that counted, the latest at the end, each with its chain time."""

    level: float = 0.0
    at_ms: int = 0
    last: tuple[tuple[What, int], ...] = ()

    def seen(self, what: What, at_ms: int) -> Record:
        """With one thing more."""
        at_ms = max(at_ms, self.at_ms)
        return Record(self.level_at(at_ms) + WEIGHT[what], at_ms, (*self.last, (what, at_ms))[-MOST_TOLD:])

    def level_at(self, now_ms: int) -> float:
        """What is left of it by now."""
        age_ms = max(0, now_ms - self.at_ms)
        return float(self.level * 0.5 ** (age_ms / HALF_LIFE_MS))

    def score(self, now_ms: int) -> float:
        """From 0, nothing, to below 1."""
        level = self.level_at(now_ms)
        return level / (level + MIDDLE)
