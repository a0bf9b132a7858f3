"""Traces in virtual time: the production policy and baselines, what they make of the GPUs and who waits how long."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from table import Figure

from offchain.core.scheduler.cluster import HostSpec
from offchain.simulator.load import draw_tasks
from offchain.simulator.measures import ReplayOutcome, simulate_replay
from offchain.simulator.names import BASELINES, ORDERS, PRODUCTION
from offchain.simulator.trace import Trace

TASKS = 5_000
PART = 4
"""Every fourth host is used: on fewer hosts, fewer tasks make a load."""
LOAD_PERCENT = 100.0
SEEDS = 3
_SEED = 1
_RUNS = [(PRODUCTION, "queues"), *((policy, order) for order in ORDERS for policy in BASELINES)]

_MEASURES: Mapping[str, tuple[str, Callable[[ReplayOutcome], float]]] = {
    "gpu": ("% of GPUs", lambda outcome: outcome.measures.gpu_percent),
    "p99": ("s", lambda outcome: 0.0 if outcome.measures.wait_s is None else outcome.measures.wait_s.p99),
    "slowdown": ("times", lambda outcome: 1.0 if outcome.measures.slowdown is None else outcome.measures.slowdown.mean),
    "jain": ("of 1", lambda outcome: outcome.measures.jain_index),
    "fragmented": (
        "% of free",
        lambda outcome: (
            0.0 if outcome.measures.fragmentation_percent is None else outcome.measures.fragmentation_percent.mean
        ),
    ),
}


@dataclass(frozen=True)
class ReplayTrace:
    """A trace by its name, and how its tasks are made for a seed."""

    name: str
    hosts: Sequence[HostSpec]
    tasks: Callable[[int], Trace]


def measure(
    traces: Sequence[ReplayTrace], seeds: int, tasks: int, plot: Path | None, say: Callable[[str], None]
) -> tuple[list[Figure], list[str]]:
    """The figures of each trace, and its table. `plot`: the runs of the first trace and seed are drawn there."""
    figures: list[Figure] = []
    lines: list[str] = []
    drawn_there: list[tuple[str, ReplayOutcome]] = []
    for of in traces:
        hosts = of.hosts[::PART]
        found: dict[str, list[ReplayOutcome]] = {}
        for seed in range(_SEED, _SEED + seeds):
            total_milli = 1000 * sum(host.gpus for host in hosts)
            trace = draw_tasks(of.tasks(seed), tasks, LOAD_PERCENT, total_milli, seed)
            for policy, order in _RUNS:
                name = f"{policy}-{order}"
                outcome = simulate_replay(hosts, trace, policy, order, seed=seed, clock_s=time.perf_counter)
                say(f"{of.name}, {name}, seed {seed}: {outcome.measures.gpu_percent:.2f} %, {outcome.seconds:.0f} s")
                found.setdefault(name, []).append(outcome)
        if not drawn_there:
            drawn_there = [(name, outcomes[0]) for name, outcomes in found.items()]
        lines.append(f"{of.name}: policy-order, {', '.join(_MEASURES)}")
        for name, outcomes in found.items():
            told = []
            for measure_name, (unit, value) in _MEASURES.items():
                samples = tuple(value(outcome) for outcome in outcomes)
                figures.append(Figure(f"replay-{of.name}-{name}-{measure_name}", unit, samples))
                told.append(f"{statistics.mean(samples):.4g}")
            lines.append(f"{name}: {', '.join(told)}")
    if plot is not None:
        from offchain.cli.operator import replay  # noqa: PLC0415 - loaded when it is used

        replay.draw_plots(str(plot), drawn_there)
    return figures, lines
