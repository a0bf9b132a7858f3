"""gantry simulate --replay: run replays, and report them as a table, JSON, CSV and plots."""

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
from offchain.cli.operator import simulation_inputs
from offchain.cli.operator.simulation_inputs import require_packages
from offchain.schema.durations import HOUR_MS
from offchain.schema.value_text import counted
from offchain.simulator.names import PRODUCTION

if TYPE_CHECKING:
    from offchain.core.scheduler.cluster import HostSpec
    from offchain.core.scheduler.queue_definitions import QueueTree
    from offchain.simulator.measures import ReplayOutcome
    from offchain.simulator.replay import ClusterSample
    from offchain.simulator.trace import Arrival, Trace

LOAD_PERCENT = 100.0
"""The default where pods are drawn."""

DRAWN = 5_000
"""The default number of tasks of a trace without times."""

QUEUES = "queues"
"""The order of the production policy: by the queues of the scheduler."""

_IDLE_PERCENT = 50.0
"""Below this load, a replay in which no task waits says little about a policy."""
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
_FORMATS = (".svg", ".png")


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """The options of the command."""

    nodes: str | None
    pods: str | None
    policies: Sequence[str]
    orders: Sequence[str]
    """Of the baselines."""
    queues: str | None
    """Of the production policy."""
    gangs_percent: float | None
    """None: as in the trace."""
    seeds: range
    load_percent: float | None
    """None: tasks arrive at the times in the trace."""
    draw: int | None
    """None: each task of the trace once, if it has times."""
    prices: Mapping[str, float]
    csv: str | None
    plot: str | None
    as_json: bool


@dataclass(frozen=True, slots=True)
class _ReplayRun:
    policy: str
    order: str
    seed: int
    outcome: ReplayOutcome

    @property
    def name(self) -> str:
        return f"{self.policy}-{self.order}-{self.seed}"


def run_replays(options: ReplayOptions) -> None:
    """Run a replay of each policy with each order and seed."""
    if options.plot is not None:
        check_plot_file(options.plot)
    specs, tasks, source = _files(options)
    queues = _queues(options.queues)
    total_milli = 1000 * sum(spec.gpus for spec in specs)
    first = _paced(tasks(options.seeds[0]), options, total_milli, options.seeds[0])
    if not options.as_json:
        cluster = f"{counted(len(specs), 'node')}, {counted(total_milli // 1000, 'GPU')}"
        say(f"{cluster}; {counted(len(first.arrivals), 'task')}; {source}.")
        for note in first.notes:
            say(f"Generated: {note}.")
    done = []
    for seed in options.seeds:
        trace = first if seed == options.seeds[0] else _paced(tasks(seed), options, total_milli, seed)
        for policy in options.policies:
            orders = (QUEUES,) if policy == PRODUCTION else options.orders
            done += [_replay(specs, trace, policy, order, queues, seed, options) for order in orders]
    load = _load(first, total_milli)
    if load < _IDLE_PERCENT and not any(
        run.start_ms > run.arrival.arrival_ms for one in done for run in one.outcome.replayed.runs
    ):
        progress(
            f"note: no task waited, because the trace requests {load:g} % of the GPUs on average. "
            f"--draw {DRAWN} --load 110 draws pods from it that arrive faster than they end."
        )
    if options.csv is not None:
        _write(Path(options.csv), done, specs)
    if options.plot is not None:
        shown = [one for one in done if one.seed == options.seeds[0]]
        draw_plots(options.plot, [(f"{one.policy}, {one.order}", one.outcome) for one in shown])
    if options.as_json:
        facts = {"nodes": len(specs), "tasks": len(first.arrivals), "source": source, "notes": list(first.notes)}
        emit(facts | {"load_percent": load, "runs": [_plain(one) for one in done]})
        return
    _table(done)


