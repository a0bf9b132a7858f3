"""When to try again what the chain refused: later each time, in chain time."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

FIRST_MS: Final = 4_000
"""Two blocks: by then the block that overtook us is final."""
LONGEST_MS: Final = 120_000

K = TypeVar("K", bound=Hashable)


def pause_ms(times: int, first_ms: int = FIRST_MS, longest_ms: int = LONGEST_MS) -> int:
    """How long to wait after so many times in a row (at least one): twice as long after each, up to the longest."""
    return min(longest_ms, first_ms << min(times - 1, 16))


@dataclass(slots=True)
class Backoff(Generic[K]):
    """Refusals in a row by key, and the chain time before which not to try again."""

    _refusals: dict[K, int] = field(default_factory=dict)
    _not_before: dict[K, int] = field(default_factory=dict)

    def refused(self, key: K, now: int) -> int:
        """Count a refusal at chain time `now`; gives the time of the next try."""
        self._refusals[key] = self._refusals.get(key, 0) + 1
        self._not_before[key] = now + pause_ms(self._refusals[key])
        return self._not_before[key]

    def waits(self, key: K, now: int) -> bool:
        """Whether it is too early."""
        return now < self._not_before.get(key, 0)

    def next_time(self, now: int) -> int | None:
        """When the first of them may be tried again."""
        return min((time for time in self._not_before.values() if now < time), default=None)

    def succeeded(self, key: K) -> None:
        """Forget its refusals: it succeeded, or is of no concern any more."""
        self._refusals.pop(key, None)
        self._not_before.pop(key, None)

    def keep_only(self, keys: Iterable[K]) -> None:
        """Forget all others: they succeeded, or are of no concern any more."""
        kept = set(keys)
        for gone in self._refusals.keys() - kept:
            del self._refusals[gone]
            del self._not_before[gone]
