"""What a replay is judged by. docs/scheduling.md, "Simulating", says how each is defined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from offchain.core.placing.cluster import HostSpec
from offchain.core.placing.free import Floats
from offchain.core.placing.shapes import WHOLE_GPU, Shape
from offchain.core.replay.fairness import Part, jain_index, parts
from offchain.core.replay.order import Run
from offchain.core.replay.replay import Replayed
from offchain.core.replay.series import Sample

_HOUR_MS = 3_600_000
_SHORT_MS = 10_000
"""Slowdown counts no task as shorter, so that it is not about tasks of an instant."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Of many values; `p95`: the least that 95 % of them do not exceed."""

    mean: float
    p50: float
    p95: float
    p99: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        """None where there are no values."""
        if not values:
            return None
        found = np.array(values, dtype=np.float64)
        p50, p95, p99 = np.percentile(found, (50, 95, 99), method="inverted_cdf").tolist()
        return cls(float(found.mean()), p50, p95, p99, float(found.max()))


@dataclass(frozen=True, slots=True)
class Measures:
    """Of one replay. The window is the time from the first arrival to the last; if all came at once, until the end."""

    window_hours: float
    until_end_hours: float
    started: int
    refused: int
    gpu_percent: float
    """Of all GPUs, in use; the mean over the window."""
    cpu_percent: float
    gpu_percent_until_end: float
    wait_s: Spread | None
    wait_s_by_size: Mapping[str, Spread | None]
    slowdown: Spread | None
    fragmentation_percent: Spread | None
    """Over the samples of the window."""
    jain_index: float
    accounts: Sequence[Part]
    cost: float


def measure(
    replayed: Replayed,
    samples: Sequence[Sample],
    specs: Sequence[HostSpec],
    window_ms: int,
    prices: Mapping[str, float],
) -> Measures:
    """`prices`: for an hour of a GPU, by model; 1 for models that are not in it."""
    runs = replayed.runs
    end_ms = max((run.end_ms for run in runs), default=0)
    window_ms = window_ms or end_ms or 1
    waits = {size: [_wait_s(run) for run in runs if _size(run.arrival.shape) == size] for size in SIZES}
    inside = [sample.state.fragmentation_percent for sample in samples if sample.at_ms <= window_ms]
    accounts = _accounts(runs, specs, window_ms)
    milli = [run.arrival.total_milli for run in runs]
    total_milli = sum(spec.gpus for spec in specs) * WHOLE_GPU
    return Measures(
        window_hours=window_ms / _HOUR_MS,
        until_end_hours=end_ms / _HOUR_MS,
        started=len(runs),
        refused=len(replayed.refused),
        gpu_percent=_percent(milli, _inside(runs, window_ms), total_milli * window_ms),
        cpu_percent=_percent(
            [run.arrival.pods * run.arrival.shape.cpu_milli for run in runs],
            _inside(runs, window_ms),
            sum(spec.cpu_milli for spec in specs) * window_ms,
        ),
        gpu_percent_until_end=_percent(milli, _inside(runs, end_ms), total_milli * end_ms),
        wait_s=Spread.of([_wait_s(run) for run in runs]),
        wait_s_by_size={size: Spread.of(found) for size, found in waits.items()},
        slowdown=Spread.of([_slowdown(run) for run in runs]),
        fragmentation_percent=Spread.of(inside),
        jain_index=jain_index(accounts),
        accounts=accounts,
        cost=_cost(runs, specs, prices),
    )


SIZES = ("no GPU", "part of a GPU", "one GPU", "several GPUs")


def _size(shape: Shape) -> str:
    if shape.gpus > 1:
        return "several GPUs"
    return "no GPU" if not shape.gpus else "one GPU" if shape.gpu_milli == WHOLE_GPU else "part of a GPU"


def _wait_s(run: Run) -> float:
    return (run.start_ms - run.arrival.arrival_ms) / 1000


def _slowdown(run: Run) -> float:
    """From arrival to end, as a multiple of how long it ran; never below 1."""
    return max(1.0, (run.end_ms - run.arrival.arrival_ms) / max(_SHORT_MS, run.arrival.duration_ms))


def _inside(runs: Sequence[Run], window_ms: int) -> Sequence[int]:
    """Of each run, its milliseconds in the window."""
    return [_overlap(run.start_ms, run.end_ms, window_ms) for run in runs]


def _overlap(start_ms: int, end_ms: int, window_ms: int) -> int:
    return max(0, min(end_ms, window_ms) - start_ms)


def _percent(amounts: Sequence[int], times: Sequence[int], total: int) -> float:
    return 100 * sum(amount * time for amount, time in zip(amounts, times, strict=True)) / total if total else 0.0


def _accounts(runs: Sequence[Run], specs: Sequence[HostSpec], window_ms: int) -> Sequence[Part]:
    """Tasks that could never run count as not asked for."""
    totals: Floats = np.maximum(
        [
            sum(spec.cpu_milli for spec in specs),
            sum(spec.memory_mib for spec in specs),
            sum(spec.gpus for spec in specs),
        ],
        1,
    ).astype(np.float64)
    asked: dict[str, float] = {}
    got: dict[str, float] = {}
    shares: dict[Shape, float] = {}
    for run in runs:
        arrival = run.arrival
        shape, account = arrival.shape, arrival.account
        if shape not in shares:
            wanted = (shape.cpu_milli, shape.memory_mib, shape.total_milli / WHOLE_GPU)
            shares[shape] = max(float(amount / total) for amount, total in zip(wanted, totals, strict=True))
        share = arrival.pods * shares[shape] / _HOUR_MS
        at_once = _overlap(arrival.arrival_ms, arrival.arrival_ms + arrival.duration_ms, window_ms)
        asked[account] = asked.get(account, 0.0) + share * at_once
        got[account] = got.get(account, 0.0) + share * _overlap(run.start_ms, run.end_ms, window_ms)
    return parts(asked, got)


def _cost(runs: Sequence[Run], specs: Sequence[HostSpec], prices: Mapping[str, float]) -> float:
    rates = [prices.get(spec.model, 1.0) / WHOLE_GPU / _HOUR_MS for spec in specs]
    return sum(
        rates[place.host] * run.arrival.shape.total_milli * run.arrival.duration_ms
        for run in runs
        for place in run.places
    )
