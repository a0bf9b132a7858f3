"""scripts/bench: measure, print, and write docs/benchmarks.md."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import agent
import way
from chainbench import report as chain
from chainbench.node import NodeError
from faults.plan import Plan
from faults.run import FaultError, run_faults
from index_bench import IndexBenchError
from index_bench import measure as measure_index
from main_job import BenchError, measure, say
from table import Figure, record

from offchain.local.node_rpc import RefusedError
from offchain.local.places import LocalError

SECONDS = 60


def main() -> int:
    options = _arguments()
    try:
        figures, lines, facts = _BENCHMARKS[options.name](options)
    except (BenchError, FaultError, IndexBenchError, NodeError, RefusedError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except LocalError as error:
        sys.stderr.write(f"error: {error.message}.\n  {error.remedy}.\n")
        return 1
    if not options.no_record and figures:
        record(figures)
    for line in [*(_line(figure) for figure in figures), *lines]:
        sys.stdout.write(f"{line}\n")
    if options.json:
        sys.stdout.write(json.dumps(facts) + "\n")
    return 1 if facts.get("said") else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Measures Gantry on this machine, prints a table, and writes it into docs/benchmarks.md.",
    )
    benchmarks = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    main_job = benchmarks.add_parser("main", help="the main job: scripts/up, submit to running, memory")
    main_job.add_argument("--tasks", type=int, default=15, metavar="N", help="tasks for submit → running (15)")
    main_job.add_argument("--cold", action="store_true", help="also with an empty cache (downloads the packages)")
    of_chain = benchmarks.add_parser("chain", help="the released node alone: operations a second, their cost, bytes")
    of_chain.add_argument(
        "--part", action="append", choices=chain.PARTS, metavar="PART", help=f"only this one: {', '.join(chain.PARTS)}"
    )
    of_chain.add_argument("--seconds", type=int, default=SECONDS, metavar="N", help=f"of sustained load ({SECONDS})")
    to_hosts = benchmarks.add_parser("way", help="the way to hosts over loopback: files, log lines, questions, agents")
    to_hosts.add_argument("--agents", type=int, default=way.AGENTS, metavar="N", help=f"at once ({way.AGENTS})")
    of_agent = benchmarks.add_parser("agent", help="the agent: idle memory and work, container starts over docker run")
    of_agent.add_argument("--starts", type=int, default=agent.STARTS, metavar="N", help=f"of each ({agent.STARTS})")
    of_agent.add_argument(
        "--seconds", type=int, default=agent.IDLE_SECONDS, metavar="N", help=f"of being idle ({agent.IDLE_SECONDS})"
    )
    faults = benchmarks.add_parser("faults", help="kill -9 of any process at random, under load; the books afterwards")
    faults.add_argument("--kills", type=int, default=200, metavar="N", help="how many (200)")
    faults.add_argument("--tasks", type=int, default=100, metavar="N", help="that run meanwhile (100)")
    faults.add_argument("--hosts", type=int, default=5, metavar="N", help="agents, on one private engine (5)")
    faults.add_argument("--seed", type=int, default=1, metavar="N", help="which victims, and when (1)")
    faults.add_argument("--keep-logs", type=Path, metavar="FOLDER", help="move the logs there where something is wrong")
    index = benchmarks.add_parser("index", help="the indexer: events a second, final block to event in the index")
    index.add_argument("--events", type=int, default=1_000_000, metavar="N", help="that are indexed (1000000)")
    index.add_argument("--blocks", type=int, default=40, metavar="N", help="of 1,000 events on a real node (40)")
    for benchmark in (main_job, of_chain, to_hosts, faults, index, of_agent):
        benchmark.add_argument("--json", action="store_true", help="end with one JSON object on the last line")
        benchmark.add_argument("--no-record", action="store_true", help="leave docs/benchmarks.md alone")
    options = parser.parse_args()
    if options.name == "chain" and options.seconds < 2:
        parser.error(f"--seconds {options.seconds}: write a number from 2 up, for a block takes two")
    for name in ("kills", "tasks", "hosts", "events", "blocks"):
        if getattr(options, name, 1) < 1:
            parser.error(f"--{name} {getattr(options, name)}: write a number from 1 up")
    return options


def _main_job(options: argparse.Namespace) -> tuple[Sequence[Figure], Sequence[str], dict[str, Any]]:
    figures = measure(options.tasks, cold=options.cold)
    return figures, (), {figure.name.replace("-", "_"): _json(figure) for figure in figures}


def _chain(options: argparse.Namespace) -> tuple[Sequence[Figure], Sequence[str], dict[str, Any]]:
    found = chain.measure(options.part or chain.PARTS, options.seconds)
    figures = [figure for part in found for figure in part.figures]
    lines = [line for part in found for line in part.lines]
    return figures, lines, {key: value for part in found for key, value in part.facts.items()}


def _way(options: argparse.Namespace) -> tuple[Sequence[Figure], Sequence[str], dict[str, Any]]:
    figures = way.measure(options.agents)
    return figures, (), {figure.name.replace("-", "_"): _json(figure) for figure in figures}


def _agent(options: argparse.Namespace) -> tuple[Sequence[Figure], Sequence[str], dict[str, Any]]:
    figures = agent.measure(options.starts, options.seconds)
    return figures, (), {figure.name.replace("-", "_"): _json(figure) for figure in figures}


def _faults(options: argparse.Namespace) -> tuple[Sequence[Figure], Sequence[str], dict[str, Any]]:
    found = run_faults(Plan(options.kills, options.tasks, options.hosts, options.seed), say, options.keep_logs)
    said = [str(line) for line in found["said"]] if isinstance(found["said"], list) else []
    return [], said or ["Every task ended once and was paid once; nothing is left behind; every coin is there."], found


def _index(options: argparse.Namespace) -> tuple[Sequence[Figure], Sequence[str], dict[str, Any]]:
    figures = measure_index(options.events, options.blocks)
    return figures, (), {figure.name.replace("-", "_"): _json(figure) for figure in figures}


_BENCHMARKS = {"main": _main_job, "chain": _chain, "way": _way, "faults": _faults, "index": _index, "agent": _agent}


def _line(figure: Figure) -> str:
    spread = f"p95 {figure.p95:g}, " if len(figure.samples) > 1 else ""
    aim = f"target {figure.aim}" if figure.aim else "no target"
    return f"{figure.name:<22} {figure.value:>10.10g} {figure.unit:<8} ({spread}{aim})"


def _json(figure: Figure) -> dict[str, object]:
    return {"value": figure.value, "p95": figure.p95, "unit": figure.unit, "target": figure.target, "met": figure.met}


if __name__ == "__main__":
    sys.exit(main())
