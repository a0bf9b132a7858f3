"""Host health: failure scores, cool-downs, slow starts, growing latencies and image locality, by observations.

Kept in memory only, and bounded. After a restart it is empty: what the chain has on record (reputation, unhealthy
devices) is known again at once, failures of the last hours are not.
"""

from __future__ import annotations

import statistics
from collections import OrderedDict, defaultdict, deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from offchain.backoff import backoff
from offchain.core.scheduler.host_observations import (
    FAILURE_WEIGHT,
    MANIFEST_FAILURES,
    SHAPE_FAILURES,
    HostObservation,
    ObservationKind,
)
from offchain.core.scheduler.pod_request import PodShape
from offchain.schema.durations import HOUR_MS

K = TypeVar("K")
V = TypeVar("V")


class BoundedDict(OrderedDict[K, V], Generic[K, V]):
    """A dictionary of at most `capacity` entries: the one that was put least recently is evicted."""

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self._capacity = capacity

    def put(self, key: K, value: V) -> tuple[K, V] | None:
        """Set an entry as the most recent one; return the evicted entry, if any."""
        self[key] = value
        self.move_to_end(key)
        return self.popitem(last=False) if len(self) > self._capacity else None


MAX_HOSTS: Final = 4096
MAX_LEASES: Final = 4096
"""Observations that are remembered to be counted once: a block is seen twice, as the best and as final."""

HALF_LIFE_MS: Final = HOUR_MS
"""Of failures; reputation on the chain covers longer periods."""
HALF_SCORE_LEVEL: Final = 2.0
"""The level with a score of one half."""
MAX_RECENT: Final = 8

SCORE_STEP: Final = 1 / 16
"""Scores are reported in steps, so that hosts are not ranked anew all the time."""
DECAY_CHECK_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class FailureRecord:
    """Failures of one host: a level that decays exponentially, at `at_ms`, and the last ones with their chain times."""

    level: float = 0.0
    at_ms: int = 0
    recent: tuple[tuple[ObservationKind, int], ...] = ()

    def with_failure(self, kind: ObservationKind, at_ms: int) -> FailureRecord:
        at_ms = max(at_ms, self.at_ms)
        recent = (*self.recent, (kind, at_ms))[-MAX_RECENT:]
        return FailureRecord(self._level_at(at_ms) + FAILURE_WEIGHT[kind], at_ms, recent)

    def score(self, now_ms: int) -> float:
        """Return a score from 0 (no failures) to below 1."""
        level = self._level_at(now_ms)
        return level / (level + HALF_SCORE_LEVEL)

    def _level_at(self, now_ms: int) -> float:
        return float(self.level * 0.5 ** (max(0, now_ms - self.at_ms) / HALF_LIFE_MS))


