"""Exponential backoff: growing pauses between attempts. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

FIRST_MS: Final = 4_000
"""Two blocks: by then the block that caused the refusal is final."""
LONGEST_MS: Final = 120_000

K = TypeVar("K", bound=Hashable)
Number = TypeVar("Number", int, float)


def backoff(retries: int, first: Number, longest: Number) -> Number:
    """Return the pause after this number of retries, in the unit of `first`; each retry doubles it."""
    return min(longest, first * (1 << min(max(retries, 0), 16)))


@dataclass(slots=True)
class Backoff(Generic[K]):
    """Consecutive attempts by key, and the time of the next one, in milliseconds.

    `forget_after_ms`: attempts further apart are not counted together; None: they are.
    """

    first_ms: int = FIRST_MS
    longest_ms: int = LONGEST_MS
    forget_after_ms: int | None = None
    _attempts: dict[K, tuple[int, int]] = field(default_factory=dict)
    """[key]: number of attempts, and the time of the last one."""
    _not_before: dict[K, int] = field(default_factory=dict)

    def refused(self, key: K, now: int) -> int:
        """Count an attempt at time `now`; return the time of the next one."""
        count, last = self._attempts.get(key, (0, now))
        if self.forget_after_ms is not None and now - last >= self.forget_after_ms:
            count = 0
        self._attempts[key] = count + 1, now
        self._not_before[key] = now + backoff(count, self.first_ms, self.longest_ms)
        return self._not_before[key]

    def not_before(self, key: K) -> int:
        """Return when to try again; 0 for an unknown key."""
        return self._not_before.get(key, 0)

    def waits(self, key: K, now: int) -> bool:
        """Return whether it is too early to try again."""
        return now < self.not_before(key)

    def next_time(self, now: int) -> int | None:
        """Return when the first pause ends."""
        return min((time for time in self._not_before.values() if now < time), default=None)

    def succeeded(self, key: K) -> None:
        """Forget a key that succeeded, or is gone."""
        self._attempts.pop(key, None)
        self._not_before.pop(key, None)

    def keep_only(self, keys: Iterable[K]) -> None:
        """Forget all other keys."""
        kept = set(keys)
        for gone in self._attempts.keys() - kept:
            self.succeeded(gone)
