"""scripts/bench: measure, print, and write docs/benchmarks.md."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

import agent
import way
from chainbench import report as chain
from chainbench.node import NodeError
from main_job import BenchError, measure
from table import Figure, record

from offchain.local.node_rpc import RefusedError
from offchain.local.places import LocalError

SECONDS = 60


def main() -> int:
    options = _arguments()
    try:
        figures, lines, facts = {"chain": _chain, "main": _main_job, "way": _way, "agent": _agent}[options.name](
            options
        )
    except (BenchError, NodeError, RefusedError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except LocalError as error:
        sys.stderr.write(f"error: {error.message}.\n  {error.remedy}.\n")
        return 1
    if not options.no_record:
        record(figures)
    for line in [*(_line(figure) for figure in figures), *lines]:
        sys.stdout.write(f"{line}\n")
    if options.json:
        sys.stdout.write(json.dumps(facts) + "\n")
    return 0


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
    for benchmark in (main_job, of_chain, to_hosts, of_agent):
        benchmark.add_argument("--json", action="store_true", help="end with one JSON object on the last line")
        benchmark.add_argument("--no-record", action="store_true", help="leave docs/benchmarks.md alone")
    options = parser.parse_args()
    if options.name == "main" and options.tasks < 1:
        parser.error(f"--tasks {options.tasks}: write a number from 1 up")
    if options.name == "chain" and options.seconds < 2:
        parser.error(f"--seconds {options.seconds}: write a number from 2 up, for a block takes two")
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


def _line(figure: Figure) -> str:
    spread = f"p95 {figure.p95:g}, " if len(figure.samples) > 1 else ""
    aim = f"target {figure.aim}" if figure.aim else "no target"
    return f"{figure.name:<22} {figure.value:>10.10g} {figure.unit:<8} ({spread}{aim})"


def _json(figure: Figure) -> dict[str, object]:
    return {"value": figure.value, "p95": figure.p95, "unit": figure.unit, "target": figure.target, "met": figure.met}


if __name__ == "__main__":
    sys.exit(main())
