"""One trace, one policy, one order: replayed and measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from offchain.core.placing.board import Board
from offchain.core.placing.cluster import Cluster, HostSpec
from offchain.core.placing.rehearsal import Prepared
from offchain.core.replay.arrival import Trace
from offchain.core.replay.fragments import Fragments
from offchain.core.replay.measures import Measures, measure
from offchain.core.replay.order import Backfill, Order
from offchain.core.replay.replay import Replayed, replay
from offchain.core.replay.series import Sample, Series, State


@dataclass(frozen=True, slots=True)
class Outcome:
    """One replay."""

    replayed: Replayed
    samples: Sequence[Sample]
    measures: Measures
    seconds: float
    """Of real time."""


def simulate(
    specs: Sequence[HostSpec],
    trace: Trace,
    prepared: Prepared,
    order: Callable[[Cluster], Order],
    *,
    seed: int,
    clock_s: Callable[[], float],
    prices: Mapping[str, float] | None = None,
    backfill: Callable[[Cluster], Backfill] | None = None,
) -> Outcome:
    """Replay a trace on an empty cluster. The same arguments give the same outcome, but for its seconds."""
    cluster = Cluster.of(specs)
    series = Series(_state(cluster, Fragments(cluster, trace.mix())), trace.window_ms)
    board = Board(cluster, prepared.make(cluster, seed), seed)
    waits = order(cluster)
    began_s = clock_s()
    replayed = replay(board, trace.arrivals, waits, series, None if backfill is None else backfill(cluster))
    seconds = clock_s() - began_s
    measures = measure(replayed, series.samples, specs, trace.window_ms, prices or {})
    return Outcome(replayed, series.samples, measures, seconds)


def _state(cluster: Cluster, fragments: Fragments) -> Callable[[], State]:
    cores = max(1, int(cluster.free.cpu.sum()))
    return lambda: State(
        cluster.allocation_percent, 100.0 * (1.0 - int(cluster.free.cpu.sum()) / cores), fragments.percent()
    )