class FailureHistory:
    """Failure scores of hosts and cool-downs for kinds of pods, by observations and chain time."""

    def __init__(self) -> None:
        self._records: BoundedDict[str, FailureRecord] = BoundedDict(MAX_HOSTS)
        self._cooldowns = Cooldowns()
        self._starts = StartTimes()
        self._latencies = LatencyHistory()
        self._counted: BoundedDict[tuple[int, ObservationKind], None] = BoundedDict(MAX_LEASES)
        self._reported: dict[str, float] = {}
        self._changed_hosts: set[str] = set()
        self._new_manifests: set[bytes] = set()
        self._decay_checked_ms: int | None = None

    def observe(self, seen: HostObservation) -> None:
        """Take in an observation. Of one lease, each kind counts once."""
        if seen.kind is ObservationKind.STARTED:
            self._observe_start(seen)
            return
        if seen.kind is ObservationKind.ROUND_TRIP:
            if self._latencies.has_grown(seen.host, seen.took_ms, seen.before_ms):
                self.observe(replace(seen, kind=ObservationKind.LATENCY))
            return
        if seen.lease is not None:
            if (seen.lease, seen.kind) in self._counted:
                return
            self._counted.put((seen.lease, seen.kind), None)
        if FAILURE_WEIGHT[seen.kind]:
            record = self._records.get(seen.host, FailureRecord()).with_failure(seen.kind, seen.at_ms)
            evicted = self._records.put(seen.host, record)
            self._changed_hosts.update((seen.host,) if evicted is None else (seen.host, evicted[0]))
        if seen.kind in SHAPE_FAILURES and seen.shape is not None:
            self._cooldowns.failed(seen.host, seen.shape, seen.at_ms)
        if seen.kind in MANIFEST_FAILURES and self._cooldowns.failed(seen.host, seen.manifest, seen.at_ms):
            self._new_manifests.add(seen.manifest)

    def score(self, host: str, now_ms: int) -> float:
        """Return the failure score of a host, from 0 (no failures) to 1."""
        record = self._records.get(host)
        return 0.0 if record is None else record.score(now_ms)

    def recent_failures(self, host: str) -> tuple[tuple[ObservationKind, int], ...]:
        """Return the last failures of a host, each with its chain time."""
        record = self._records.get(host)
        return () if record is None else record.recent

    def changed_scores(self, now_ms: int) -> Mapping[str, float]:
        """Return the scores, rounded to SCORE_STEP, that changed since the last call, by host."""
        if self._decay_checked_ms is None or now_ms - self._decay_checked_ms >= DECAY_CHECK_MS:
            self._decay_checked_ms = now_ms
            self._changed_hosts.update(self._reported)
        changed: dict[str, float] = {}
        for host in sorted(self._changed_hosts):
            score = round(self.score(host, now_ms) / SCORE_STEP) * SCORE_STEP
            if self._reported.get(host, 0.0) != score:
                changed[host] = score
                self._reported[host] = score
                if not score:
                    del self._reported[host]
        self._changed_hosts.clear()
        return changed

    def report_again(self, hosts: Iterable[str]) -> None:
        """Let the next call of :meth:`changed_scores` contain the scores of these hosts, unless they are 0."""
        for host in hosts:
            if host in self._records:
                self._reported.pop(host, None)
                self._changed_hosts.add(host)

    def new_manifest_cooldowns(self) -> frozenset[bytes]:
        """Return the manifests for which a cool-down began since the last call."""
        found = frozenset(self._new_manifests)
        self._new_manifests.clear()
        return found

    def has_failed(self, manifest: bytes) -> bool:
        """Return whether pods with this manifest failed on some host."""
        return manifest in self._cooldowns

    def hosts_in_cooldown(self, shape: PodShape, manifest: bytes | None, now_ms: int) -> frozenset[str]:
        """Return the hosts on which such a pod is not placed now."""
        hosts = self._cooldowns.hosts(shape, now_ms)
        return hosts if manifest is None else hosts | self._cooldowns.hosts(manifest, now_ms)

    def next_ms(self, now_ms: int) -> int | None:
        """Return when the next cool-down ends."""
        return self._cooldowns.next_ms(now_ms)

    def _observe_start(self, seen: HostObservation) -> None:
        if seen.shape is not None:
            self._cooldowns.succeeded(seen.host, seen.shape)
        self._cooldowns.succeeded(seen.host, seen.manifest)
        if self._starts.is_slow(seen.took_ms):
            self.observe(replace(seen, kind=ObservationKind.SLOW_START))


PodKind = PodShape | bytes
"""The request of a pod, or the digest of its manifest."""

FAILURES_BEFORE_COOLDOWN: Final = 2
FIRST_COOLDOWN_MS: Final = 30_000
LONGEST_COOLDOWN_MS: Final = HOUR_MS
FORGET_AFTER_MS: Final = 2 * LONGEST_COOLDOWN_MS
"""Failures further apart are not counted together."""
MAX_COOLDOWNS: Final = 4096
"""Pairs of a host and a kind of pods."""


@dataclass(frozen=True, slots=True)
class _Cooldown:
    failures: int
    at_ms: int
    until_ms: int


def cooldown_ms(failures: int) -> int:
    """Return the cool-down after this many failures: it doubles with each one."""
    times = failures - FAILURES_BEFORE_COOLDOWN + 1
    return backoff(times - 1, FIRST_COOLDOWN_MS, LONGEST_COOLDOWN_MS) if times > 0 else 0


class Cooldowns:
    """Hosts on which pods of a kind are not placed for a while after repeated failures; a start there ends it."""

    def __init__(self) -> None:
        self._cooldowns: BoundedDict[tuple[str, PodKind], _Cooldown] = BoundedDict(MAX_COOLDOWNS)
        self._hosts: defaultdict[PodKind, set[str]] = defaultdict(set)

    def failed(self, host: str, kind: PodKind, at_ms: int) -> bool:
        """Count a failure; return whether a cool-down begins."""
        before = self._cooldowns.get((host, kind))
        known = before.failures if before is not None and at_ms - before.at_ms < FORGET_AFTER_MS else 0
        pause = cooldown_ms(known + 1)
        self._hosts[kind].add(host)
        evicted = self._cooldowns.put((host, kind), _Cooldown(known + 1, at_ms, at_ms + pause))
        if evicted is not None:
            self._forget_host(*evicted[0])
        return pause > 0

    def succeeded(self, host: str, kind: PodKind) -> None:
        """Forget the failures of this kind on a host."""
        if self._cooldowns.pop((host, kind), None) is not None:
            self._forget_host(host, kind)

    def __contains__(self, kind: PodKind) -> bool:
        """Return whether any failure of this kind is remembered."""
        return kind in self._hosts

    def hosts(self, kind: PodKind, now_ms: int) -> frozenset[str]:
        """Return the hosts that are in cool-down for this kind."""
        known = self._hosts.get(kind, ())
        return frozenset(host for host in known if now_ms < self._cooldowns[host, kind].until_ms)

    def next_ms(self, now_ms: int) -> int | None:
        """Return when the next cool-down ends."""
        return min((one.until_ms for one in self._cooldowns.values() if now_ms < one.until_ms), default=None)

    def _forget_host(self, host: str, kind: PodKind) -> None:
        self._hosts[kind].discard(host)
        if not self._hosts[kind]:
            del self._hosts[kind]


