"""How good a host's way to its peers and gateways is: what is measured of whom and when, and what follows. Pure.

Numbers of one peer say as much about the peer. The host's own are those that several peers bear out: the second best of
them, so that one peer that lies, or has the same switch, does not make a class. A gateway, which the provider has
chosen, is believed by itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from types import MappingProxyType

from offchain.schema.wire_gateway import is_gateway

PEERS_A_ROUND = 3
ROUND_MS = 600_000
KEEP_MS = 24 * 3_600_000
KEEP_SAMPLES = 24
"""Of each peer: a day's worth is kept, and of that the newest."""
KEEP_PEERS = 64
LEAST_PEERS = 2
CLASSES_MBPS = (10_000, 5_000, 2_500, 1_000, 500, 250, 100, 50, 10, 1)


@dataclass(frozen=True, slots=True)
class Transfer:
    """So many bytes came in so many seconds."""

    size: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Sample:
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
class Estimate:
    """What is known of the host's network. `mbps_*` None: too few peers to tell; `class_*` 0: no class."""

    peers: int
    gateways: int
    latency_ms: float | None
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


@dataclass(frozen=True, slots=True)
class Book:
    """The samples of every peer by its account, and of every gateway by its address, oldest first."""

    samples: Mapping[str, tuple[Sample, ...]] = field(default_factory=lambda: MappingProxyType({}))


def choose_peers(me: str, online: Iterable[str], round_number: int, count: int = PEERS_A_ROUND) -> tuple[str, ...]:
    """Whom to visit in this round: others at each round, and others for each host, so that all are visited alike."""

    def place(peer: str) -> bytes:
        return hashlib.blake2b(f"{me}/{round_number}/{peer}".encode(), digest_size=8).digest()

    return tuple(sorted((peer for peer in online if peer != me), key=place)[:count])


def add(book: Book, peer: str, sample: Sample) -> Book:
    """The book with one more visit, and without what is too old; the peers seen last are kept."""
    samples = {name: _fresh(kept, sample.at_ms) for name, kept in book.samples.items()}
    samples[peer] = (*samples.get(peer, ()), sample)[-KEEP_SAMPLES:]
    newest = sorted(
        ((name, kept) for name, kept in samples.items() if kept), key=lambda item: item[1][-1].at_ms, reverse=True
    )
    return replace(book, samples=MappingProxyType(dict(newest[:KEEP_PEERS])))


def estimate_peer(samples: Sequence[Sample]) -> PeerEstimate | None:
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


def estimate(book: Book) -> Estimate:
    """What all visits together say of the host."""
    found = {name: one for name, samples in book.samples.items() if (one := estimate_peer(samples)) is not None}
    gateways = sum(map(is_gateway, found))
    return Estimate(
        peers=len(found) - gateways,
        gateways=gateways,
        latency_ms=median(one.latency_ms for one in found.values()) if found else None,
        mbps_down=_borne_out({name: one.mbps_down for name, one in found.items()}),
        mbps_up=_borne_out({name: one.mbps_up for name, one in found.items()}),
    )


def is_news(known_mbps: tuple[int, int], found_mbps: tuple[int, int]) -> bool:
    """Whether the chain takes this free of charge: one of the two differs by more than a tenth from what it has."""
    return any(abs(known - found) * 10 > known for known, found in zip(known_mbps, found_mbps, strict=True))


def class_of(mbps: float) -> int:
    """The class that a speed belongs to: the highest that it reaches; 0 below all."""
    return next((step for step in CLASSES_MBPS if mbps >= step), 0)


def _fresh(samples: tuple[Sample, ...], now_ms: int) -> tuple[Sample, ...]:
    return tuple(sample for sample in samples if now_ms - sample.at_ms < KEEP_MS)


def _middle(speeds: Iterable[float | None]) -> float | None:
    known = [speed for speed in speeds if speed is not None]
    return median(known) if known else None


def _borne_out(speeds: Mapping[str, float | None]) -> float | None:
    """The second best of all, or the best of a gateway; None where neither is known."""
    known = sorted((speed for speed in speeds.values() if speed is not None), reverse=True)
    believed = [speed for name, speed in speeds.items() if speed is not None and is_gateway(name)]
    return max([*known[LEAST_PEERS - 1 : LEAST_PEERS], *believed], default=None)
