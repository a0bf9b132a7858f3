"""scripts/bench: measure, print, and write docs/benchmarks.md."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
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

from offchain.devnet.node_rpc import RpcRefusedError
from offchain.devnet.paths import DevnetError
from offchain.services.kernel_cache import enable_kernel_cache

SECONDS = 60

_Result = tuple[Sequence[Figure], Sequence[str], dict[str, Any]]
"""Figures, lines for people, and the object of --json."""


def main() -> int:
    options = _arguments()
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
    for line in [*(_line(figure) for figure in figures), *lines]:
        sys.stdout.write(f"{line}\n")
    if options.json:
        sys.stdout.write(json.dumps(facts) + "\n")
    return 1 if facts.get("said") else 0


def _arguments() -> argparse.Namespace:  # noqa: PLR0915  (one statement an option)
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Measures Gantry on this machine, prints each figure with its target and whether it holds, and "
        "writes them into docs/benchmarks.md.",
        epilog="Nothing else should run on the machine meanwhile. What each figure means: docs/benchmarks.md. "
        "scripts/bench NAME --help says how long it takes and how to make it shorter.",
    )
    benchmarks = parser.add_subparsers(dest="name", required=True, metavar="NAME")

    def add(name: str, about: str, more: str) -> argparse.ArgumentParser:
        one = benchmarks.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}. {more}")
        one.add_argument("--json", action="store_true", help="end with one JSON object on the last line")
        one.add_argument("--no-record", action="store_true", help="leave docs/benchmarks.md alone")
        return one

    main_job = add(
        "main",
        "the main job: scripts/up, submit to running, log line to client, memory",
        "Three runs of scripts/up --once, then tasks one by one on a network with one host and real containers. "
        "About 5 minutes. Short: --tasks 3.",
    )
    main_job.add_argument("--tasks", type=int, default=15, metavar="N", help="tasks for submit → running (15)")
    main_job.add_argument("--cold", action="store_true", help="also with an empty cache (downloads the packages)")
    of_fleet = add(
        "fleet",
        "a fleet: submit to running with many hosts at once",
        "A node, scheduler and settler, and so many agents with the fake driver, each with a connection of its own; "
        "tasks come steadily. Needs no Docker. About 4 minutes. Short: --hosts 10 --tasks 20.",
    )
    of_fleet.add_argument("--hosts", type=int, default=fleet.HOSTS, metavar="N", help=f"agents ({fleet.HOSTS})")
    of_fleet.add_argument("--tasks", type=int, default=fleet.TASKS, metavar="N", help=f"that come ({fleet.TASKS})")
    of_rush = add(
        "rush",
        "many tasks at once: all settled, each once and paid once",
        "As fleet, but all tasks are handed in at the same moment; afterwards every task and coin is counted. "
        "About 3 minutes. Short: --hosts 5 --tasks 100.",
    )
    of_rush.add_argument("--hosts", type=int, default=rush.HOSTS, metavar="N", help=f"agents ({rush.HOSTS})")
    of_rush.add_argument("--tasks", type=int, default=rush.TASKS, metavar="N", help=f"at once ({rush.TASKS})")
    of_crowd = add(
        "crowd",
        "several schedulers, some killed in the middle: nothing lost or doubled, how often they collide",
        "As rush, with schedulers that do not talk to each other; one run for each number of them, 5 minutes each. "
        "How the share of refused assignments grows: --schedulers 1,2,4,8 --killed 0. "
        "Short: --hosts 5 --tasks 100 --schedulers 2 --killed 1.",
    )
    of_crowd.add_argument("--hosts", type=int, default=crowd.HOSTS, metavar="N", help=f"agents ({crowd.HOSTS})")
    of_crowd.add_argument("--tasks", type=int, default=crowd.TASKS, metavar="N", help=f"at once ({crowd.TASKS})")
    of_crowd.add_argument(
        "--schedulers",
        type=_counts,
        default=(crowd.SCHEDULERS,),
        metavar="N[,N...]",
        help=f"at work ({crowd.SCHEDULERS})",
    )
    of_crowd.add_argument(
        "--killed", type=int, default=crowd.KILLED, metavar="N", help=f"of them, never the last ({crowd.KILLED})"
    )
    of_chain = add(
        "chain",
        "released nodes alone: operations a second, their cost, bytes",
        "single: extrinsics of one operation each. batched: batches of 256, and how long a full block takes to import. "
        "validators: the same batches by four validators on this machine. mix: GPU tasks of 50 tenants on hosts of 50 "
        "providers. heartbeats: what 100,000 hosts need. flat: cost by tasks in state. state: bytes. "
        "All parts take about 55 minutes: flat 15, state 15, each of the others 3 to 6, with load for 60 s. "
        "A part ends with an error where no block comes for a minute or two. Short: --part single --seconds 10.",
    )
    of_chain.add_argument(
        "--part", action="append", choices=chain.PARTS, metavar="PART", help=f"only this one: {', '.join(chain.PARTS)}"
    )
    of_chain.add_argument("--seconds", type=int, default=SECONDS, metavar="N", help=f"of sustained load ({SECONDS})")
    of_chain.add_argument(
        "--pool-type",
        choices=chain.POOL_TYPES,
        metavar="TYPE",
        help=f"pool of the node in single: {' or '.join(chain.POOL_TYPES)}, in rows of its own (the node's default)",
    )
    to_hosts = add(
        "way",
        "the way to hosts over loopback: files, log lines, questions, agents",
        "By iroh and by secure websockets; files of 512 MiB in the system's temporary folder. Needs neither node nor "
        "Docker. About 2 minutes. Short: --agents 20.",
    )
    to_hosts.add_argument("--agents", type=int, default=way.AGENTS, metavar="N", help=f"at once ({way.AGENTS})")
    of_agent = add(
        "agent",
        "the agent: idle memory and work, container starts over docker run",
        "On a network of scripts/up with a Docker engine; the agent has run one task before. The same container is "
        "then started by the agent's driver and by docker run, in turn. About 3 minutes. "
        "Short: --seconds 10 --starts 3.",
    )
    of_agent.add_argument("--starts", type=int, default=agent.STARTS, metavar="N", help=f"of each ({agent.STARTS})")
    of_agent.add_argument(
        "--seconds", type=int, default=agent.IDLE_SECONDS, metavar="N", help=f"of being idle ({agent.IDLE_SECONDS})"
    )
    of_siege = add(
        "siege",
        "attacks of strangers and a tenant on agent and gateway while a pod runs",
        "On a network of scripts/up with a Docker engine: first the tenant's questions without attacks, then with. "
        "About 2 minutes. Short: --seconds 10.",
    )
    of_siege.add_argument(
        "--seconds", type=int, default=siege.SECONDS, metavar="N", help=f"of attacks ({siege.SECONDS})"
    )
    faults = add(
        "faults",
        "kill -9 of any process at random, under load; the books afterwards",
        "Needs root. About a quarter of an hour. Short: --kills 5 --tasks 5 --hosts 2.",
    )
    faults.add_argument("--kills", type=int, default=200, metavar="N", help="how many (200)")
    faults.add_argument("--tasks", type=int, default=100, metavar="N", help="that run meanwhile (100)")
    faults.add_argument("--hosts", type=int, default=5, metavar="N", help="agents, on one private engine (5)")
    faults.add_argument("--seed", type=int, default=1, metavar="N", help="which victims, and when (1)")
    faults.add_argument("--slot-ms", type=int, default=2_000, metavar="N", help="length of a slot of the chain (2000)")
    faults.add_argument("--keep-logs", type=Path, metavar="FOLDER", help="move the logs there where something is wrong")
    of_day = add(
        "day",
        "a worker with half a million past acts, many live tasks and a steady stream of new ones",
        "A node, one process with scheduler and settler, and hosts that report at once; 12 tasks a second. "
        "About 45 minutes. Short: --seconds 120 --acts 50000 --live 5000 --hosts 100.",
    )
    of_day.add_argument("--seconds", type=int, default=day.SECONDS, metavar="N", help=f"that count ({day.SECONDS})")
    of_day.add_argument("--acts", type=int, default=day.ACTS, metavar="N", help=f"past ones kept ({day.ACTS})")
    of_day.add_argument("--live", type=int, default=day.LIVE, metavar="N", help=f"tasks that run ({day.LIVE})")
    of_day.add_argument("--hosts", type=int, default=day.HOSTS, metavar="N", help=f"that report ({day.HOSTS})")
    of_stall = add(
        "stall",
        "finality stands still for ten minutes while tasks come, run and end",
        "Four validators, of which two are stopped, a worker, and agents with the fake driver. Nothing may be lost, "
        "doubled, given up or reported absent. Needs no Docker. About 14 minutes. Short: --seconds 60.",
    )
    of_stall.add_argument("--seconds", type=int, default=stall.SECONDS, metavar="N", help=f"of it ({stall.SECONDS})")
    of_stall.add_argument("--hosts", type=int, default=stall.HOSTS, metavar="N", help=f"agents ({stall.HOSTS})")
    of_followers = add(
        "followers",
        "many agents on one node: bytes and processor time for each agent and block",
        "A node whose blocks hold events of others, and agents that follow it, each with a connection of its own; then "
        "some that read whole blocks. Needs no Docker. About 5 minutes. Short: --agents 50 --seconds 20.",
    )
    of_followers.add_argument(
        "--agents", type=int, default=followers.AGENTS, metavar="N", help=f"that follow ({followers.AGENTS})"
    )
    of_followers.add_argument(
        "--events", type=int, default=followers.EVENTS, metavar="N", help=f"in each block ({followers.EVENTS})"
    )
    of_followers.add_argument(
        "--seconds", type=int, default=followers.SECONDS, metavar="N", help=f"of following ({followers.SECONDS})"
    )
    index = add(
        "index",
        "the indexer: events a second, final block to event in the index",
        "Needs no Docker. About 4 minutes. Short: --events 50000 --blocks 5.",
    )
    index.add_argument("--events", type=int, default=1_000_000, metavar="N", help="that are indexed (1000000)")
    index.add_argument("--blocks", type=int, default=40, metavar="N", help="of 1,000 events on a real node (40)")
    placing = add(
        "scheduler",
        "placement: GPUs allocated and an upper bound, decisions a second; waits and fairness in virtual time",
        "place: the worker's scheduler and published FGD on a cluster that fills up, and a bound that no policy "
        "exceeds, without and with 100 accounts that share no GPU. replay: policies and orders on a trace in virtual "
        "time, three seeds at most. Without files: a made-up trace. Needs no node and no Docker. A trace takes about 6 "
        "minutes to place and 10 minutes to replay. growth: the core with many hosts and tasks, about 3 minutes. "
        "Short: --part place --seeds 1, --part growth --hosts 1000 --waiting 2000.",
    )
    placing.add_argument(
        "--part", action="append", choices=scheduler.PARTS, metavar="PART", help=f"of {', '.join(scheduler.PARTS)}"
    )
    placing.add_argument("--tasks", type=int, default=replays.TASKS, metavar="N", help=f"of a replay ({replays.TASKS})")
    placing.add_argument("--plot", type=Path, metavar="FILE", help="draw the replays of the first seed there")
    placing.add_argument("--nodes", type=Path, metavar="FILE", help="the hosts: sn,cpu_milli,memory_mib,gpu,model")
    placing.add_argument(
        "--pods", type=Path, nargs="+", default=[], metavar="FILE", help="a list of pods for each trace"
    )
    placing.add_argument("--seeds", type=int, default=scheduler.SEEDS, metavar="N", help=f"runs ({scheduler.SEEDS})")
    placing.add_argument(
        "--hosts", type=int, default=growth.HOSTS, metavar="N", help=f"of growth, the most ({growth.HOSTS})"
    )
    placing.add_argument(
        "--waiting",
        type=int,
        default=growth.TASKS,
        metavar="N",
        help=f"tasks of growth in a round; ten times as many for the memory ({growth.TASKS})",
    )
    options = parser.parse_args()
    _check(parser, options)
    return options


def _check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Ends the program where a number cannot be."""
    if getattr(options, "killed", 0) < 0:
        parser.error(f"--killed {options.killed}: write a number from 0 up")
    if options.name == "chain" and options.seconds < 2:
        parser.error(f"--seconds {options.seconds}: write a number from 2 up, for a block takes two")
    for name in (
        "kills",
        "tasks",
        "hosts",
        "events",
        "blocks",
        "starts",
        "agents",
        "seconds",
        "seeds",
        "waiting",
        "acts",
        "live",
    ):
        if getattr(options, name, 1) < 1:
            parser.error(f"--{name} {getattr(options, name)}: write a number from 1 up")


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


def _counts(text: str) -> tuple[int, ...]:
    """Numbers from 1 up, with commas between them."""
    if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", text):
        raise argparse.ArgumentTypeError(f"{text}: write numbers from 1 up, such as 1,2,4,8")
    return tuple(map(int, text.split(",")))


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
