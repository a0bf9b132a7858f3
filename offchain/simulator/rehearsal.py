"""Chooses the parameters of Gantry's policy for a cluster and its expected pods by trying candidates.

How much a place for a pod of several GPUs is worth depends on whether other pods would fill it, and how many pods a
host's cores suffice for depends on how different they are. No formula is right for every demand, so each candidate
fills a copy of the empty cluster with pods drawn from the demand. Published FGD is a candidate too, for clusters that
run out of cores long before they run out of GPUs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from offchain.core.scheduler.cluster import Cluster, HostSpec
from offchain.core.scheduler.demand import DemandDistribution
from offchain.core.scheduler.packing import CPU_FACTOR, MEMORY_FACTOR, MULTI_GPU_WEIGHT, FragmentationScore
from offchain.simulator.fgd import FgdPolicy
from offchain.simulator.filling import LOAD_MARKS, arrivals, fill
from offchain.simulator.policies import PreparedPolicy, make_policy
from offchain.simulator.sim_score_cache import SimScoreCache

MAX_HOSTS = 2000
"""Larger clusters are sampled with equal parts of each kind of host."""

_SEEDS = (1_000_003, 1_000_033, 1_000_037)
"""Of the arrivals in rehearsals: different from those of measurements."""


class _Factors(NamedTuple):
    """See :class:`offchain.core.scheduler.packing.FragmentationScore`."""

    multi_gpu_weight: float = MULTI_GPU_WEIGHT
    cpu_factor: float = CPU_FACTOR
    memory: float = MEMORY_FACTOR


_CANDIDATES = (
    _Factors(),
    _Factors(multi_gpu_weight=1.0),
    _Factors(multi_gpu_weight=4.0),
    _Factors(cpu_factor=1.0),
    _Factors(cpu_factor=2.0),
    _Factors(memory=1.5),
)


def prepare_policy(
    name: str, specs: Sequence[HostSpec], demand: DemandDistribution, report: Callable[[str], None] = lambda _line: None
) -> PreparedPolicy:
    """Return the policy of this name for the expected pods. ValueError: unknown name.

    `report` gets a line for each rehearsal; they take seconds in all.
    """
    if name != "worth":
        return PreparedPolicy(lambda cluster, seed: make_policy(name, cluster, demand, seed), "")
    candidates = [_fragmentation_score(demand, factors) for factors in _CANDIDATES]
    candidates.append(PreparedPolicy(lambda cluster, _: FgdPolicy(cluster, demand), "fgd"))
    if not any(spec.gpus for spec in specs) or not any(shape.gpus for shape in demand.counts):
        return candidates[0]
    hosts = _sample_hosts(specs)
    reached: list[float] = []
    for number, candidate in enumerate(candidates, 1):
        reached.append(_rehearse(candidate, hosts, demand))
        report(f"rehearsal {number} of {len(candidates)}: {reached[-1]:.2f} % allocated, {candidate.note}")
    # Of equals the first.
    return candidates[reached.index(max(reached))]


def _fragmentation_score(demand: DemandDistribution, factors: _Factors) -> PreparedPolicy:
    multi_gpu_weight, cpu_factor, memory = factors
    note = f"several GPUs count {multi_gpu_weight:g} times, cores {cpu_factor:g}, memory {memory:g}"
    return PreparedPolicy(
        lambda cluster, _: FragmentationScore(cluster, demand, multi_gpu_weight, cpu_factor, memory), note
    )


def _sample_hosts(specs: Sequence[HostSpec]) -> Sequence[HostSpec]:
    if len(specs) <= MAX_HOSTS:
        return specs
    alike = sorted(specs, key=lambda spec: (spec.model, spec.gpus, spec.cpu_milli, spec.memory_mib))
    return alike[:: -(-len(alike) // MAX_HOSTS)]


def _rehearse(candidate: PreparedPolicy, specs: Sequence[HostSpec], demand: DemandDistribution) -> float:
    """Return the mean allocation when far more is asked for than available: then a choice costs others their places."""
    reached = 0.0
    for seed in _SEEDS:
        cluster = Cluster.of(specs)
        scores = SimScoreCache(cluster, candidate.make_policy(cluster, seed), seed)
        fill(scores, arrivals(demand, cluster.total_milli * LOAD_MARKS[-1] / 100, seed))
        reached += cluster.allocation_percent
    return round(reached / len(_SEEDS), 6)
