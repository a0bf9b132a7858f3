"""gantry simulate --replay: runs the replays, and tells what came of them as a table, JSON, CSV and plots."""

from __future__ import annotations

import csv
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import emit, progress, say, table
from offchain.cli.operator import plots, trace_files
from offchain.cli.operator.policy_preparation import rehearsed

if TYPE_CHECKING:
    from offchain.core.queues.tree import Tree
    from offchain.core.scheduler.cluster import HostSpec
    from offchain.simulator.measures import ReplayOutcome
    from offchain.simulator.policies import PreparedPolicy
    from offchain.simulator.trace import Arrival, Trace

LOAD_PERCENT = 100.0
"""Where pods are drawn and nothing else is said."""

DRAWN = 20_000
"""Tasks, where the trace has no times and nothing else is said."""


_IDLE_PERCENT = 50.0
"""Where less is asked for and nobody waits, a replay shows little of a policy."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What was asked for."""

    nodes: str | None
    pods: str | None
    policies: Sequence[str]
    orders: Sequence[str]
    queues: str | None
    backfill: bool
    gangs_percent: float | None
    """None: as the trace says."""
    seeds: range
    load_percent: float | None
    """None: tasks come when the trace says."""
    draw: int | None
    """None: each task of the trace once, if it has times."""
    prices: Mapping[str, float]
    csv: str | None
    plot: str | None
    as_json: bool


