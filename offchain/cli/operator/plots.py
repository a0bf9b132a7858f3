"""Plots of replays, as SVG or PNG. matplotlib is loaded when one is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from offchain.cli.kit.failures import CliError
from offchain.cli.kit.optional_dependencies import need

if TYPE_CHECKING:
    from offchain.simulator.measures import ReplayOutcome
    from offchain.simulator.replay import ClusterSample

_FORMATS = (".svg", ".png")
_HOUR_MS = 3_600_000


def ready(name: str) -> None:
    """CliError where this file cannot be drawn: told before anything is computed."""
    path = Path(name)
    if path.suffix.lower() not in _FORMATS:
        raise CliError(f"--plot: {name} does not end with {' or '.join(_FORMATS)}.", "Name it so.", code="usage")
    if not path.parent.is_dir():
        raise CliError(f"--plot: there is no folder {path.parent}.", f"Make it: mkdir -p {path.parent}", code="usage")
    need("matplotlib", command="--plot")


def draw(name: str, outcomes: Sequence[tuple[str, ReplayOutcome]]) -> None:
    """GPUs in use, tasks that wait and fragmentation over time, the spread of waits, fairness and cost."""
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
            hours = [sample.at_ms / _HOUR_MS for sample in outcome.samples]
            for axis, (_, value) in zip(axes, over_time, strict=False):
                axis.plot(hours, [value(sample) for sample in outcome.samples], label=label, linewidth=1)
            waits = sorted((run.start_ms - run.arrival.arrival_ms) / 1000 for run in outcome.replayed.runs)
            # Some hundred points show as much as all.
            shown = sorted({*range(0, len(waits), 1 + len(waits) // 500), *range(len(waits) - 1, len(waits))})
            parts = [100 * (at + 1) / len(waits) for at in shown]
            axes[3].step([max(1.0, waits[at]) for at in shown], parts, where="post", label=label, linewidth=1)
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