MAX_STARTS: Final = 256
MIN_STARTS: Final = 16
"""With fewer starts none is called slow."""
SLOW_START_FACTOR: Final = 4
SLOW_START_MIN_MS: Final = 20_000
"""A few blocks say nothing about a host."""


class StartTimes:
    """How long pods take from assignment to start, in the whole network, to recognise slow starts."""

    def __init__(self) -> None:
        self._took: deque[int] = deque(maxlen=MAX_STARTS)

    def is_slow(self, took_ms: int) -> bool:
        """Add a start; return whether it was slow compared to the median of those before it."""
        slow = len(self._took) >= MIN_STARTS and took_ms > max(
            SLOW_START_MIN_MS, SLOW_START_FACTOR * statistics.median(self._took)
        )
        self._took.append(took_ms)
        return slow


MAX_LATENCIES: Final = 16
"""Per host. The chain gets values only when they have changed."""
LATENCY_FACTOR: Final = 3
LATENCY_MIN_GROWTH_MS: Final = 50
"""A latency has grown if it exceeds LATENCY_FACTOR times the host's own median, and the median by this much."""


class LatencyHistory:
    """Round trips that hosts report, to recognise growing latencies; those of the hosts that reported last are kept."""

    def __init__(self) -> None:
        self._values: BoundedDict[str, deque[int]] = BoundedDict(MAX_HOSTS)
        self._grown: set[str] = set()
        """Hosts whose latency has grown and not recovered yet."""

    def has_grown(self, host: str, latency_ms: int, before_ms: int) -> bool:
        """Add a value; return whether it has grown compared to those before it, and had not already.

        `before_ms`: what the chain had on record until then, for an unknown host. 0 in both: none. An episode ends when
        the latency has recovered, or has lasted so long that it is the host's median.
        """
        if not latency_ms:
            return False
        values = self._values.get(host)
        if values is None:
            values = deque([before_ms] if before_ms else [], maxlen=MAX_LATENCIES)
        # The lower of two medians: a value that was reported twice is not usual yet.
        usual_ms = statistics.median_low(values) if values else latency_ms
        grown = latency_ms > max(LATENCY_FACTOR * usual_ms, usual_ms + LATENCY_MIN_GROWTH_MS)
        values.append(latency_ms)
        evicted = self._values.put(host, values)
        if evicted is not None:
            self._grown.discard(evicted[0])
        begins = grown and host not in self._grown
        if grown:
            self._grown.add(host)
        else:
            self._grown.discard(host)
        return begins


MAX_MANIFESTS: Final = 256
MAX_HOSTS_PER_MANIFEST: Final = 16


class ImageLocality:
    """Hosts that ran a manifest recently.

    Hosts do not report their images. One that ran a manifest has pulled its images and keeps them until it needs the
    disk: a guess, which costs a pull if it is wrong.
    """

    def __init__(self) -> None:
        self._hosts: BoundedDict[bytes, BoundedDict[str, None]] = BoundedDict(MAX_MANIFESTS)

    def hosts(self, manifest: bytes) -> Collection[str]:
        return self._hosts.get(manifest, {}).keys()

    def __contains__(self, manifest: bytes) -> bool:
        """Return whether a host ran it."""
        return manifest in self._hosts

    def add(self, manifest: bytes, host: str) -> frozenset[str]:
        """Record that a host runs a pod of the manifest; return the hosts whose locality changed."""
        known = self._hosts.get(manifest) or BoundedDict(MAX_HOSTS_PER_MANIFEST)
        changed = set() if host in known else {host}
        evicted_host = known.put(host, None)
        if evicted_host is not None:
            changed.add(evicted_host[0])
        evicted = self._hosts.put(manifest, known)
        if evicted is not None:
            changed |= evicted[1].keys()
        return frozenset(changed)