def _queues(name: str | None) -> QueueTree:
    """Return the queues that this file defines; without a file, all accounts have equal shares."""
    from offchain.core.scheduler.queue_definitions import EQUAL_SHARES, QueueFileError, parse_queues  # noqa: PLC0415

    if name is None:
        return EQUAL_SHARES
    try:
        return parse_queues(simulation_inputs.read_text(name), source=name)
    except QueueFileError as error:
        raise CliError(f"--queues: {error}", "Mend the file; examples/queues.yaml is a whole one.") from None


def _files(options: ReplayOptions) -> tuple[list[HostSpec], Callable[[int], Trace], str]:
    """Return the hosts, a function from seed to tasks, and the source of both."""
    from offchain.simulator import csv_tables, generated  # noqa: PLC0415
    from offchain.simulator.trace import read_trace, trace_of_shapes  # noqa: PLC0415

    files = simulation_inputs.require_both(options.nodes, options.pods)
    if files is None:
        seed = options.seeds[0]
        shapes = generated.pods(seed)
        return generated.hosts(seed), partial(trace_of_shapes, shapes), simulation_inputs.generated_note(seed)
    nodes, pods = files
    text = simulation_inputs.read_text(pods)
    return (
        csv_tables.read_nodes(simulation_inputs.read_text(nodes), nodes),
        partial(read_trace, text, pods),
        f"{nodes}, {pods}",
    )


def _paced(trace: Trace, options: ReplayOptions, total_milli: int, seed: int) -> Trace:
    from offchain.simulator.load import at_load, draw_tasks  # noqa: PLC0415
    from offchain.simulator.trace import with_gangs  # noqa: PLC0415

    if options.gangs_percent is not None:
        trace = with_gangs(trace, options.gangs_percent, seed)
    many = options.draw if options.draw is not None or trace.timed else DRAWN
    if many is not None:
        return draw_tasks(trace, many, options.load_percent or LOAD_PERCENT, total_milli, seed)
    return trace if options.load_percent is None else at_load(trace, options.load_percent, total_milli)


def _load(trace: Trace, total_milli: int) -> float:
    from offchain.simulator.load import load_percent  # noqa: PLC0415

    return round(load_percent(trace, total_milli), 2)


def _replay(
    specs: Sequence[HostSpec],
    trace: Trace,
    policy: str,
    order: str,
    queues: QueueTree,
    seed: int,
    options: ReplayOptions,
) -> _ReplayRun:
    from offchain.simulator.measures import simulate_replay  # noqa: PLC0415

    progress(f"{policy}, {order}, seed {seed}: replays {counted(len(trace.arrivals), 'task')}")
    outcome = simulate_replay(
        specs, trace, policy, order, seed=seed, clock_s=time.perf_counter, prices=options.prices, queues=queues
    )
    progress(
        f"{policy}, {order}, seed {seed}: {outcome.measures.gpu_percent:.2f} % of GPUs in use, "
        f"{outcome.measures.started} tasks in {outcome.seconds:.1f} s"
    )
    return _ReplayRun(policy, order, seed, outcome)


def _plain(done: _ReplayRun) -> dict[str, Any]:
    fields = {"policy": done.policy, "order": done.order, "seed": done.seed}
    fields |= asdict(done.outcome.measures)
    rounded: dict[str, Any] = _rounded(fields)
    return rounded | {"cycles": done.outcome.replayed.cycles, "seconds": round(done.outcome.seconds, 3)}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(one) for one in value]
    return round(value, 6) if isinstance(value, float) else value


