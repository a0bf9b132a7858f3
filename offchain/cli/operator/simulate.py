"""gantry simulate."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from offchain.cli.kit import options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.optional_dependencies import need
from offchain.cli.kit.output import emit, progress, say, table
from offchain.cli.operator import replay as replaying
from offchain.cli.operator import trace_files
from offchain.cli.operator.policy_preparation import rehearsed
from offchain.simulator.names import ORDERS, POLICIES

if TYPE_CHECKING:
    from offchain.core.scheduler.cluster import HostSpec
    from offchain.core.scheduler.pod_request import PodShape
    from offchain.simulator.filling import FillOutcome

_FILE = click.Path(dir_okay=False)
_LOAD_PERCENT = 130.0
_SEEDS = 10


@dataclass(frozen=True, slots=True)
class _Trace:
    nodes: list[HostSpec]
    pods: list[PodShape]
    source: str


@click.command()
@click.argument("trace", required=False)
@click.option("--nodes", metavar="FILE", type=_FILE, help="The hosts: sn,cpu_milli,memory_mib,gpu,model.")
@click.option(
    "--pods",
    metavar="FILE",
    type=_FILE,
    help="The pods: cpu_milli,memory_mib,num_gpu,gpu_milli and, if need be, gpu_spec.",
)
@click.option(
    "--load",
    type=options.Percent(1000),
    metavar="PERCENT",
    help="Pods arrive until they have asked for so much of all GPUs (130). With --replay: they come so fast that on "
    "average so much would be in use, if nobody waited (as the file says; 100 where pods are drawn).",
)
@click.option(
    "--seeds", type=click.IntRange(1, 10_000), metavar="N", help="Runs, each with its own seed (10; with --replay 1)."
)
@click.option(
    "--first-seed",
    type=click.IntRange(0, 2**31),
    default=1,
    show_default=True,
    metavar="S",
    help="Of the first run; the next has S+1.",
)
@click.option("--policy", default="worth", show_default=True, metavar="P[,P…]", help="Which, or several, or all.")
@click.option("--replay", is_flag=True, help="In virtual time, as with TRACE: pods come, wait, run and end.")
@click.option("--order", metavar="O[,O…]", help="With --replay: who is next (fifo); or several, or all.")
@click.option("--queues", metavar="FILE", type=_FILE, help="With --order queues: their definitions, in YAML (none).")
@click.option(
    "--backfill",
    is_flag=True,
    help="With --replay: who does not fit has room reserved, and others pass if they do not delay it.",
)
@click.option(
    "--gangs",
    type=options.Percent(100),
    metavar="PERCENT",
    help="With --replay: so many of the tasks with GPUs start as gangs of 2, 4 or 8 pods, drawn by the seed (as the "
    "file says).",
)
@click.option(
    "--draw",
    type=click.IntRange(2, 10_000_000),
    metavar="N",
    help="With --replay: N pods, drawn from the file at random, at random times (20000 where the file has no times).",
)
@click.option(
    "--price",
    "prices",
    multiple=True,
    metavar="MODEL=PRICE",
    help="With --replay: of a GPU of that model for an hour (1). May be given several times.",
)
@click.option(
    "--csv",
    "csv_folder",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="With --replay: write two tables for each run, its tasks and how the cluster stood over time.",
)
@click.option(
    "--plot", type=_FILE, metavar="FILE", help="With --replay: draw the runs of the first seed; FILE.svg or FILE.png."
)
@options.as_json
def simulate(
    trace: str | None,
    nodes: str | None,
    pods: str | None,
    load: float | None,
    seeds: int | None,
    first_seed: int,
    policy: str,
    replay: bool,
    order: str | None,
    queues: str | None,
    backfill: bool,
    gangs: float | None,
    draw: int | None,
    prices: Sequence[str],
    csv_folder: str | None,
    plot: str | None,
    as_json: bool,
) -> None:
    """Try placement policies and orders of the queue on a trace, or on a made-up cluster.

    With TRACE, or --replay, in virtual time: pods come when the file says, wait until it is their turn and there is
    room, run as long as the file says, and leave. Told are the GPUs in use, waits, slowdown (from arrival to end, as a
    multiple of the time it ran), Jain's index of fairness between accounts, the part of free GPUs that is of no use,
    and what the GPUs cost. TRACE is a folder with a list of nodes and a list of pods, or a list of pods that lies
    beside a list of nodes; where there are several, --nodes and --pods say which.

    Without, a cluster is filled with pods that arrive one by one, to see how much of its GPUs a policy can give away.
    Each run draws pods from the list at random, with replacement, until they have asked for --load percent of all GPUs.
    Each is placed where the policy says; one that fits nowhere has failed; one that fits somewhere is placed. Nothing
    ever leaves. The same files and seed give the same result.

    \b
    Files are comma-separated, with the columns' names in the first line, in any order; other columns are passed over.
      gpu_milli   thousandths of each GPU that the pod asks for (1000: the whole GPU)
      gpu_spec    models that it accepts, with | between them; empty: any
    For --replay, and made up by the seed (which is said) where they are not there:
      arrival_ms, duration_ms         or, in seconds, creation_time, deletion_time, and scheduled_time if it waited
      account                         whose it is
    For --replay, if need be: name, queue, priority, max_duration_ms; pods: so many that start
    together; gang: lines with the same start together.

    Without files a made-up cluster is used, and said to be.

    \b
    Policies:
      worth        least loss of what free GPUs are worth (Gantry's own)
      fgd          least fragmentation, as published
      best_fit     least left over
      gpu_packing  GPUs in use first
      dot_product  least of what the pod needs
      first_fit    the first host in the list
      random       any host

    \b
    Orders:
      fifo    first come, first served; who does not fit holds up all behind
      drf     the account that has the least, by dominant resource
      queues  as the scheduler: queues, shares by weight, priorities that grow with waiting

    \b
    Examples:
      gantry simulate traces/may --policy worth,fgd --order fifo,queues --plot may.svg --csv tables
      gantry simulate --nodes nodes.csv --pods pods.csv
      gantry simulate --nodes nodes.csv --pods pods.csv --policy worth,fgd,random --seeds 3
      gantry simulate --seeds 1 --json
      gantry simulate --replay --order fifo,drf,queues --plot waits.svg
      gantry simulate --replay --order queues --queues queues.yaml --backfill --gangs 10
      gantry simulate --replay --nodes nodes.csv --pods pods.csv --draw 100000 --load 110 --csv tables --json
    """
    need("numpy", "numba", command="gantry simulate")
    policies = _names("--policy", "policy", policy, POLICIES)
    if trace is not None:
        nodes, pods = trace_files.of_trace(trace, nodes, pods)
        replay = True
    if replay:
        if queues is not None and "queues" not in (order or "").split(",") and order != "all":
            raise CliError("--queues is for --order queues.", "Add --order queues, or leave it out.", code="usage")
        replaying.run(
            replaying.Wishes(
                nodes=nodes,
                pods=pods,
                policies=policies,
                orders=_names("--order", "order", order or "fifo", ORDERS),
                seeds=range(first_seed, first_seed + (seeds or 1)),
                queues=queues,
                backfill=backfill,
                gangs_percent=gangs,
                load_percent=load,
                draw=draw,
                prices=_prices(prices),
                csv=csv_folder,
                plot=plot,
                as_json=as_json,
            )
        )
        return
    given: dict[str, object] = {"--order": order, "--queues": queues, "--backfill": backfill, "--gangs": gangs}
    given |= {"--draw": draw, "--price": prices, "--csv": csv_folder, "--plot": plot}
    for name, value in given.items():
        if value:
            raise CliError(
                f"{name} is for replays.", f"Add --replay, or name a TRACE, or leave {name} out.", code="usage"
            )
    _fill(_trace(nodes, pods, first_seed), policies, load or _LOAD_PERCENT, first_seed, seeds or _SEEDS, as_json)


def _fill(trace: _Trace, names: Sequence[str], load: float, first_seed: int, seeds: int, as_json: bool) -> None:
    if not as_json:
        gpus = sum(node.gpus for node in trace.nodes)
        say(f"{len(trace.nodes)} nodes, {gpus} GPUs; {len(trace.pods)} pods; {trace.source}.")
    found = [_policy(name, trace, load, range(first_seed, first_seed + seeds)) for name in names]
    if as_json:
        facts = {"nodes": len(trace.nodes), "pods": len(trace.pods), "source": trace.source, "load_percent": load}
        emit(facts | found[0] | {"policies": found})
        return
    header = ("policy", "allocated %", "spread", "least", "most", "failed pods", "decisions/s")
    rows = [
        (
            one["policy"],
            f"{one['allocation_percent']:.2f}",
            f"{one['allocation_spread']:.2f}",
            f"{min(run['allocation_percent'] for run in one['runs']):.2f}",
            f"{max(run['allocation_percent'] for run in one['runs']):.2f}",
            round(statistics.mean(run["failed"] for run in one["runs"])),
            round(one["decisions_per_second"]),
        )
        for one in found
    ]
    table(header, rows)


def _names(option: str, what: str, given: str, known: Mapping[str, str]) -> list[str]:
    names = list(known) if given == "all" else [name.strip() for name in given.split(",")]
    for name in names:
        if name not in known:
            raise CliError(
                f'{option}: there is no {what} "{name}".', f"Known are: {', '.join(known)}, all.", code="usage"
            )
    return list(dict.fromkeys(names))


def _prices(given: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in given:
        model, _, price = text.rpartition("=")
        try:
            found[model] = float(price)
        except ValueError:
            found[model] = -1.0
        if not model or not 0 <= found[model] < float("inf"):
            raise CliError(
                f'--price: "{text}" is no model and price.', "Write MODEL=PRICE, like A100=1.8.", code="usage"
            )
    return found


def _trace(nodes: str | None, pods: str | None, seed: int) -> _Trace:
    from offchain.simulator import csv_tables, generated  # noqa: PLC0415  (numpy is slow to load)

    files = trace_files.both_or_none(nodes, pods)
    if files is None:
        return _Trace(generated.hosts(seed), generated.pods(seed), trace_files.made_up_from(seed))
    node_file, pod_file = files
    return _Trace(
        csv_tables.read_nodes(trace_files.read(node_file), node_file),
        csv_tables.read_pods(trace_files.read(pod_file), pod_file),
        f"{node_file}, {pod_file}",
    )


def _policy(name: str, trace: _Trace, load: float, seeds: range) -> dict[str, Any]:
    from offchain.core.scheduler.demand import DemandDistribution  # noqa: PLC0415  (numba is slow to load)
    from offchain.simulator.filling import simulate_fill as run  # noqa: PLC0415

    outcomes: list[FillOutcome] = []
    mix = DemandDistribution.of(trace.pods)
    prepared, prepared_s = rehearsed(name, trace.nodes, mix)
    for seed in seeds:
        outcome = run(trace.nodes, mix, prepared, load_percent=load, seed=seed, clock_s=time.perf_counter)
        progress(
            f"{name}, seed {seed}: {outcome.allocation_percent:.2f} % allocated, {outcome.filled.failed} pods failed"
        )
        outcomes.append(outcome)
    allocated = [outcome.allocation_percent for outcome in outcomes]
    return {
        "policy": name,
        "allocation_percent": round(statistics.mean(allocated), 4),
        "allocation_spread": round(statistics.stdev(allocated), 4) if len(allocated) > 1 else 0.0,
        "allocation_percent_at_load": {
            str(mark): round(statistics.mean(outcome.filled.at_load[mark] for outcome in outcomes), 4)
            for mark in outcomes[0].filled.at_load
        },
        "decisions_per_second": round(
            sum(outcome.filled.pods for outcome in outcomes) / max(1e-9, sum(outcome.seconds for outcome in outcomes)),
            1,
        ),
        "rehearsal": prepared.note,
        "rehearsal_seconds": round(prepared_s, 3),
        "runs": [
            {
                "seed": outcome.seed,
                "allocation_percent": round(outcome.allocation_percent, 4),
                "pods": outcome.filled.pods,
                "failed": outcome.filled.failed,
                "failed_with_gpus": outcome.filled.failed_with_gpus,
            }
            for outcome in outcomes
        ],
    }
