"""What failed where lately: a score for each host, and hosts that are left alone for a while by pods of one kind.

A state machine without a clock, bounded: of more hosts than :data:`MOST_HOSTS`, those on which something failed last
are remembered.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from offchain.core.conduct.latencies import Latencies
from offchain.core.conduct.pauses import Pauses
from offchain.core.conduct.record import Record
from offchain.core.conduct.seen import OF_THE_MANIFEST, OF_THE_SHAPE, WEIGHT, Seen, What
from offchain.core.conduct.starts import Starts
from offchain.core.scheduler.pod_request import PodShape

MOST_HOSTS: Final = 4096
MOST_LEASES: Final = 4096
"""The last ones about which something was seen: a block that is seen twice, as the best and as final, counts once."""

STEP: Final = 1 / 16
"""Scores are told in steps, so that hosts are not scored anew all the time."""
LOOK_MS: Final = 60_000
"""How often it is looked which scores have faded by a step."""


class Memory:
    """Takes in what was seen; what is asked for depends on that and on the chain time given."""

    def __init__(self) -> None:
        self._records: OrderedDict[str, Record] = OrderedDict()
        self._pauses = Pauses()
        self._starts = Starts()
        self._latencies = Latencies()
        self._leases: OrderedDict[tuple[int, What], None] = OrderedDict()
        self._told: dict[str, float] = {}
        self._fresh: set[str] = set()
        self._fresh_manifests: set[bytes] = set()
        self._looked_ms: int | None = None

    def seen(self, seen: Seen) -> None:
        """Take in one thing. What failed of one lease counts once."""
        if seen.what is What.STARTED:
            self._started(seen)
            return
        if seen.what is What.ROUND_TRIP:
            if self._latencies.grew(seen.host, seen.took_ms, seen.before_ms):
                self.seen(replace(seen, what=What.LATENCY))
            return
        if seen.lease is not None and self._again(seen.lease, seen.what):
            return
        if WEIGHT[seen.what]:
            self._records[seen.host] = self._records.pop(seen.host, Record()).seen(seen.what, seen.at_ms)
            self._fresh.add(seen.host)
            if len(self._records) > MOST_HOSTS:
                self._fresh.add(self._records.popitem(last=False)[0])
        if seen.what in OF_THE_SHAPE and seen.shape is not None:
            self._pauses.failed(seen.host, seen.shape, seen.at_ms)
        if seen.what in OF_THE_MANIFEST and self._pauses.failed(seen.host, seen.manifest, seen.at_ms):
            self._fresh_manifests.add(seen.manifest)

    def score(self, host: str, now_ms: int) -> float:
        """From 0, nothing failed there lately, to 1."""
        record = self._records.get(host)
        return 0.0 if record is None else record.score(now_ms)

    def last(self, host: str) -> tuple[tuple[What, int], ...]:
        """The last things that count against it, each with its chain time."""
        record = self._records.get(host)
        return () if record is None else record.last

    def moved(self, now_ms: int) -> Mapping[str, float]:
        """The hosts whose scores have changed by a step since they were told last, and these scores."""
        if self._looked_ms is None or now_ms - self._looked_ms >= LOOK_MS:
            self._looked_ms = now_ms
            self._fresh.update(self._told)
        moved: dict[str, float] = {}
        for host in sorted(self._fresh):
            score = round(self.score(host, now_ms) / STEP) * STEP
            if self._told.get(host, 0.0) != score:
                moved[host] = score
                self._told[host] = score
                if not score:
                    del self._told[host]
        self._fresh.clear()
        return moved

    def fresh_manifests(self) -> frozenset[bytes]:
        """Those for which a pause began since this was asked last."""
        found = frozenset(self._fresh_manifests)
        self._fresh_manifests.clear()
        return found

    def remembers(self, manifest: bytes) -> bool:
        """Whether pods with this manifest failed somewhere."""
        return manifest in self._pauses

    def left_alone(self, shape: PodShape, manifest: bytes | None, now_ms: int) -> frozenset[str]:
        """The hosts to which such a pod does not go now, because such failed there."""
        hosts = self._pauses.hosts(shape, now_ms)
        return hosts if manifest is None else hosts | self._pauses.hosts(manifest, now_ms)

    def next_ms(self, now_ms: int) -> int | None:
        """When the next pause ends; None where there is none."""
        return self._pauses.next_ms(now_ms)

    def _started(self, seen: Seen) -> None:
        if seen.shape is not None:
            self._pauses.worked(seen.host, seen.shape)
        self._pauses.worked(seen.host, seen.manifest)
        if self._starts.slow(seen.took_ms):
            self.seen(replace(seen, what=What.SLOW_START))

    def _again(self, lease: int, what: What) -> bool:
        if (lease, what) in self._leases:
            return True
        self._leases[lease, what] = None
        if len(self._leases) > MOST_LEASES:
            self._leases.popitem(last=False)
        return False
