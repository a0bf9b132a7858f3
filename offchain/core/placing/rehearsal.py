"""Gantry's policy tries out what suits a cluster and its pods before it is used.

How much a place for a pod of several GPUs is worth depends on whether other pods would fill it: with many small pods it
is worth little, with few it is all there is; and how many pods a host's cores suffice for depends on how unlike these
are. No formula of ours knew that for every mix, so candidates are rehearsed: each fills a copy of the empty cluster
with pods drawn from the expected mix. Published FGD is one of them, for clusters that run out of cores long before they
run out of GPUs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from offchain.core.placing.board import Board
from offchain.core.placing.cluster import Cluster, HostSpec
from offchain.core.placing.filling import MARKS, arrivals, fill
from offchain.core.placing.fragmentation import Fragmentation
from offchain.core.placing.policies import make
from offchain.core.placing.policy import Policy
from offchain.core.placing.shapes import Mix
from offchain.core.placing.worth import CORES, MEMORY, SEVERAL_GPUS, Worth

MOST_HOSTS = 2000
"""Of larger clusters, a part that has as many of each kind."""

_SEEDS = (1_000_003, 1_000_033, 1_000_037)
"""Of the arrivals in rehearsals: others than anybody measures with."""


class _Factors(NamedTuple):
    """See :class:`offchain.core.placing.worth.Worth`."""

    several_gpus: float = SEVERAL_GPUS
    cores: float = CORES
    memory: float = MEMORY


_TRIED = (
    _Factors(),
    _Factors(several_gpus=1.0),
    _Factors(several_gpus=4.0),
    _Factors(cores=1.0),
    _Factors(cores=2.0),
    _Factors(memory=1.5),
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A policy that can be made for any empty cluster of these hosts. `note`: what was chosen, for people."""

    make: Callable[[Cluster, int], Policy]
    note: str


def prepare(
    name: str, specs: Sequence[HostSpec], mix: Mix, say: Callable[[str], None] = lambda _line: None
) -> Prepared:
    """The policy of this name for the pods that are expected. ValueError where there is none.

    `say` is told of each rehearsal: it takes seconds in all.
    """
    if name != "worth":
        return Prepared(lambda cluster, seed: make(name, cluster, mix, seed), "")
    candidates = [_worth(mix, factors) for factors in _TRIED]
    candidates.append(Prepared(lambda cluster, _: Fragmentation(cluster, mix), "fgd"))
    if not any(spec.gpus for spec in specs) or not any(shape.gpus for shape in mix.counts):
        return candidates[0]
    stage = _stage(specs)
    reached: list[float] = []
    for number, candidate in enumerate(candidates, 1):
        reached.append(_rehearse(candidate, stage, mix))
        say(f"rehearsal {number} of {len(candidates)}: {reached[-1]:.2f} % allocated, {candidate.note}")
    # The first of equals.
    return candidates[reached.index(max(reached))]


def _worth(mix: Mix, factors: _Factors) -> Prepared:
    several, cores, memory = factors
    note = f"several GPUs count {several:g} times, cores {cores:g}, memory {memory:g}"
    return Prepared(lambda cluster, _: Worth(cluster, mix, several, cores, memory), note)


def _stage(specs: Sequence[HostSpec]) -> Sequence[HostSpec]:
    if len(specs) <= MOST_HOSTS:
        return specs
    alike = sorted(specs, key=lambda spec: (spec.model, spec.gpus, spec.cpu_milli, spec.memory_mib))
    return alike[:: -(-len(alike) // MOST_HOSTS)]


def _rehearse(candidate: Prepared, specs: Sequence[HostSpec], mix: Mix) -> float:
    """The mean allocation when far more was asked for than there is: that is when a choice costs somebody a place."""
    reached = 0.0
    for seed in _SEEDS:
        cluster = Cluster.of(specs)
        board = Board(cluster, candidate.make(cluster, seed), seed)
        fill(board, arrivals(mix, cluster.total_milli * MARKS[-1] / 100, seed))
        reached += cluster.allocation_percent
    return round(reached / len(_SEEDS), 6)
