"""Placement: the GPUs that the production policy and FGD allocate, and how near to an upper bound they come."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from placement_bound import allocation_bound
from replays import ReplayTrace
from table import Figure

from offchain.core.scheduler.cluster import HostSpec
from offchain.core.scheduler.demand import DemandDistribution
from offchain.core.scheduler.pod_request import WHOLE_GPU, PodShape
from offchain.simulator import csv_tables, generated
from offchain.simulator.filling import arrivals, simulate_fill
from offchain.simulator.names import PRODUCTION
from offchain.simulator.trace import read_trace, trace_of_shapes

SEEDS = 10
ACCOUNTS = 100
LOAD_PERCENT = 130
GAP_PERCENT = 50
"""The part of the gap from FGD to the bound that is to be closed."""
_SEED = 1
PARTS = ("place", "replay", "growth")

_POLICIES = ("fgd", PRODUCTION)

_PUBLISHED = {"default": 95.39, "cpu250": 93.41, "gpushare100": 86.90, "gpuspec33": 94.55, "multigpu50": 97.18}
"""Percent of GPUs that FGD's authors report at this load (Weng et al., ATC 2023; mean of ten seeds), by trace."""


class SchedulerBenchError(Exception):
    """Files that cannot be used, with what to do."""


def measure(
    nodes: Path | None, pods: Sequence[Path], seeds: int, say: Callable[[str], None]
) -> tuple[list[Figure], list[str]]:
    """The figures of each trace, alone and with accounts, and a line for each. Without files: of the made-up trace."""
    if (nodes is None) != (not pods):
        raise SchedulerBenchError("--nodes and --pods belong together: give both, or none for the made-up trace")
    figures: list[Figure] = []
    lines: list[str] = []
    for name, hosts, shapes in _traces(nodes, pods):
        for accounts in (0, ACCOUNTS):
            more, line = _measure(name, hosts, DemandDistribution.of(shapes), accounts, seeds, say)
            figures += more
            lines.append(line)
    return figures, lines


def _measure(
    trace: str,
    hosts: Sequence[HostSpec],
    mix: DemandDistribution,
    accounts: int,
    seeds: int,
    say: Callable[[str], None],
) -> tuple[list[Figure], str]:
    """`accounts`: of which none shares a GPU with another; 0: all pods may share."""
    name = f"{trace}-{accounts}-accounts" if accounts else trace
    milli = WHOLE_GPU * sum(host.gpus for host in hosts) * LOAD_PERCENT / 100
    figures: list[Figure] = []
    reached: dict[str, tuple[float, ...]] = {}
    target = 0.0 if accounts else _PUBLISHED.get(trace, 0.0)
    for policy in _POLICIES:
        outcomes = []
        for seed in range(_SEED, _SEED + seeds):
            outcomes.append(
                simulate_fill(
                    hosts,
                    mix,
                    policy,
                    load_percent=LOAD_PERCENT,
                    seed=seed,
                    clock_s=time.perf_counter,
                    accounts=accounts,
                )
            )
            say(f"{name}, {policy}, seed {seed}: {outcomes[-1].allocation_percent:.2f} %")
        reached[policy] = tuple(outcome.allocation_percent for outcome in outcomes)
        least = None if policy == "fgd" else target
        figures.append(Figure(f"place-{name}-{policy}", "% of GPUs", reached[policy], least, at_least=True))
        paces = tuple(outcome.decisions_per_second for outcome in outcomes)
        figures.append(Figure(f"place-{name}-{policy}-pace", "decisions/s", paces))
        if policy == "fgd":
            target = round(max(target, statistics.mean(reached["fgd"])), 2)
    for bound, may_refuse in (("bound", False), ("bound-with-refusals", True)):
        took, found = [], []
        for seed in range(_SEED, _SEED + seeds):
            pods = list(arrivals(mix, milli, seed, accounts))
            began_s = time.perf_counter()
            found.append(allocation_bound(hosts, pods, may_refuse=may_refuse))
            took.append(time.perf_counter() - began_s)
        reached[bound] = tuple(found)
        say(f"{name}, {bound}: {statistics.mean(found):.2f} %")
        figures.append(Figure(f"place-{name}-{bound}", "% of GPUs", reached[bound]))
        figures.append(Figure(f"place-{name}-{bound}-time", "s", tuple(took), 60))
    production = statistics.mean(reached[PRODUCTION])
    closed = {bound: _gap_closed(production, target, statistics.mean(reached[bound])) for bound in list(reached)[2:]}
    for bound, percent in closed.items():
        gap = f"place-{name}-{bound.replace('bound', 'gap-closed')}"
        figures.append(Figure(gap, "% of gap", (percent,), GAP_PERCENT if bound == "bound" else None, at_least=True))
    line = (
        f"{name}: FGD {statistics.mean(reached['fgd']):.2f} % (target {target:.2f} %), production {production:.2f} %, "
        f"at most {statistics.mean(reached['bound']):.2f} % without refusals: gap closed by {closed['bound']:.0f} %, "
        f"at most {statistics.mean(reached['bound-with-refusals']):.2f} % with: {closed['bound-with-refusals']:.0f} %"
    )
    return figures, line


def _gap_closed(reached: float, target: float, bound: float) -> float:
    """The part of the way from the target to the bound that was gone, in percent; 100 where there is none."""
    return 100 * (reached - target) / (bound - target) if bound > target else 100.0


def replayed(nodes: Path | None, pods: Sequence[Path]) -> list[ReplayTrace]:
    """The same traces, as tasks that come and go."""
    if nodes is None:
        return [ReplayTrace("made-up", generated.hosts(_SEED), partial(trace_of_shapes, generated.pods(_SEED)))]
    return [
        ReplayTrace(name, hosts, partial(read_trace, file.read_text(encoding="utf-8-sig"), str(file)))
        for (name, hosts, _), file in zip(_traces(nodes, pods), pods, strict=True)
    ]


def _traces(nodes: Path | None, pods: Sequence[Path]) -> list[tuple[str, list[HostSpec], list[PodShape]]]:
    if nodes is None:
        return [("made-up", generated.hosts(_SEED), generated.pods(_SEED))]
    try:
        hosts = csv_tables.read_nodes(nodes.read_text(encoding="utf-8-sig"), str(nodes))
        return [
            (
                file.stem.removeprefix("openb_pod_list_"),
                hosts,
                csv_tables.read_pods(file.read_text(encoding="utf-8-sig"), str(file)),
            )
            for file in pods
        ]
    except csv_tables.TraceError as error:
        raise SchedulerBenchError(f"{error.message} {error.hint}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SchedulerBenchError(f"a trace cannot be read: {error}") from None
