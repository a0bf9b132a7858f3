"""Arguments of scripts/bench."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

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
from day import measure as day
from trust import measure as trust
from web import measure as web

SECONDS = 60


def read_arguments() -> argparse.Namespace:  # noqa: PLR0915  (one statement an option)
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
        one.add_argument("--json", action="store_true", help="print one JSON object, and the table on standard error")
        one.add_argument("--no-record", action="store_true", help="leave docs/benchmarks.md alone")
        return one

    def number(parser: argparse.ArgumentParser, option: str, default: int, of: str) -> None:
        parser.add_argument(option, type=int, default=default, metavar="N", help=f"{of} ({default})")

    main_job = add(
        "main",
        "the main job: scripts/up, submit to running, log line to client, memory",
        "Three runs of scripts/up --once, then tasks one by one on a network with one host and real containers. "
        "About 5 minutes. Short: --tasks 3.",
    )
    number(main_job, "--tasks", 15, "tasks for submit → running")
    main_job.add_argument("--cold", action="store_true", help="also with an empty cache (downloads the packages)")
    of_fleet = add(
        "fleet",
        "a fleet: submit to running with many hosts at once",
        "A node, scheduler and settler, and so many agents with the fake driver, each with a connection of its own; "
        "tasks come steadily. Needs no Docker. About 4 minutes. Short: --hosts 10 --tasks 20.",
    )
    number(of_fleet, "--hosts", fleet.HOSTS, "agents")
    number(of_fleet, "--tasks", fleet.TASKS, "that come")
    of_rush = add(
        "rush",
        "many tasks at once: all settled, each once and paid once",
        "As fleet, but all tasks are handed in at the same moment; afterwards every task and coin is counted. "
        "About 3 minutes. Short: --hosts 5 --tasks 100.",
    )
    number(of_rush, "--hosts", rush.HOSTS, "agents")
    number(of_rush, "--tasks", rush.TASKS, "at once")
    of_crowd = add(
        "crowd",
        "several schedulers, some killed in the middle: nothing lost or doubled, how often they collide",
        "As rush, with schedulers that do not talk to each other; one run for each number of them, 5 minutes each. "
        "How the share of refused assignments grows: --schedulers 1,2,4,8 --killed 0. "
        "Short: --hosts 5 --tasks 100 --schedulers 2 --killed 1.",
    )
    number(of_crowd, "--hosts", crowd.HOSTS, "agents")
    number(of_crowd, "--tasks", crowd.TASKS, "at once")
    of_crowd.add_argument(
        "--schedulers",
        type=_counts,
        default=(crowd.SCHEDULERS,),
        metavar="N[,N...]",
        help=f"at work ({crowd.SCHEDULERS})",
    )
    number(of_crowd, "--killed", crowd.KILLED, "of them, never the last")
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
    number(of_chain, "--seconds", SECONDS, "of sustained load")
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
    number(to_hosts, "--agents", way.AGENTS, "at once")
    of_agent = add(
        "agent",
        "the agent: idle memory and work, container starts over docker run",
        "On a network of scripts/up with a Docker engine; the agent has run one task before. The same container is "
        "then started by the agent's driver and by docker run, in turn. About 3 minutes. "
        "Short: --seconds 10 --starts 3.",
    )
    number(of_agent, "--starts", agent.STARTS, "of each")
    number(of_agent, "--seconds", agent.IDLE_SECONDS, "of being idle")
    of_siege = add(
        "siege",
        "attacks of strangers and a tenant on agent and gateway while a pod runs",
        "On a network of scripts/up with a Docker engine: first the tenant's questions without attacks, then with. "
        "About 2 minutes. Short: --seconds 10.",
    )
    number(of_siege, "--seconds", siege.SECONDS, "of attacks")
    faults = add(
        "faults",
        "kill -9 of any process at random, under load; the books afterwards",
        "Needs root. About a quarter of an hour. Short: --kills 5 --tasks 5 --hosts 2.",
    )
    number(faults, "--kills", 200, "how many")
    number(faults, "--tasks", 100, "that run meanwhile")
    number(faults, "--hosts", 5, "agents, on one private engine")
    number(faults, "--seed", 1, "which victims, and when")
    number(faults, "--slot-ms", 2_000, "length of a slot of the chain")
    faults.add_argument("--keep-logs", type=Path, metavar="FOLDER", help="move the logs there where something is wrong")
    of_day = add(
        "day",
        "a worker with half a million past acts, many live tasks and a steady stream of new ones",
        "A node, one process with scheduler and settler, and hosts that report at once; 12 tasks a second. "
        "About 45 minutes. Short: --seconds 120 --acts 50000 --live 5000 --hosts 100.",
    )
    number(of_day, "--seconds", day.SECONDS, "that count")
    number(of_day, "--acts", day.ACTS, "past ones kept")
    number(of_day, "--live", day.LIVE, "tasks that run")
    number(of_day, "--hosts", day.HOSTS, "that report")
    of_stall = add(
        "stall",
        "finality stands still for ten minutes while tasks come, run and end",
        "Four validators, of which two are stopped, a worker, and agents with the fake driver. Nothing may be lost, "
        "doubled, given up or reported absent. Needs no Docker. About 14 minutes. Short: --seconds 60.",
    )
    number(of_stall, "--seconds", stall.SECONDS, "of it")
    number(of_stall, "--hosts", stall.HOSTS, "agents")
    of_followers = add(
        "followers",
        "many agents on one node: bytes and processor time for each agent and block",
        "A node whose blocks hold events of others, and agents that follow it, each with a connection of its own; then "
        "some that read whole blocks. Needs no Docker. About 5 minutes. Short: --agents 50 --seconds 20.",
    )
    number(of_followers, "--agents", followers.AGENTS, "that follow")
    number(of_followers, "--events", followers.EVENTS, "in each block")
    number(of_followers, "--seconds", followers.SECONDS, "of following")
    index = add(
        "index",
        "the indexer: events a second, final block to event in the index",
        "Needs no Docker. About 4 minutes. Short: --events 50000 --blocks 5.",
    )
    number(index, "--events", 1_000_000, "that are indexed")
    number(index, "--blocks", 40, "of 1,000 events on a real node")
    of_web = add(
        "web",
        "the HTTP API, its stream of events, metrics of many hosts, and the web console",
        "offers, lists: pages with filters at 10,000 hosts and 100,000 tasks. reads: mixed reads at a steady rate, "
        "answered by one core. streams: clients of the stream of events on a real node, and the idle gateway's memory. "
        "scrape: metrics of 1,000 hosts in Prometheus. page: the console's size, and Chromium, "
        "if it is installed. Needs no Docker. About 4 minutes. Short: --part lists --hosts 1000 --tasks 10000.",
    )
    of_web.add_argument(
        "--part", action="append", choices=web.PARTS, metavar="PART", help=f"only this one: {', '.join(web.PARTS)}"
    )
    number(of_web, "--hosts", web.offers.HOSTS, "in the index")
    number(of_web, "--tasks", web.TASKS, "in the index")
    number(of_web, "--requests", web.offers.REQUESTS, "of each kind, one after the other")
    number(of_web, "--clients", web.streams.CLIENTS, "of the stream of events")
    number(of_web, "--rate", web.reads.RATE, "mixed reads a second")
    number(of_web, "--seconds", web.SECONDS, "of load, events and scrapes each")
    of_trust = add(
        "trust",
        "challenges, committees and audits: what they cost, what they find, false verdicts",
        "verify: a proof with n = 8192 on one core. chance: hosts that compute a share of the rows. capture: "
        "committees with bought bonds, computed and drawn by the chain's rule, also as a plot in docs/images. false: "
        "challenges of honest hosts in simulated time. audit: results that are computed twice. daily: a challenge of "
        "each host a day. attacks: attacks on challenges in simulated time. opened: from the opening to the verdict on "
        "a real node. Needs no Docker. About 10 minutes. Short: --part capture --part audit --draws 1000.",
    )
    of_trust.add_argument(
        "--part", action="append", choices=trust.PARTS, metavar="PART", help=f"only this one: {', '.join(trust.PARTS)}"
    )
    number(of_trust, "--hosts", trust.daily.HOSTS, "that are challenged each day")
    number(of_trust, "--challenges", trust.honest.CHALLENGES, "of honest hosts")
    number(of_trust, "--draws", trust.capture.DRAWS, "of committees for each share of the bonds")
    number(of_trust, "--runs", trust.attacks.RUNS, "of each attack")
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
    number(placing, "--tasks", replays.TASKS, "of a replay")
    placing.add_argument("--plot", type=Path, metavar="FILE", help="draw the replays of the first seed there")
    placing.add_argument("--nodes", type=Path, metavar="FILE", help="the hosts: sn,cpu_milli,memory_mib,gpu,model")
    placing.add_argument(
        "--pods", type=Path, nargs="+", default=[], metavar="FILE", help="a list of pods for each trace"
    )
    number(placing, "--seeds", scheduler.SEEDS, "runs")
    number(placing, "--hosts", growth.HOSTS, "of growth, the most")
    number(placing, "--waiting", growth.TASKS, "tasks of growth in a round; ten times as many for the memory")
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
        "requests",
        "clients",
        "rate",
        "challenges",
        "draws",
        "runs",
    ):
        if getattr(options, name, 1) < 1:
            parser.error(f"--{name} {getattr(options, name)}: write a number from 1 up")


def _counts(text: str) -> tuple[int, ...]:
    """Numbers from 1 up, with commas between them."""
    if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", text):
        raise argparse.ArgumentTypeError(f"{text}: write numbers from 1 up, such as 1,2,4,8")
    return tuple(map(int, text.split(",")))
