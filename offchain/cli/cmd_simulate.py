"""gantry simulate."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from offchain.cli import options
from offchain.cli.failures import CliError
from offchain.cli.output import emit, progress, say, table
from offchain.core.placing.names import POLICIES

if TYPE_CHECKING:
    from offchain.core.placing.cluster import HostSpec
    from offchain.core.placing.shapes import Shape
    from offchain.core.placing.simulate import Outcome

_FILE = click.Path(dir_okay=False)


@dataclass(frozen=True, slots=True)
class _Trace:
    nodes: list[HostSpec]
    pods: list[Shape]
    source: str


@click.command()
@click.option("--nodes", metavar="FILE", type=_FILE, help="The hosts: sn,cpu_milli,memory_mib,gpu,model.")
@click.option(
    "--pods",
    metavar="FILE",
    type=_FILE,
    help="The pods: cpu_milli,memory_mib,num_gpu,gpu_milli and, if need be, gpu_spec.",
)
@click.option(
    "--load",
    type=click.FloatRange(0, 1000, min_open=True),
    default=130,
    show_default=True,
    metavar="PERCENT",
    help="Pods arrive until they have asked for so much of all GPUs.",
)
@click.option("--seeds", type=click.IntRange(1, 10_000), default=10, show_default=True, metavar="N", help="Runs.")
@click.option(
    "--first-seed",
    type=click.IntRange(0, 2**31),
    default=1,
    show_default=True,
    metavar="S",
    help="Of the first run; the next has S+1.",
)
@click.option("--policy", default="worth", show_default=True, metavar="P[,P…]", help="Which, or several, or all.")
@options.as_json
def simulate(
    nodes: str | None, pods: str | None, load: float, seeds: int, first_seed: int, policy: str, as_json: bool
) -> None:
    """Fill a cluster with pods that arrive one by one, and see how much of its GPUs a policy can give away.

    Each run draws pods from the list at random, with replacement, until they have asked for --load percent of all GPUs.
    Each is placed where the policy says; one that fits nowhere has failed; one that fits somewhere is placed. Nothing
    ever leaves. The same files and seed give the same result.

    \b
    Files are comma-separated, with the columns' names in the first line, in any order; other columns are passed over.
      gpu_milli   thousandths of each GPU that the pod asks for (1000: the whole GPU)
      gpu_spec    models that it accepts, with | between them; empty: any

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
    Examples:
      gantry simulate --nodes nodes.csv --pods pods.csv
      gantry simulate --nodes nodes.csv --pods pods.csv --policy worth,fgd,random --seeds 3
      gantry simulate --seeds 1 --json
    """
    names = _names(policy)
    trace = _trace(nodes, pods, first_seed)
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


def _names(policy: str) -> list[str]:
    names = list(POLICIES) if policy == "all" else [name.strip() for name in policy.split(",")]
    for name in names:
        if name not in POLICIES:
            raise CliError(
                f'--policy: there is no policy "{name}".', f"Known are: {', '.join(POLICIES)}, all.", code="usage"
            )
    return list(dict.fromkeys(names))


def _trace(nodes: str | None, pods: str | None, seed: int) -> _Trace:
    from offchain.core.placing import generated, traces  # noqa: PLC0415  (numpy is slow to load)

    if nodes is None and pods is None:
        return _Trace(
            generated.hosts(seed), generated.pods(seed), f"made up from seed {seed}, like no particular cluster"
        )
    if nodes is None or pods is None:
        missing = "--nodes" if nodes is None else "--pods"
        raise CliError(f"{missing} is missing.", "Give both files, or none for a made-up cluster.", code="usage")
    return _Trace(traces.nodes(_read(nodes), nodes), traces.pods(_read(pods), pods), f"{nodes}, {pods}")


def _read(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise CliError(f"{name} is not text: byte {error.start} is no UTF-8.", "Give a CSV file in UTF-8.") from None
    except OSError as error:
        raise CliError(f"{name} cannot be read: {error.strerror}.", "Check the path.") from None


def _policy(name: str, trace: _Trace, load: float, seeds: range) -> dict[str, Any]:
    from offchain.core.placing.rehearsal import prepare  # noqa: PLC0415  (numba is slow to load)
    from offchain.core.placing.shapes import Mix  # noqa: PLC0415
    from offchain.core.placing.simulate import simulate as run  # noqa: PLC0415

    outcomes: list[Outcome] = []
    mix = Mix.of(trace.pods)
    began_s = time.perf_counter()
    prepared = prepare(name, trace.nodes, mix)
    prepared_s = time.perf_counter() - began_s
    if prepared.note:
        progress(f"{name}: rehearsed in {prepared_s:.1f} s, {prepared.note}")
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