def _table(done: Sequence[_ReplayRun]) -> None:
    """Print means over seeds, one line for each policy and order."""
    rows = []
    for policy, order in dict.fromkeys((one.policy, one.order) for one in done):
        found = [one.outcome.measures for one in done if (one.policy, one.order) == (policy, order)]
        queue = [measures.wait_s for measures in found if measures.wait_s is not None]
        slow = [measures.slowdown for measures in found if measures.slowdown is not None]
        pieces = [measures.fragmentation_percent for measures in found if measures.fragmentation_percent is not None]
        rows.append(
            (
                policy,
                order,
                f"{_mean(measures.gpu_percent for measures in found):.2f}",
                f"{_mean(measures.cpu_percent for measures in found):.2f}",
                f"{_mean(wait.mean for wait in queue):.1f}",
                f"{_mean(wait.p99 for wait in queue):.1f}",
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


def _write(folder: Path, done: Sequence[_ReplayRun], specs: Sequence[HostSpec]) -> None:
    """Write two files for each replay: its tasks, and the state of the cluster over time."""
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


def _tasks(done: _ReplayRun, specs: Sequence[HostSpec]) -> Iterable[Sequence[object]]:
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


def check_plot_file(name: str) -> None:
    """Raise CliError if this file cannot be drawn, before anything is computed."""
    path = Path(name)
    if path.suffix.lower() not in _FORMATS:
        raise CliError(f"--plot: {name} does not end with {' or '.join(_FORMATS)}.", "Name it so.", code="usage")
    if not path.parent.is_dir():
        raise CliError(f"--plot: there is no folder {path.parent}.", f"Make it: mkdir -p {path.parent}", code="usage")
    require_packages("matplotlib", command="--plot")


def draw_plots(name: str, outcomes: Sequence[tuple[str, ReplayOutcome]]) -> None:
    """Draw GPUs in use, waiting tasks and fragmentation over time, the distribution of waits, fairness and cost."""
    from matplotlib import rc_context  # noqa: PLC0415  (slow to load)
    from matplotlib.figure import Figure  # noqa: PLC0415

    over_time: tuple[tuple[str, Callable[[ClusterSample], float]], ...] = (
        ("GPUs in use, %", lambda sample: sample.state.gpu_percent),
        ("tasks that wait", lambda sample: sample.waiting),
        ("free GPUs that are of no use, %", lambda sample: sample.state.fragmentation_percent),
    )
    # The same outcomes give the same file: no date, no random names.
    with rc_context({"svg.hashsalt": "gantry"}):
        figure = Figure(figsize=(16, 7), layout="constrained")
        axes = list(figure.subplots(2, 3).flat)
        for place, (label, outcome) in enumerate(outcomes):
            hours = [sample.at_ms / HOUR_MS for sample in outcome.samples]
            for axis, (_, value) in zip(axes, over_time, strict=False):
                axis.plot(hours, [value(sample) for sample in outcome.samples], label=label, linewidth=1)
            queue = sorted((run.start_ms - run.arrival.arrival_ms) / 1000 for run in outcome.replayed.runs)
            # Some hundred points show as much as all.
            shown = sorted({*range(0, len(queue), 1 + len(queue) // 500), *range(len(queue) - 1, len(queue))})
            parts = [100 * (at + 1) / len(queue) for at in shown]
            axes[3].step([max(1.0, queue[at]) for at in shown], parts, where="post", label=label, linewidth=1)
            axes[4].barh(place, outcome.measures.jain_index)
            axes[5].barh(place, outcome.measures.cost)
        for axis, (title, _) in zip(axes, over_time, strict=False):
            axis.set(title=title, xlabel="hours", ylim=(0, None))
        axes[3].set(
            title="tasks that waited no longer, %", xlabel="seconds (1 or less: at once)", xscale="log", ylim=(0, 101)
        )
        axes[4].set(title="fairness between accounts (Jain's index)", xlim=(0, 1))
        axes[5].set(title="cost of the GPUs", xlim=(0, None))
        for axis in axes[4:]:
            axis.set_yticks(range(len(outcomes)), [label for label, _ in outcomes])
            axis.invert_yaxis()
        axes[0].legend()
        path = Path(name)
        kind = path.suffix.lower().removeprefix(".")
        try:
            figure.savefig(path, format=kind, dpi=120, metadata={"Date": None} if kind == "svg" else None)
        except OSError as error:
            raise CliError(f"--plot: {name} cannot be written: {error.strerror}.", "Name another file.") from None
