"""How good a host's way to its peers and gateways is: what is measured of whom and when, and what follows. Pure.

Numbers of one peer say as much about the peer. The host's own are those that several peers bear out: the second best of
them, so that one peer that lies, or has the same switch, does not make a class. A gateway, which the provider has
chosen, is believed by itself.

Its latency is the round trip to the nearest of its gateways, for that is what the tenants of its pods feel; without
gateways it is that of the middle of at least three peers, which one of them alone makes neither short nor long. What
was measured in the last half hour counts, so that it shows soon where it has grown.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median, median_high
from types import MappingProxyType
from typing import Final, NamedTuple

from offchain.schema.protocol.gateway import is_gateway

PEERS_A_ROUND = 3
ROUND_MS = 600_000
KEEP_MS = 24 * 3_600_000
KEEP_SAMPLES = 24
"""Of each peer: a day's worth is kept, and of that the newest."""
KEEP_PEERS = 64
LEAST_PEERS = 2
LEAST_PEERS_LATENCY: Final = 3
RECENT_MS: Final = 3 * ROUND_MS
"""What is older than this, by the newest visit, is not said as latency any more."""
MOST_LATENCY_MS: Final = 2**16 - 1
"""The chain counts it in 16 bits."""
LEAST_NEWS_MS: Final = 2
"""A latency that differs by no more is not said again."""
CLASSES_MBPS = (10_000, 5_000, 2_500, 1_000, 500, 250, 100, 50, 10, 1)


@dataclass(frozen=True, slots=True)
class Transfer:
    """So many bytes came in so many seconds."""

    size: int
    seconds: float


@dataclass(frozen=True, slots=True)
class PeerSample:
    """One visit to a peer or gateway. `round_trips_ms`: each of several.

    `transfers`: a small and a large one from there, or none; `transfers_up`: the same to there.
    """

    at_ms: int
    round_trips_ms: tuple[float, ...]
    transfers: tuple[Transfer, ...] = ()
    transfers_up: tuple[Transfer, ...] = ()


@dataclass(frozen=True, slots=True)
class PeerEstimate:
    """What is known of the way to one peer."""

    latency_ms: float
    jitter_ms: float
    mbps_down: float | None
    mbps_up: float | None


@dataclass(frozen=True, slots=True)
class NetworkEstimate:
    """What is known of the host's network. `mbps_*` None: too few peers to tell; `class_*` 0: no class."""

    peers: int
    gateways: int
    latency_ms: float | None
    """The middle of all."""
    near_ms: float | None
    """The host's own, as it is said; None: too little is known."""
    mbps_down: float | None
    mbps_up: float | None

    @property
    def class_mbps(self) -> int:
        """The class of what comes to the host."""
        return 0 if self.mbps_down is None else class_of(self.mbps_down)

    @property
    def class_up_mbps(self) -> int:
        """The class of what it sends."""
        return 0 if self.mbps_up is None else class_of(self.mbps_up)

    @property
    def told(self) -> PublishedNetwork:
        """What the chain is to know of it."""
        latency_ms = 0 if self.near_ms is None else min(MOST_LATENCY_MS, max(1, math.ceil(self.near_ms)))
        return PublishedNetwork(self.class_mbps, self.class_up_mbps, latency_ms)


class PublishedNetwork(NamedTuple):
    """What a host says of its network on the chain, each 0 where it is not known.

    The class of either direction in Mbit/s, and its latency in whole milliseconds, rounded up.
    """

    down_mbps: int
    up_mbps: int
    latency_ms: int

    def over(self, known: PublishedNetwork) -> PublishedNetwork:
        """With what the chain has already in place of what is not known."""
        return PublishedNetwork(*(found or before for found, before in zip(self, known, strict=True)))


@dataclass(frozen=True, slots=True)
class PeerHistory:
    """The samples of every peer by its account, and of every gateway by its address, oldest first."""

    samples: Mapping[str, tuple[PeerSample, ...]] = field(default_factory=lambda: MappingProxyType({}))


def choose_peers(me: str, online: Iterable[str], round_number: int, count: int = PEERS_A_ROUND) -> tuple[str, ...]:
    """Whom to visit in this round: others at each round, and others for each host, so that all are visited alike."""

    def place(peer: str) -> bytes:
        return hashlib.blake2b(f"{me}/{round_number}/{peer}".encode(), digest_size=8).digest()

    return tuple(sorted((peer for peer in online if peer != me), key=place)[:count])


