"""Measures of a replay. docs/scheduling.md, "Simulating", defines them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from offchain.core.scheduler.cluster import Cluster, HostSpec
from offchain.core.scheduler.columns import Floats
from offchain.core.scheduler.pod_request import WHOLE_GPU, PodShape, jain_fairness
from offchain.core.scheduler.queue_definitions import EQUAL_SHARES, QueueTree
from offchain.schema.durations import HOUR_MS
from offchain.simulator.baseline import BaselineScheduler
from offchain.simulator.fgd import FragmentationMeter
from offchain.simulator.names import PRODUCTION
from offchain.simulator.orders import make_order
from offchain.simulator.policies import make_policy
from offchain.simulator.production import ProductionScheduler
from offchain.simulator.replay import (
    ClusterSample,
    ClusterState,
    ReplayResult,
    SampleSeries,
    SimulatedScheduler,
    TaskRun,
    replay,
)
from offchain.simulator.sim_score_cache import SimScoreCache
from offchain.simulator.trace import Trace


@dataclass(frozen=True, slots=True)
class AccountShare:
    """What one account asked for, got and should have got: its dominant share of the cluster over time, in hours.

    1 is the whole cluster for an hour. Only the time of arrivals counts.
    """

    account: str
    asked: float
    got: float
    fair: float


def account_shares(asked: Mapping[str, float], got: Mapping[str, float]) -> list[AccountShare]:
    """Return the shares by account. Fair is max-min: the same for all but those that asked for less."""
    accounts = sorted(asked)
    fair = max_min([asked[account] for account in accounts], sum(got.get(account, 0.0) for account in accounts))
    return [
        AccountShare(account, asked[account], got.get(account, 0.0), each)
        for account, each in zip(accounts, fair, strict=True)
    ]


def max_min(asked: Sequence[float], total: float) -> list[float]:
    """Divide `total` by max-min fairness: no share exceeds its demand, and an unmet demand gets the largest share."""
    given = [0.0] * len(asked)
    left = total
    by_size = sorted(range(len(asked)), key=lambda slot: asked[slot])
    for done, slot in enumerate(by_size):
        given[slot] = min(asked[slot], left / (len(asked) - done))
        left -= given[slot]
    return given


def jain_index(found: Sequence[AccountShare]) -> float:
    """Return Jain's index of what each got, relative to the fair share.

    Accounts that asked for nothing do not count.
    """
    return jain_fairness(part.got / part.fair for part in found if part.fair > 0)


_SHORT_MS = 10_000
"""Slowdown counts shorter tasks as this long, so that tasks of an instant do not dominate."""


@dataclass(frozen=True, slots=True)
class ValueSummary:
    """Summary of many values; `p95`: the lowest value that 95 % of them do not exceed."""

    mean: float
    p50: float
    p95: float
    p99: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> ValueSummary | None:
        """Return None where there are no values."""
        if not values:
            return None
        found = np.array(values, dtype=np.float64)
        p50, p95, p99 = np.percentile(found, (50, 95, 99), method="inverted_cdf").tolist()
        return cls(float(found.mean()), p50, p95, p99, float(found.max()))


@dataclass(frozen=True, slots=True)
class ReplayMeasures:
    """Of one replay.

    The window is the time from the first arrival to the last; if all arrive at once, until the end.
    """

    window_hours: float
    until_end_hours: float
    started: int
    refused: int
    gpu_percent: float
    """Of all GPUs, in use; the mean over the window."""
    cpu_percent: float
    gpu_percent_until_end: float
    wait_s: ValueSummary | None
    wait_s_by_size: Mapping[str, ValueSummary | None]
    slowdown: ValueSummary | None
    fragmentation_percent: ValueSummary | None
    """Over the samples of the window."""
    jain_index: float
    accounts: Sequence[AccountShare]
    cost: float


def measure(
    replayed: ReplayResult,
    samples: Sequence[ClusterSample],
    specs: Sequence[HostSpec],
    window_ms: int,
    prices: Mapping[str, float],
) -> ReplayMeasures:
    """`prices`: for an hour of a GPU, by model; 1 for other models."""
    runs = replayed.runs
    end_ms = max((run.end_ms for run in runs), default=0)
    window_ms = window_ms or end_ms or 1
    waits = {size: [_wait_s(run) for run in runs if _size(run.arrival.shape) == size] for size in SIZES}
    inside = [sample.state.fragmentation_percent for sample in samples if sample.at_ms <= window_ms]
    accounts = _accounts(runs, specs, window_ms)
    milli = [run.arrival.total_milli for run in runs]
    total_milli = sum(spec.gpus for spec in specs) * WHOLE_GPU
    return ReplayMeasures(
        window_hours=window_ms / HOUR_MS,
        until_end_hours=end_ms / HOUR_MS,
        started=len(runs),
        refused=len(replayed.refused),
        gpu_percent=_percent(milli, _inside(runs, window_ms), total_milli * window_ms),
        cpu_percent=_percent(
            [run.arrival.pods * run.arrival.shape.cpu_milli for run in runs],
            _inside(runs, window_ms),
            sum(spec.cpu_milli for spec in specs) * window_ms,
        ),
        gpu_percent_until_end=_percent(milli, _inside(runs, end_ms), total_milli * end_ms),
        wait_s=ValueSummary.of([_wait_s(run) for run in runs]),
        wait_s_by_size={size: ValueSummary.of(found) for size, found in waits.items()},
        slowdown=ValueSummary.of([_slowdown(run) for run in runs]),
        fragmentation_percent=ValueSummary.of(inside),
        jain_index=jain_index(accounts),
        accounts=accounts,
        cost=_cost(runs, specs, prices),
    )


SIZES = ("no GPU", "part of a GPU", "one GPU", "several GPUs")


def _size(shape: PodShape) -> str:
    if shape.gpus > 1:
        return "several GPUs"
    return "no GPU" if not shape.gpus else "one GPU" if shape.gpu_milli == WHOLE_GPU else "part of a GPU"


def _wait_s(run: TaskRun) -> float:
    return (run.start_ms - run.arrival.arrival_ms) / 1000


def _slowdown(run: TaskRun) -> float:
    """Time from arrival to end as a multiple of the duration; at least 1."""
    return max(1.0, (run.end_ms - run.arrival.arrival_ms) / max(_SHORT_MS, run.arrival.duration_ms))


def _inside(runs: Sequence[TaskRun], window_ms: int) -> Sequence[int]:
    """[run]: its milliseconds in the window."""
    return [_overlap(run.start_ms, run.end_ms, window_ms) for run in runs]


def _overlap(start_ms: int, end_ms: int, window_ms: int) -> int:
    return max(0, min(end_ms, window_ms) - start_ms)


def _percent(amounts: Sequence[int], times: Sequence[int], total: int) -> float:
    return 100 * sum(amount * time for amount, time in zip(amounts, times, strict=True)) / total if total else 0.0


def _accounts(runs: Sequence[TaskRun], specs: Sequence[HostSpec], window_ms: int) -> Sequence[AccountShare]:
    """Tasks that could never run do not count as asked for."""
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
    shares: dict[PodShape, float] = {}
    for run in runs:
        arrival = run.arrival
        shape, account = arrival.shape, arrival.account
        if shape not in shares:
            wanted = (shape.cpu_milli, shape.memory_mib, shape.total_milli / WHOLE_GPU)
            shares[shape] = max(float(amount / total) for amount, total in zip(wanted, totals, strict=True))
        share = arrival.pods * shares[shape] / HOUR_MS
        at_once = _overlap(arrival.arrival_ms, arrival.arrival_ms + arrival.duration_ms, window_ms)
        asked[account] = asked.get(account, 0.0) + share * at_once
        got[account] = got.get(account, 0.0) + share * _overlap(run.start_ms, run.end_ms, window_ms)
    return account_shares(asked, got)


def _cost(runs: Sequence[TaskRun], specs: Sequence[HostSpec], prices: Mapping[str, float]) -> float:
    rates = [prices.get(spec.model, 1.0) / WHOLE_GPU / HOUR_MS for spec in specs]
    return sum(
        rates[slot.host] * run.arrival.shape.total_milli * run.arrival.duration_ms for run in runs for slot in run.slots
    )


@dataclass(frozen=True, slots=True)
class ReplayOutcome:
    """One replay."""

    replayed: ReplayResult
    samples: Sequence[ClusterSample]
    measures: ReplayMeasures
    seconds: float
    """Real time."""


def simulate_replay(
    specs: Sequence[HostSpec],
    trace: Trace,
    policy: str,
    order: str = "fifo",
    *,
    seed: int,
    clock_s: Callable[[], float],
    prices: Mapping[str, float] | None = None,
    queues: QueueTree = EQUAL_SHARES,
) -> ReplayOutcome:
    """Replay a trace on an idle cluster. Deterministic for equal arguments, but for the seconds.

    `order`: for baselines. `queues`: for the production policy. ValueError: an unknown policy or order.
    """
    cluster = Cluster.of(specs)
    demand = trace.demand()
    series = SampleSeries(_state(cluster, FragmentationMeter(cluster, demand)), trace.window_ms)
    scheduler: SimulatedScheduler
    if policy == PRODUCTION:
        scheduler = ProductionScheduler(specs, cluster, seed, queues)
    else:
        scores = SimScoreCache(cluster, make_policy(policy, cluster, demand), seed)
        scheduler = BaselineScheduler(scores, make_order(order, cluster))
    began_s = clock_s()
    replayed = replay(scheduler, cluster, trace.arrivals, series)
    seconds = clock_s() - began_s
    measures = measure(replayed, series.samples, specs, trace.window_ms, prices or {})
    return ReplayOutcome(replayed, series.samples, measures, seconds)


def _state(cluster: Cluster, fragments: FragmentationMeter) -> Callable[[], ClusterState]:
    cores = max(1, int(cluster.free.cpu.sum()))
    return lambda: ClusterState(
        cluster.allocation_percent, 100.0 * (1.0 - int(cluster.free.cpu.sum()) / cores), fragments.percent()
    )
