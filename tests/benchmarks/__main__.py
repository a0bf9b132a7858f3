"""scripts/bench: measure, print, and write docs/benchmarks.md."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import agent
import crowd
import fleet
import followers
import growth
import replays
import rush
import scheduler
import siege
import stall
import way
from arguments import read_arguments
from chainbench import report as chain
from chainbench.node import NodeError
from day import measure as day
from faults.plan import Plan
from faults.run import FaultError, run_faults
from index_bench import IndexBenchError
from index_bench import measure as measure_index
from log_lines import LogError
from main_job import BenchError, measure, say
from scheduler import SchedulerBenchError
from table import Figure, pace, record
from trust import measure as trust
from web import measure as web

from offchain.devnet.node_rpc import RpcRefusedError
from offchain.devnet.paths import DevnetError
from offchain.services.kernel_cache import enable_kernel_cache

_Result = tuple[Sequence[Figure], Sequence[str], dict[str, Any]]
"""Figures, lines for people, and the object of --json."""


def main() -> int:
    options = read_arguments()
    enable_kernel_cache()
    before = pace()
    try:
        figures, lines, facts = _BENCHMARKS[options.name](options)
    except (
        BenchError,
        FaultError,
        IndexBenchError,
        LogError,
        NodeError,
        RpcRefusedError,
        SchedulerBenchError,
    ) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except DevnetError as error:
        sys.stderr.write(f"error: {error.message}.\n  {error.hint}.\n")
        return 1
    if not options.no_record and figures:
        record(figures, (before, pace()))
    table = sys.stderr if options.json else sys.stdout
    for line in [*(_line(figure) for figure in figures), *lines]:
        table.write(f"{line}\n")
    if options.json:
        sys.stdout.write(json.dumps(facts) + "\n")
    return 1 if facts.get("said") else 0


def _chain(options: argparse.Namespace) -> _Result:
    found = chain.measure(options.part or chain.PARTS, options.seconds, options.pool_type)
    figures = [figure for part in found for figure in part.figures]
    lines = [line for part in found for line in part.lines]
    return figures, lines, {key: value for part in found for key, value in part.facts.items()}


def _rush(options: argparse.Namespace) -> _Result:
    figures, facts = rush.measure(options.hosts, options.tasks)
    return figures, _said(facts), facts


def _crowd(options: argparse.Namespace) -> _Result:
    figures, facts = crowd.measure(options.schedulers, options.killed, options.hosts, options.tasks)
    return figures, _said(facts), facts


def _said(facts: dict[str, Any]) -> list[str]:
    return list(facts["said"]) or ["Every task ended once and was paid once; every coin is there."]


def _siege(options: argparse.Namespace) -> _Result:
    figures, facts = siege.measure(options.seconds)
    return figures, facts["said"] or ["No heartbeat was late, the pod lived, and the tenant was answered."], facts


def _stall(options: argparse.Namespace) -> _Result:
    figures, facts = stall.measure(options.seconds, options.hosts)
    return figures, _said(facts), facts


def _followers(options: argparse.Namespace) -> _Result:
    figures, facts = followers.measure(options.agents, options.events, options.seconds)
    ratios = f"Whole blocks: {facts['bytes_ratio']} times the bytes and {facts['cpu_ratio']} times the processor time."
    return figures, [ratios], facts


def _day(options: argparse.Namespace) -> _Result:
    figures, facts = day.measure(options.seconds, options.acts, options.live, options.hosts)
    return figures, facts["said"] or ["Every task was settled once, and the worker kept its limits."], facts


def _faults(options: argparse.Namespace) -> _Result:
    plan = Plan(options.kills, options.tasks, options.hosts, options.seed, options.slot_ms)
    found = run_faults(plan, say, options.keep_logs)
    said = [str(line) for line in found["said"]] if isinstance(found["said"], list) else []
    return [], said or ["Every task ended once and was paid once; nothing is left behind; every coin is there."], found


def _scheduler(options: argparse.Namespace) -> _Result:
    parts = options.part or scheduler.PARTS
    figures: list[Figure] = []
    lines: list[str] = []
    if "place" in parts:
        figures, lines = scheduler.measure(options.nodes, options.pods, options.seeds, say)
    if "replay" in parts:
        of = scheduler.replayed(options.nodes, options.pods)
        more, told = replays.measure(of, min(options.seeds, replays.SEEDS), options.tasks, options.plot, say)
        figures, lines = [*figures, *more], [*lines, *told]
    if "growth" in parts:
        plot = None if options.no_record else growth.PLOT
        figures = [*figures, *growth.measure(options.hosts, options.waiting, say, plot=plot)]
    if options.nodes is None and options.part != ["growth"]:
        lines = [*lines, "No files were given: this is the made-up trace, like no particular cluster."]
    return figures, lines, _plain(figures)[2]


def _web(options: argparse.Namespace) -> _Result:
    plan = web.WebPlan(
        hosts=options.hosts,
        tasks=options.tasks,
        requests=options.requests,
        clients=options.clients,
        rate=options.rate,
        seconds=options.seconds,
    )
    return _plain(web.measure(options.part or web.PARTS, plan))


def _trust(options: argparse.Namespace) -> _Result:
    plan = trust.TrustPlan(
        hosts=options.hosts,
        challenges=options.challenges,
        draws=options.draws,
        runs=options.runs,
        plot=not options.no_record,
    )
    figures, lines = trust.measure(options.part or trust.PARTS, plan)
    return figures, lines, _plain(figures)[2]


def _plain(figures: Sequence[Figure]) -> _Result:
    return figures, (), {figure.name.replace("-", "_"): _json(figure) for figure in figures}


_BENCHMARKS: dict[str, Callable[[argparse.Namespace], _Result]] = {
    "main": lambda options: _plain(measure(options.tasks, cold=options.cold)),
    "fleet": lambda options: _plain(fleet.measure(options.hosts, options.tasks)),
    "rush": _rush,
    "crowd": _crowd,
    "chain": _chain,
    "way": lambda options: _plain(way.measure(options.agents)),
    "faults": _faults,
    "siege": _siege,
    "day": _day,
    "stall": _stall,
    "followers": _followers,
    "index": lambda options: _plain(measure_index(options.events, options.blocks)),
    "web": _web,
    "trust": _trust,
    "agent": lambda options: _plain(agent.measure(options.starts, options.seconds)),
    "scheduler": _scheduler,
}


def _line(figure: Figure) -> str:
    spread = f"p95 {figure.p95:g}" if len(figure.samples) > 1 else ""
    verdict = {True: f"holds: {figure.aim}", False: f"MISSED: {figure.aim}", None: ""}[figure.met]
    return f"{figure.name:<56} {figure.value:>10.10g} {figure.unit:<8} {spread:<14} {verdict}".rstrip()


def _json(figure: Figure) -> dict[str, object]:
    return {
        "value": figure.value,
        "p95": figure.p95,
        "unit": figure.unit,
        "target": figure.target,
        "target_p95": figure.target_p95,
        "met": figure.met,
    }


if __name__ == "__main__":
    sys.exit(main())
