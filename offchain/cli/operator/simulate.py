"""gantry simulate: compare placement policies on a trace."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from offchain.cli.kit import options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import emit, progress, say, table
from offchain.cli.operator import replay as replaying
from offchain.cli.operator import simulation_inputs
from offchain.cli.operator.simulation_inputs import require_packages
from offchain.schema.value_text import counted
from offchain.simulator.names import ORDERS, POLICIES, PRODUCTION

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
    help="Pods arrive until they have requested this share of all GPUs (130). With --replay: they arrive so fast that "
    "on average this share would be in use without waiting (as in the file; 100 where pods are drawn).",
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
@click.option("--policy", default=PRODUCTION, show_default=True, metavar="P[,P…]", help="Which, or several, or all.")
@click.option("--replay", is_flag=True, help="In virtual time, as with TRACE: pods come, wait, run and end.")
@click.option(
    "--order",
    metavar="O[,O…]",
    help="With --replay: the order of waiting tasks under policies other than production (fifo); or several, or all.",
)
@click.option(
    "--queues",
    metavar="FILE",
    type=_FILE,
    help="With --replay: the definitions of the queues of the production policy, in YAML (none).",
)
@click.option(
    "--gangs",
    type=options.Percent(100),
    metavar="PERCENT",
    help="With --replay: this share of the tasks with GPUs starts as gangs of 2, 4 or 8 pods, drawn by the seed (as in "
    "the file).",
)
@click.option(
    "--draw",
    type=click.IntRange(2, 10_000_000),
    metavar="N",
    help="With --replay: N pods, drawn from the file at random, at random times (5000 where the file has no times).",
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
    gangs: float | None,
    draw: int | None,
    prices: Sequence[str],
    csv_folder: str | None,
    plot: str | None,
    as_json: bool,
) -> None:
    """Compare placement policies and queue orders on a trace, or on a generated cluster.

    With TRACE or --replay, tasks arrive in virtual time at the times in the file, wait for their turn and for free
    resources, run as long as the file says, and leave. The report has the GPUs in use, waits, slowdown (from arrival to
    end, as a multiple of the run time), Jain's index of fairness between accounts, the share of free GPUs that no task
    can use, and the cost of the GPUs. TRACE is a folder with a list of nodes and a list of pods, or a list of pods that
    lies beside a list of nodes; if there are several, choose with --nodes and --pods.

    Otherwise a cluster is filled with pods that arrive one by one, to see how much of its GPUs a policy can allocate.
    Each run draws pods from the list at random, with replacement, until they have requested --load percent of all GPUs.
    The policy chooses the host of each pod; a pod that fits on no host counts as failed. No pod ends. The same files
    and seed give the same result.

    \b
    Files are comma-separated, with the columns' names in the first line, in any order; other columns are ignored.
      gpu_milli   thousandths of each GPU that the pod asks for (1000: the whole GPU)
      gpu_spec    models that it accepts, with | between them; empty: any
    For --replay, and generated by the seed where they are missing:
      arrival_ms, duration_ms         or, in seconds, creation_time, deletion_time, and scheduled_time if it waited
      account                         the owner
    Optional for --replay: name, queue, priority, max_duration_ms; pods: how many start
    together; gang: lines with the same value start together.

    Without files a generated cluster is used.

    \b
    Policies:
      production  the scheduler of the worker: queues, reservations, backfill, packing
      fgd         least fragmentation, as published
      best_fit    least left over
      first_fit   the first host in the list

    \b
    Orders of waiting tasks, for policies other than production:
      fifo  first come, first served; a task that does not fit blocks those behind it
      drf   the account that has the least, by dominant resource

    \b
    Examples:
      gantry simulate traces/may --policy production,fgd --order fifo,drf --plot may.svg --csv tables
      gantry simulate --nodes nodes.csv --pods pods.csv
      gantry simulate --nodes nodes.csv --pods pods.csv --policy production,fgd,best_fit --seeds 3
      gantry simulate --seeds 1 --json
      gantry simulate --replay --policy all --order all --plot waits.svg
      gantry simulate --replay --queues queues.yaml --gangs 10
      gantry simulate --replay --nodes nodes.csv --pods pods.csv --draw 5000 --load 110 --csv tables --json
    """
    require_packages("numpy", "numba", command="gantry simulate")
    from offchain.services.kernel_cache import enable_kernel_cache  # noqa: PLC0415  (needs numba)

    enable_kernel_cache()
    policies = _names("--policy", "policy", policy, POLICIES)
    if trace is not None:
        nodes, pods = simulation_inputs.find_trace_files(trace, nodes, pods)
        replay = True
    if replay:
        orders = _names("--order", "order", order or "fifo", ORDERS)
        if queues is not None and PRODUCTION not in policies:
            raise CliError(
                "--queues is for the policy production.", "Add it to --policy, or leave --queues out.", code="usage"
            )
        if order is not None and policies == [PRODUCTION]:
            raise CliError(
                "--order is for policies other than production, whose order follows from its queues.",
                "Name another policy too, like --policy production,fgd, or leave --order out.",
                code="usage",
            )
        replaying.run_replays(
            replaying.ReplayOptions(
                nodes=nodes,
                pods=pods,
                policies=policies,
                orders=orders,
                seeds=range(first_seed, first_seed + (seeds or 1)),
                queues=queues,
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
    given: dict[str, object] = {"--order": order, "--queues": queues, "--gangs": gangs}
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
        cluster = f"{counted(len(trace.nodes), 'node')}, {counted(gpus, 'GPU')}"
        say(f"{cluster}; {counted(len(trace.pods), 'pod')}; {trace.source}.")
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
                f'--price: "{text}" is not a model and price.', "Write MODEL=PRICE, like A100=1.8.", code="usage"
            )
    return found


def _trace(nodes: str | None, pods: str | None, seed: int) -> _Trace:
    from offchain.simulator import csv_tables, generated  # noqa: PLC0415

    files = simulation_inputs.require_both(nodes, pods)
    if files is None:
        return _Trace(generated.hosts(seed), generated.pods(seed), simulation_inputs.generated_note(seed))
    node_file, pod_file = files
    return _Trace(
        csv_tables.read_nodes(simulation_inputs.read_text(node_file), node_file),
        csv_tables.read_pods(simulation_inputs.read_text(pod_file), pod_file),
        f"{node_file}, {pod_file}",
    )


def _policy(name: str, trace: _Trace, load: float, seeds: range) -> dict[str, Any]:
    from offchain.core.scheduler.demand import DemandDistribution  # noqa: PLC0415
    from offchain.simulator.filling import simulate_fill as run  # noqa: PLC0415

    outcomes: list[FillOutcome] = []
    mix = DemandDistribution.of(trace.pods)
    for seed in seeds:
        outcome = run(trace.nodes, mix, name, load_percent=load, seed=seed, clock_s=time.perf_counter)
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
