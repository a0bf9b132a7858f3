"""How good a host's way to its peers is: what is measured of whom and when, and what follows from it. Pure.

Numbers of one peer say as much about the peer. The host's own are those that several peers bear out: the second best of
them, so that one peer that lies, or has the same switch, does not make a class.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from types import MappingProxyType

PEERS_A_ROUND = 3
ROUND_MS = 600_000
KEEP_MS = 24 * 3_600_000
KEEP_SAMPLES = 24
"""Of each peer: a day's worth is kept, and of that the newest."""
KEEP_PEERS = 64
LEAST_PEERS = 2
CLASSES_MBPS = (10_000, 5_000, 2_500, 1_000, 500, 250, 100, 50, 10)


@dataclass(frozen=True, slots=True)
class Transfer:
    """So many bytes came in so many seconds."""

    size: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Sample:
    """One visit to a peer. `round_trips_ms`: each of several; `transfers`: a small and a large one, or none."""

    at_ms: int
    round_trips_ms: tuple[float, ...]
    transfers: tuple[Transfer, ...] = ()


@dataclass(frozen=True, slots=True)
class PeerEstimate:
    """What is known of the way to one peer."""

    latency_ms: float
    jitter_ms: float
    mbps_down: float | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is known of the host's network. `mbps_down` None: too few peers to tell; `class_mbps` 0: no class."""

    peers: int
    latency_ms: float | None
    mbps_down: float | None
    class_mbps: int


@dataclass(frozen=True, slots=True)
class Book:
    """The samples of every peer, oldest first."""

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
    speeds = [speed for sample in samples if (speed := speed_mbps(sample.transfers)) is not None]
    return PeerEstimate(
        latency_ms=latency,
        jitter_ms=median(abs(trip - latency) for trip in trips),
        mbps_down=median(speeds) if speeds else None,
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
    found = [one for samples in book.samples.values() if (one := estimate_peer(samples)) is not None]
    speeds = sorted((one.mbps_down for one in found if one.mbps_down is not None), reverse=True)
    borne_out = speeds[LEAST_PEERS - 1] if len(speeds) >= LEAST_PEERS else None
    return Estimate(
        peers=len(found),
        latency_ms=median(one.latency_ms for one in found) if found else None,
        mbps_down=borne_out,
        class_mbps=0 if borne_out is None else class_of(borne_out),
    )


def class_of(mbps: float) -> int:
    """The class that a speed belongs to: the highest that it reaches; 0 below all."""
    return next((step for step in CLASSES_MBPS if mbps >= step), 0)


def _fresh(samples: tuple[Sample, ...], now_ms: int) -> tuple[Sample, ...]:
    return tuple(sample for sample in samples if now_ms - sample.at_ms < KEEP_MS)
