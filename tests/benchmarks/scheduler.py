"""Placement: how much of a cluster's GPUs each policy gives away, and how fast it decides."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from replays import Of
from table import Figure

from offchain.core.scheduler.cluster import HostSpec
from offchain.core.scheduler.demand import DemandDistribution
from offchain.core.scheduler.pod_request import PodShape
from offchain.simulator import csv_tables, generated
from offchain.simulator.filling import simulate_fill
from offchain.simulator.rehearsal import prepare_policy
from offchain.simulator.trace import read_trace, trace_of_shapes

SEEDS = 10
LOAD_PERCENT = 130
POLICIES = ("fgd", "worth")
_SEED = 1
PARTS = ("place", "replay", "growth")


class SchedulerBenchError(Exception):
    """Files that cannot be used, with what to do."""


def measure(
    nodes: Path | None, pods: Sequence[Path], seeds: int, say: Callable[[str], None]
) -> tuple[list[Figure], list[str]]:
    """The figures of each trace, and what to say of it. Without files: of the made-up trace."""
    if (nodes is None) != (not pods):
        raise SchedulerBenchError("--nodes and --pods belong together: give both, or none for the made-up trace")
    figures: list[Figure] = []
    lines: list[str] = []
    for name, hosts, shapes in _traces(nodes, pods):
        mix = DemandDistribution.of(shapes)
        reached: dict[str, tuple[float, ...]] = {}
        for policy in POLICIES:
            prepared = prepare_policy(policy, hosts, mix, partial(_rehearsed, say, f"{name}, {policy}"))
            outcomes = []
            for seed in range(_SEED, _SEED + seeds):
                outcomes.append(
                    simulate_fill(hosts, mix, prepared, load_percent=LOAD_PERCENT, seed=seed, clock_s=time.perf_counter)
                )
                say(f"{name}, {policy}, seed {seed}: {outcomes[-1].allocation_percent:.2f} %")
            reached[policy] = tuple(outcome.allocation_percent for outcome in outcomes)
            mean = sum(reached[policy]) / seeds
            least = sum(reached["fgd"]) / seeds if policy != "fgd" else None
            paces = tuple(outcome.decisions_per_second for outcome in outcomes)
            figures.append(Figure(f"place-{name}-{policy}", "% of GPUs", reached[policy], least, at_least=True))
            figures.append(Figure(f"place-{name}-{policy}-pace", "decisions/s", paces))
            spread = max(reached[policy]) - min(reached[policy])
            lines.append(f"{name}: {policy} {mean:.2f} %, {spread:.2f} between seeds; {prepared.note}".rstrip("; "))
    return figures, lines


def _rehearsed(say: Callable[[str], None], of: str, line: str) -> None:
    say(f"{of}: {line}")


def replayed(nodes: Path | None, pods: Sequence[Path]) -> list[Of]:
    """The same traces, as tasks that come and go."""
    if nodes is None:
        return [Of("made-up", generated.hosts(_SEED), partial(trace_of_shapes, generated.pods(_SEED)))]
    return [
        Of(name, hosts, partial(read_trace, file.read_text(encoding="utf-8-sig"), str(file)))
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
