"""Estimate of the host's network quality: which peers are measured, and what follows from the samples. Pure.

A sample of one peer says as much about the peer as about this host. The host's bandwidth is the second best of all
peers, so that one peer that lies, or is on the same switch, does not determine the class. A gateway was chosen by the
provider and counts by itself.

The latency is the round trip to the nearest gateway, because tenants reach pods through it; without gateways it is the
median of at least three peers, so that one peer cannot shift it. Only samples of the last half hour count, so that a
change shows soon.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median, median_high
from types import MappingProxyType
from typing import Final, NamedTuple

from offchain.schema.durations import DAY_MS
from offchain.schema.protocol.gateway import is_gateway

PEERS_A_ROUND = 3
ROUND_MS = 600_000
KEEP_MS = DAY_MS
KEEP_SAMPLES = 24
"""For each peer: the newest samples of one day."""
KEEP_PEERS = 64
LEAST_PEERS = 2
LEAST_PEERS_LATENCY: Final = 3
RECENT_MS: Final = 3 * ROUND_MS
"""Samples that are older than this, relative to the newest one, do not count for the latency."""
MOST_LATENCY_MS: Final = 2**16 - 1
"""The chain stores it in 16 bits."""
LEAST_NEWS_MS: Final = 2
"""Smaller changes of the latency are not published."""
CLASSES_MBPS = (10_000, 5_000, 2_500, 1_000, 500, 250, 100, 50, 10, 1)


@dataclass(frozen=True, slots=True)
class Transfer:
    """A transfer of `size` bytes in `seconds`."""

    size: int
    seconds: float


@dataclass(frozen=True, slots=True)
class PeerSample:
    """One measurement of a peer or gateway, with several round trips.

    `transfers`: a small and a large download, or none; `transfers_up`: uploads likewise.
    """

    at_ms: int
    round_trips_ms: tuple[float, ...]
    transfers: tuple[Transfer, ...] = ()
    transfers_up: tuple[Transfer, ...] = ()


@dataclass(frozen=True, slots=True)
class PeerEstimate:
    """Estimate for the connection to one peer."""

    latency_ms: float
    jitter_ms: float
    mbps_down: float | None
    mbps_up: float | None


@dataclass(frozen=True, slots=True)
class NetworkEstimate:
    """Estimate for the host's network. `mbps_*` is None with too few peers; `class_*` is 0 without a class."""

    peers: int
    gateways: int
    latency_ms: float | None
    """Median of all peers."""
    near_ms: float | None
    """The latency to publish; None if too little is known."""
    mbps_down: float | None
    mbps_up: float | None

    @property
    def class_mbps(self) -> int:
        """Class of the download bandwidth."""
        return 0 if self.mbps_down is None else class_of(self.mbps_down)

    @property
    def class_up_mbps(self) -> int:
        """Class of the upload bandwidth."""
        return 0 if self.mbps_up is None else class_of(self.mbps_up)

    @property
    def published(self) -> PublishedNetwork:
        """The values to publish on the chain."""
        latency_ms = 0 if self.near_ms is None else min(MOST_LATENCY_MS, max(1, math.ceil(self.near_ms)))
        return PublishedNetwork(self.class_mbps, self.class_up_mbps, latency_ms)


class PublishedNetwork(NamedTuple):
    """Network values of a host on the chain; each is 0 if unknown.

    The class of either direction in Mbit/s, and the latency in whole milliseconds, rounded up.
    """

    down_mbps: int
    up_mbps: int
    latency_ms: int

    def over(self, known: PublishedNetwork) -> PublishedNetwork:
        """Return these values, with those of `known` instead of unknown ones."""
        return PublishedNetwork(*(found or before for found, before in zip(self, known, strict=True)))


@dataclass(frozen=True, slots=True)
class PeerHistory:
    """The samples of every peer by its account, and of every gateway by its address, oldest first."""

    samples: Mapping[str, tuple[PeerSample, ...]] = field(default_factory=lambda: MappingProxyType({}))


def choose_peers(me: str, online: Iterable[str], round_number: int, count: int = PEERS_A_ROUND) -> tuple[str, ...]:
    """Return the peers to measure now. They differ by round and host, so that all are measured equally often."""

    def place(peer: str) -> bytes:
        return hashlib.blake2b(f"{me}/{round_number}/{peer}".encode(), digest_size=8).digest()

    return tuple(sorted((peer for peer in online if peer != me), key=place)[:count])


