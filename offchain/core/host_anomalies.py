"""Anomalies of hosts in the chain's events: slow starts of pods, and a falling reputation.

In memory and bounded. After a restart the history is empty: a host that stays slow is recognised after
:data:`SLOW_STARTS` further starts, and a reputation is compared with the first score that is seen.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from offchain.core.scheduler.host_health import MAX_HOSTS, BoundedDict, StartTimes
from offchain.schema.durations import DAY_MS

RECENT_STARTS: Final = 5
SLOW_STARTS: Final = 3
"""Slow starts among the last :data:`RECENT_STARTS` of a host that make an anomaly."""
WINDOW_MS: Final = DAY_MS
"""A reputation is compared with the highest one in this time, and an anomaly is counted as long."""
FALL_PPM: Final = 100_000
"""A reputation falls if it is lower by this than the highest one in the window: ten of a hundred points."""
_MOST_SCORES: Final = 64


class AnomalyKind(StrEnum):
    """Kinds of anomalies, as labels of a metric."""

    SLOW_STARTS = "slow_starts"
    FALLING_REPUTATION = "falling_reputation"


@dataclass(frozen=True, slots=True)
class HostAnomaly:
    """An anomaly of a host that has begun. `text`: a sentence for its provider."""

    kind: AnomalyKind
    host: str
    text: str


@dataclass(slots=True)
class _HostHistory:
    starts: deque[bool] = field(default_factory=lambda: deque(maxlen=RECENT_STARTS))
    """Whether each of the last starts was slow."""
    scores: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=_MOST_SCORES))
    """Chain times and scores of the window, falling: a score hides the lower ones before it."""
    anomalies: dict[AnomalyKind, int] = field(default_factory=dict)
    """Present anomalies, with the chain time at which each was last seen."""


class HostAnomalies:
    """Recognises anomalies. An anomaly is returned once, and again only after it was over."""

    def __init__(self) -> None:
        self._hosts: BoundedDict[str, _HostHistory] = BoundedDict(MAX_HOSTS)
        self._starts = StartTimes()

    def started(self, host: str, took_ms: int, at_ms: int) -> HostAnomaly | None:
        """Note the start of a pod. `took_ms`: from its assignment; `at_ms`: chain time."""
        history = self._history(host)
        history.starts.append(self._starts.is_slow(took_ms))
        slow = sum(history.starts)
        text = (
            f"Host {host} starts pods slowly: {slow} of its last {len(history.starts)} took more than four times as "
            f"long as is usual in the network, the last one {took_ms / 1000:.0f} s."
        )
        begins = self._change(history, AnomalyKind.SLOW_STARTS, at_ms, is_present=slow >= SLOW_STARTS, is_over=not slow)
        return HostAnomaly(AnomalyKind.SLOW_STARTS, host, text) if begins else None

    def scored(self, host: str, score_ppm: int, at_ms: int) -> HostAnomaly | None:
        """Note a new score of a host, in parts per million."""
        history = self._history(host)
        scores = history.scores
        while scores and scores[0][0] <= at_ms - WINDOW_MS:
            scores.popleft()
        while scores and scores[-1][1] <= score_ppm:
            scores.pop()
        scores.append((at_ms, score_ppm))
        highest = scores[0][1]
        fall = highest - score_ppm
        text = f"The reputation of host {host} fell from {_percent(highest)} to {_percent(score_ppm)} within 24 h."
        kind = AnomalyKind.FALLING_REPUTATION
        begins = self._change(history, kind, at_ms, is_present=fall >= FALL_PPM, is_over=fall < FALL_PPM // 2)
        return HostAnomaly(kind, host, text) if begins else None

    def hosts_with(self, kind: AnomalyKind, now_ms: int) -> int:
        """Return how many hosts have an anomaly that was seen within the window. `now_ms`: chain time."""
        oldest_ms = now_ms - WINDOW_MS
        return sum(1 for history in self._hosts.values() if history.anomalies.get(kind, oldest_ms) > oldest_ms)

    def _history(self, host: str) -> _HostHistory:
        history = self._hosts.get(host) or _HostHistory()
        self._hosts.put(host, history)
        return history

    @staticmethod
    def _change(history: _HostHistory, kind: AnomalyKind, at_ms: int, *, is_present: bool, is_over: bool) -> bool:
        """Note whether an anomaly is present or over; between the two it stays as it was. Return whether it begins."""
        seen_ms = history.anomalies.get(kind)
        if is_present:
            history.anomalies[kind] = at_ms
        elif is_over:
            history.anomalies.pop(kind, None)
        return is_present and (seen_ms is None or seen_ms <= at_ms - WINDOW_MS)


def _percent(score_ppm: int) -> str:
    return f"{score_ppm / 10_000:.1f} %"
