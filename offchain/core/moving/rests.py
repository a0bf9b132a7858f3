"""How long something that was tried is left alone before it is tried again: twice as long each time, as remembered.

Unlike :mod:`offchain.core.backoff` it counts tries that went well, too, and forgets what lies long ago.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from offchain.core.backoff import pause_ms

FIRST_MS: Final = 10_000
LONGEST_MS: Final = 600_000
FORGOTTEN_MS: Final = 7_200_000
"""Tries that lie further apart are not counted together."""

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class _Rest:
    tries: int
    at_ms: int
    until_ms: int


class Rests(Generic[K]):
    """By key. Whoever uses it drops what is gone, so it is no larger than what there is."""

    def __init__(self) -> None:
        self._rests: dict[K, _Rest] = {}

    def tried(self, key: K, now_ms: int) -> int:
        """It is tried now, whatever comes of it; gives when it may be again."""
        before = self._rests.get(key)
        tries = 1 if before is None or now_ms - before.at_ms >= FORGOTTEN_MS else before.tries + 1
        until_ms = now_ms + pause_ms(tries, FIRST_MS, LONGEST_MS)
        self._rests[key] = _Rest(tries, now_ms, until_ms)
        return until_ms

    def until_ms(self, key: K) -> int:
        """When it may be tried again; 0 where it never was."""
        rest = self._rests.get(key)
        return 0 if rest is None else rest.until_ms

    def drop(self, key: K) -> None:
        """It is gone."""
        self._rests.pop(key, None)
