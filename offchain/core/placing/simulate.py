"""One run of a policy on a cluster that fills up, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from offchain.core.placing.board import Board
from offchain.core.placing.cluster import Cluster, HostSpec
from offchain.core.placing.filling import Filled, arrivals, fill
from offchain.core.placing.rehearsal import Prepared
from offchain.core.placing.shapes import Mix


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run. Percentages are of all GPUs of the cluster."""

    seed: int
    allocation_percent: float
    filled: Filled
    seconds: float
    """Spent on decisions, the first ones of each shape included."""

    @property
    def decisions_per_second(self) -> float:
        """Pods by time."""
        return self.filled.pods / self.seconds if self.seconds else 0.0


def simulate(
    specs: Sequence[HostSpec],
    mix: Mix,
    prepared: Prepared,
    *,
    load_percent: float,
    seed: int,
    clock_s: Callable[[], float],
) -> Outcome:
    """Fill an empty cluster until pods have asked for `load_percent` of its GPUs. The same seed gives the same outcome.

    ValueError where there are no GPUs, or nobody asks for one.
    """
    cluster = Cluster.of(specs)
    if not cluster.total_milli:
        raise ValueError("no node has a GPU")
    board = Board(cluster, prepared.make(cluster, seed), seed)
    if mix.counts:
        # What is compiled is compiled now, so that it does not count.
        board.look(next(iter(mix.counts)))
    began = clock_s()
    filled = fill(board, arrivals(mix, cluster.total_milli * load_percent / 100, seed))
    return Outcome(seed, cluster.allocation_percent, filled, clock_s() - began)