def add_sample(book: PeerHistory, peer: str, sample: PeerSample) -> PeerHistory:
    """Add a sample and drop outdated ones; the most recently measured peers are kept."""
    samples = {name: _fresh(kept, sample.at_ms) for name, kept in book.samples.items()}
    samples[peer] = (*samples.get(peer, ()), sample)[-KEEP_SAMPLES:]
    newest = sorted(
        ((name, kept) for name, kept in samples.items() if kept), key=lambda item: item[1][-1].at_ms, reverse=True
    )
    return replace(book, samples=MappingProxyType(dict(newest[:KEEP_PEERS])))


def estimate_peer(samples: Sequence[PeerSample]) -> PeerEstimate | None:
    """Return the estimate from the samples of one peer; None without a successful one."""
    trips = [trip for sample in samples for trip in sample.round_trips_ms]
    if not trips:
        return None
    latency = median(trips)
    return PeerEstimate(
        latency_ms=latency,
        jitter_ms=median(abs(trip - latency) for trip in trips),
        mbps_down=_median(speed_mbps(sample.transfers) for sample in samples),
        mbps_up=_median(speed_mbps(sample.transfers_up) for sample in samples),
    )


def speed_mbps(transfers: Sequence[Transfer]) -> float | None:
    """Return the bandwidth in Mbit/s from the difference of a large and a small transfer, which cancels the latency.

    None if there are not two sizes, or the larger transfer was not slower.
    """
    if len(transfers) < 2:
        return None
    small, large = min(transfers, key=lambda one: one.size), max(transfers, key=lambda one: one.size)
    longer_s = large.seconds - small.seconds
    if large.size <= small.size or longer_s <= 0:
        return None
    return (large.size - small.size) * 8 / longer_s / 1e6


def estimate(book: PeerHistory) -> NetworkEstimate:
    """Return the estimate from all samples."""
    found = {name: one for name, samples in book.samples.items() if (one := estimate_peer(samples)) is not None}
    gateways = sum(map(is_gateway, found))
    return NetworkEstimate(
        peers=len(found) - gateways,
        gateways=gateways,
        latency_ms=median(one.latency_ms for one in found.values()) if found else None,
        near_ms=_near_ms(book),
        mbps_down=_confirmed_mbps({name: one.mbps_down for name, one in found.items()}),
        mbps_up=_confirmed_mbps({name: one.mbps_up for name, one in found.items()}),
    )


def should_publish(known: PublishedNetwork, found: PublishedNetwork) -> bool:
    """Whether the values are worth a call that is free of charge: one differs by more than a tenth from the known one.

    A known latency has to differ by more than :data:`LEAST_NEWS_MS` as well.
    """
    differs = [abs(before - now) * 10 > before for before, now in zip(known, found, strict=True)]
    little = known.latency_ms > 0 and abs(known.latency_ms - found.latency_ms) <= LEAST_NEWS_MS
    return differs[0] or differs[1] or (differs[2] and not little)


def class_of(mbps: float) -> int:
    """Return the highest class that a bandwidth reaches; 0 below all."""
    return next((step for step in CLASSES_MBPS if mbps >= step), 0)


def _fresh(samples: tuple[PeerSample, ...], now_ms: int) -> tuple[PeerSample, ...]:
    return tuple(sample for sample in samples if now_ms - sample.at_ms < KEEP_MS)


def _median(speeds: Iterable[float | None]) -> float | None:
    known = [speed for speed in speeds if speed is not None]
    return median(known) if known else None


def _near_ms(book: PeerHistory) -> float | None:
    """Return the recent round trip to the nearest gateway, or the median of the peers."""
    newest_ms = max((samples[-1].at_ms for samples in book.samples.values()), default=0)
    gateways: list[float] = []
    peers: list[float] = []
    for name, samples in book.samples.items():
        found = estimate_peer([sample for sample in samples if newest_ms - sample.at_ms < RECENT_MS])
        if found is not None:
            (gateways if is_gateway(name) else peers).append(found.latency_ms)
    if gateways:
        return min(gateways)
    return median_high(peers) if len(peers) >= LEAST_PEERS_LATENCY else None


def _confirmed_mbps(speeds: Mapping[str, float | None]) -> float | None:
    """Return the second best value of all peers, or the best of a gateway; None without either."""
    known = sorted((speed for speed in speeds.values() if speed is not None), reverse=True)
    believed = [speed for name, speed in speeds.items() if speed is not None and is_gateway(name)]
    return max([*known[LEAST_PEERS - 1 : LEAST_PEERS], *believed], default=None)