@dataclass(frozen=True, slots=True)
class _Done:
    policy: str
    order: str
    backfill: bool
    seed: int
    outcome: ReplayOutcome

    @property
    def order_name(self) -> str:
        """As tables have it."""
        return f"{self.order}+backfill" if self.backfill else self.order

    @property
    def name(self) -> str:
        return f"{self.policy}-{self.order_name}-{self.seed}"


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Who is next, and whether others may pass."""

    order: str
    queues: Tree | None
    backfill: bool


def run(wishes: Wishes) -> None:
    """All replays, each policy with each order and seed."""
    if wishes.plot is not None:
        plots.ready(wishes.plot)
    specs, tasks, source = _files(wishes)
    queues = None if wishes.queues is None else _queues(wishes.queues)
    total_milli = 1000 * sum(spec.gpus for spec in specs)
    first = _paced(tasks(wishes.seeds[0]), wishes, total_milli, wishes.seeds[0])
    if not wishes.as_json:
        say(f"{len(specs)} nodes, {total_milli // 1000} GPUs; {len(first.arrivals)} tasks; {source}.")
        for note in first.notes:
            say(f"Made up: {note}.")
    done = []
    for seed in wishes.seeds:
        trace = first if seed == wishes.seeds[0] else _paced(tasks(seed), wishes, total_milli, seed)
        for policy in wishes.policies:
            prepared, _ = rehearsed(policy, specs, trace.demand())
            done += [
                _replay(specs, trace, policy, prepared, _Waiting(order, queues, wishes.backfill), seed, wishes)
                for order in wishes.orders
            ]
    load = _load(first, total_milli)
    if load < _IDLE_PERCENT and not any(
        run.start_ms > run.arrival.arrival_ms for one in done for run in one.outcome.replayed.runs
    ):
        progress(
            f"note: nobody waited, for the trace asks for {load:g} % of the GPUs on average. "
            f"--draw {DRAWN} --load 110 draws pods from it that come faster than they end."
        )
    if wishes.csv is not None:
        _write(Path(wishes.csv), done, specs)
    if wishes.plot is not None:
        shown = [one for one in done if one.seed == wishes.seeds[0]]
        plots.draw(wishes.plot, [(f"{one.policy}, {one.order_name}", one.outcome) for one in shown])
    if wishes.as_json:
        facts = {"nodes": len(specs), "tasks": len(first.arrivals), "source": source, "notes": list(first.notes)}
        emit(facts | {"load_percent": load, "runs": [_plain(one) for one in done]})
        return
    _table(done)


def _queues(name: str) -> Tree:
    from offchain.core.queues.text import QueuesError, parse_queues  # noqa: PLC0415

    try:
        return parse_queues(trace_files.read(name), source=name)
    except QueuesError as error:
        raise CliError(f"--queues: {error}", "Mend the file; examples/queues.yaml is a whole one.") from None


def _files(wishes: Wishes) -> tuple[list[HostSpec], Callable[[int], Trace], str]:
    """Hosts, the tasks by seed, and where they are from."""
    from offchain.simulator import csv_tables, generated  # noqa: PLC0415  (numpy is slow to load)
    from offchain.simulator.trace import read_trace, trace_of_shapes  # noqa: PLC0415

    files = trace_files.both_or_none(wishes.nodes, wishes.pods)
    if files is None:
        seed = wishes.seeds[0]
        shapes = generated.pods(seed)
        return generated.hosts(seed), partial(trace_of_shapes, shapes), trace_files.made_up_from(seed)
    nodes, pods = files
    text = trace_files.read(pods)
    return csv_tables.read_nodes(trace_files.read(nodes), nodes), partial(read_trace, text, pods), f"{nodes}, {pods}"


def _paced(trace: Trace, wishes: Wishes, total_milli: int, seed: int) -> Trace:
    from offchain.simulator.load import at_load, draw_tasks  # noqa: PLC0415
    from offchain.simulator.trace import with_gangs  # noqa: PLC0415

    if wishes.gangs_percent is not None:
        trace = with_gangs(trace, wishes.gangs_percent, seed)
    many = wishes.draw if wishes.draw is not None or trace.timed else DRAWN
    if many is not None:
        return draw_tasks(trace, many, wishes.load_percent or LOAD_PERCENT, total_milli, seed)
    return trace if wishes.load_percent is None else at_load(trace, wishes.load_percent, total_milli)


def _load(trace: Trace, total_milli: int) -> float:
    from offchain.simulator.load import load_percent  # noqa: PLC0415

    return round(load_percent(trace, total_milli), 2)


def _replay(
    specs: Sequence[HostSpec],
    trace: Trace,
    policy: str,
    prepared: PreparedPolicy,
    waits: _Waiting,
    seed: int,
    wishes: Wishes,
) -> _Done:
    from offchain.simulator.measures import simulate_replay  # noqa: PLC0415
    from offchain.simulator.orders import make_order  # noqa: PLC0415
    from offchain.simulator.replay_backfill import ReservingBackfill  # noqa: PLC0415

    outcome = simulate_replay(
        specs,
        trace,
        prepared,
        partial(make_order, waits.order, queues=waits.queues, skip_blocked=waits.backfill),
        seed=seed,
        clock_s=time.perf_counter,
        prices=wishes.prices,
        backfill=ReservingBackfill if waits.backfill else None,
    )
    done = _Done(policy, waits.order, waits.backfill, seed, outcome)
    progress(
        f"{policy}, {done.order_name}, seed {seed}: {outcome.measures.gpu_percent:.2f} % of GPUs in use, "
        f"{outcome.measures.started} tasks in {outcome.seconds:.1f} s"
    )
    return done


def _plain(done: _Done) -> dict[str, Any]:
    """For --json."""
    told = {"policy": done.policy, "order": done.order, "backfill": done.backfill, "seed": done.seed}
    told |= asdict(done.outcome.measures)
    rounded: dict[str, Any] = _rounded(told)
    return rounded | {"tries": done.outcome.replayed.tries, "seconds": round(done.outcome.seconds, 3)}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(one) for one in value]
    return round(value, 6) if isinstance(value, float) else value


def _table(done: Sequence[_Done]) -> None:
    """Means over seeds, a line for each policy and order."""
    rows = []
    for policy, order in dict.fromkeys((one.policy, one.order_name) for one in done):
        found = [one.outcome.measures for one in done if (one.policy, one.order_name) == (policy, order)]
        waits = [measures.wait_s for measures in found if measures.wait_s is not None]
        slow = [measures.slowdown for measures in found if measures.slowdown is not None]
        pieces = [measures.fragmentation_percent for measures in found if measures.fragmentation_percent is not None]
        rows.append(
            (
                policy,
                order,
                f"{_mean(measures.gpu_percent for measures in found):.2f}",
                f"{_mean(measures.cpu_percent for measures in found):.2f}",
                f"{_mean(wait.mean for wait in waits):.1f}",
                f"{_mean(wait.p99 for wait in waits):.1f}",
                f"{_mean(one.mean for one in slow):.2f}",
                f"{_mean(measures.jain_index for measures in found):.3f}",
                f"{_mean(piece.mean for piece in pieces):.1f}",
                f"{_mean(measures.cost for measures in found):.2f}",
                f"{_mean(float(measures.refused) for measures in found):.0f}",
            )
        )
    header = ("GPU %", "CPU %", "wait s", "wait p99", "slowdown", "Jain", "fragmented %", "cost", "refused")
    table(("policy", "order", *header), rows)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return statistics.mean(found) if found else 0.0


_TASK_COLUMNS = (
    "name",
    "account",
    "queue",
    "priority",
    "pods",
    "cpu_milli",
    "memory_mib",
    "num_gpu",
    "gpu_milli",
    "gpu_spec",
)


def _write(folder: Path, done: Sequence[_Done], specs: Sequence[HostSpec]) -> None:
    """Two files for each replay: its tasks, and how the cluster stood over time."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for one in done:
            _csv(
                folder / f"{one.name}-tasks.csv",
                (*_TASK_COLUMNS, "arrival_ms", "duration_ms", "start_ms", "end_ms", "wait_ms", "hosts"),
                _tasks(one, specs),
            )
            _csv(
                folder / f"{one.name}-series.csv",
                ("time_ms", "gpu_percent", "cpu_percent", "fragmentation_percent", "running", "waiting"),
                (
                    (sample.at_ms, *(f"{part:.4f}" for part in sample.state), sample.running, sample.waiting)
                    for sample in one.outcome.samples
                ),
            )
    except OSError as error:
        raise CliError(
            f"--csv: {error.filename or folder} cannot be written: {error.strerror}.",
            "Name a folder that you may write.",
        ) from None
    progress(f"{2 * len(done)} tables written into {folder}")


def _tasks(done: _Done, specs: Sequence[HostSpec]) -> Iterable[Sequence[object]]:
    for run in done.outcome.replayed.runs:
        hosts = "|".join(specs[place.host].name for place in run.slots)
        times = (run.start_ms, run.end_ms, run.start_ms - run.arrival.arrival_ms)
        yield (*_asked(run.arrival), *times, hosts)
    for arrival in done.outcome.replayed.refused:
        yield (*_asked(arrival), "", "", "", "")


def _asked(arrival: Arrival) -> Sequence[object]:
    shape = arrival.shape
    wanted = (shape.cpu_milli, shape.memory_mib, shape.gpus, shape.gpu_milli, "|".join(sorted(shape.models)))
    named = (arrival.name, arrival.account, arrival.queue, arrival.priority, arrival.pods)
    return (*named, *wanted, arrival.arrival_ms, arrival.duration_ms)


def _csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
