"""Which kinds of pods do not go to which hosts for a while, because they failed there more than once.

A kind is what a pod asks for (its shape), or its manifest. The pause doubles with every further failure; a start
there ends it.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from typing import Final

from offchain.core.scheduler.pod_request import PodShape

Kind = PodShape | bytes

PATIENCE: Final = 2
"""So many failures before the first pause: one is an accident."""
FIRST_MS: Final = 30_000
LONGEST_MS: Final = 3_600_000
FORGOTTEN_MS: Final = 2 * LONGEST_MS
"""Failures that lie further apart are not counted together."""
MOST: Final = 4096
"""Pairs of a host and a kind; of more, those that failed the longest ago are forgotten."""


@dataclass(frozen=True, slots=True)
class _Pause:
    failures: int
    at_ms: int
    until_ms: int


def pause_ms(failures: int) -> int:
    """How long after so many failures."""
    return 0 if failures < PATIENCE else min(LONGEST_MS, FIRST_MS << min(failures - PATIENCE, 16))


class Pauses:
    """Follows failures and starts."""

    def __init__(self) -> None:
        self._pauses: OrderedDict[tuple[str, Kind], _Pause] = OrderedDict()
        self._hosts: defaultdict[Kind, set[str]] = defaultdict(set)

    def failed(self, host: str, kind: Kind, at_ms: int) -> bool:
        """It failed there once more; gives whether a pause begins."""
        before = self._pauses.pop((host, kind), None)
        known = before.failures if before is not None and at_ms - before.at_ms < FORGOTTEN_MS else 0
        pause = pause_ms(known + 1)
        self._pauses[host, kind] = _Pause(known + 1, at_ms, at_ms + pause)
        self._hosts[kind].add(host)
        if len(self._pauses) > MOST:
            self._drop(*next(iter(self._pauses)))
        return pause > 0

    def worked(self, host: str, kind: Kind) -> None:
        """It started there: what failed before is forgiven."""
        if (host, kind) in self._pauses:
            self._drop(host, kind)

    def __contains__(self, kind: Kind) -> bool:
        """Whether any failure of this kind is remembered."""
        return kind in self._hosts

    def __len__(self) -> int:
        """How many pairs are remembered."""
        return len(self._pauses)

    def hosts(self, kind: Kind, now_ms: int) -> frozenset[str]:
        """Those to which nothing of this kind goes now."""
        known = self._hosts.get(kind, ())
        return frozenset(host for host in known if now_ms < self._pauses[host, kind].until_ms)

    def next_ms(self, now_ms: int) -> int | None:
        """When the first of the pauses ends."""
        return min((pause.until_ms for pause in self._pauses.values() if now_ms < pause.until_ms), default=None)

    def _drop(self, host: str, kind: Kind) -> None:
        del self._pauses[host, kind]
        self._hosts[kind].discard(host)
        if not self._hosts[kind]:
            del self._hosts[kind]