def add_sample(book: PeerHistory, peer: str, sample: PeerSample) -> PeerHistory:
    """The book with one more visit, and without what is too old; the peers seen last are kept."""
    samples = {name: _fresh(kept, sample.at_ms) for name, kept in book.samples.items()}
    samples[peer] = (*samples.get(peer, ()), sample)[-KEEP_SAMPLES:]
    newest = sorted(
        ((name, kept) for name, kept in samples.items() if kept), key=lambda item: item[1][-1].at_ms, reverse=True
    )
    return replace(book, samples=MappingProxyType(dict(newest[:KEEP_PEERS])))


def estimate_peer(samples: Sequence[PeerSample]) -> PeerEstimate | None:
    """What these visits say of the way to a peer; None where none got through."""
    trips = [trip for sample in samples for trip in sample.round_trips_ms]
    if not trips:
        return None
    latency = median(trips)
    return PeerEstimate(
        latency_ms=latency,
        jitter_ms=median(abs(trip - latency) for trip in trips),
        mbps_down=_middle(speed_mbps(sample.transfers) for sample in samples),
        mbps_up=_middle(speed_mbps(sample.transfers_up) for sample in samples),
    )


def speed_mbps(transfers: Sequence[Transfer]) -> float | None:
    """Megabits a second by what a larger transfer took longer than a smaller one: what both waited for drops out.

    None where there are not two sizes, or the larger took no longer.
    """
    if len(transfers) < 2:
        return None
    small, large = min(transfers, key=lambda one: one.size), max(transfers, key=lambda one: one.size)
    longer_s = large.seconds - small.seconds
    if large.size <= small.size or longer_s <= 0:
        return None
    return (large.size - small.size) * 8 / longer_s / 1e6


def estimate(book: PeerHistory) -> NetworkEstimate:
    """What all visits together say of the host."""
    found = {name: one for name, samples in book.samples.items() if (one := estimate_peer(samples)) is not None}
    gateways = sum(map(is_gateway, found))
    return NetworkEstimate(
        peers=len(found) - gateways,
        gateways=gateways,
        latency_ms=median(one.latency_ms for one in found.values()) if found else None,
        near_ms=_near_ms(book),
        mbps_down=_borne_out({name: one.mbps_down for name, one in found.items()}),
        mbps_up=_borne_out({name: one.mbps_up for name, one in found.items()}),
    )


def should_publish(known: PublishedNetwork, found: PublishedNetwork) -> bool:
    """Whether the chain is to know, and takes it free of charge: one differs by more than a tenth from what it has.

    A latency that is known differs by more than :data:`LEAST_NEWS_MS` as well.
    """
    differs = [abs(before - now) * 10 > before for before, now in zip(known, found, strict=True)]
    little = known.latency_ms > 0 and abs(known.latency_ms - found.latency_ms) <= LEAST_NEWS_MS
    return differs[0] or differs[1] or (differs[2] and not little)


def class_of(mbps: float) -> int:
    """The class that a speed belongs to: the highest that it reaches; 0 below all."""
    return next((step for step in CLASSES_MBPS if mbps >= step), 0)


def _fresh(samples: tuple[PeerSample, ...], now_ms: int) -> tuple[PeerSample, ...]:
    return tuple(sample for sample in samples if now_ms - sample.at_ms < KEEP_MS)


def _middle(speeds: Iterable[float | None]) -> float | None:
    known = [speed for speed in speeds if speed is not None]
    return median(known) if known else None


def _near_ms(book: PeerHistory) -> float | None:
    """The round trip to the nearest gateway, or to the middle of the peers; by what is recent."""
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


def _borne_out(speeds: Mapping[str, float | None]) -> float | None:
    """The second best of all, or the best of a gateway; None where neither is known."""
    known = sorted((speed for speed in speeds.values() if speed is not None), reverse=True)
    believed = [speed for name, speed in speeds.items() if speed is not None and is_gateway(name)]
    return max([*known[LEAST_PEERS - 1 : LEAST_PEERS], *believed], default=None)
