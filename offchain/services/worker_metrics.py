"""Metrics of schedulers, settlers and autoscalers: `gantry worker ... --metrics IP:PORT`."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.metrics.chain import AccountMetrics, ChainMetrics, OutboxMetrics
from offchain.adapters.metrics.definitions import MetricDefinition, MetricReading, MetricSource
from offchain.adapters.metrics.serving import MetricsAddress, serve_metrics
from offchain.adapters.outbox.store import Store
from offchain.clock import unix_ms
from offchain.services.worker_state import WorkerState

if TYPE_CHECKING:  # roles without a scheduler do without numpy and numba
    from offchain.core.scheduler.fair_share import WaitingCounts

PROCESSED_BLOCK: Final = MetricDefinition(
    "gantry_worker_processed_block", "gauge", "Number of the last final block that the worker has processed."
)
BLOCK_AGE: Final = MetricDefinition(
    "gantry_worker_block_age_seconds",
    "gauge",
    "Age of the last final block that the worker has processed: the machine's clock less the time of the block.",
)
CYCLE_SECONDS: Final = MetricDefinition(
    "gantry_scheduler_cycle_seconds", "histogram", "Duration of a scheduling cycle."
)
WAITING_TASKS: Final = MetricDefinition(
    "gantry_scheduler_waiting_tasks", "gauge", "Tasks that wait to be placed, by queue of the scheduler.", ("queue",)
)
UNSCHEDULABLE_TASKS: Final = MetricDefinition(
    "gantry_scheduler_unschedulable_tasks",
    "gauge",
    "Waiting tasks whose requests were feasible on no host when they were last tried.",
)
PODS_PLACED: Final = MetricDefinition(
    "gantry_scheduler_pods_placed_total", "counter", "Pods for which scheduling cycles chose a host."
)
ASSIGNMENTS: Final = MetricDefinition(
    "gantry_scheduler_assignments_total",
    "counter",
    "Placed tasks by outcome: accepted or refused by the chain, or overtaken before the assignment was submitted.",
    ("outcome",),
)
METRICS: Final = (
    PROCESSED_BLOCK,
    BLOCK_AGE,
    CYCLE_SECONDS,
    WAITING_TASKS,
    UNSCHEDULABLE_TASKS,
    PODS_PLACED,
    ASSIGNMENTS,
)


class ViewMetrics:
    """Reads how far the worker's view of the chain is."""

    def __init__(self, state: WorkerState) -> None:
        self._state = state

    def __call__(self) -> Iterator[MetricReading]:
        if self._state.view is not None:
            final = self._state.view.final
            yield PROCESSED_BLOCK.read(final.number)
            yield BLOCK_AGE.read(max(0, unix_ms() - final.now_ms) / 1000)


class SchedulerMetrics:
    """Reads the queues between two cycles (:meth:`refresh`), and what became of placements."""

    def __init__(self, state: WorkerState) -> None:
        self._state = state
        self._waiting: WaitingCounts | None = None

    async def refresh(self) -> None:
        scheduler = self._state.scheduler
        self._waiting = None if scheduler is None else await scheduler.waiting_counts()

    def __call__(self) -> Iterator[MetricReading]:
        if self._waiting is not None:
            for queue, tasks in self._waiting.by_queue.items():
                yield WAITING_TASKS.read(tasks, queue)
            yield UNSCHEDULABLE_TASKS.read(self._waiting.unschedulable)
        counts = self._state.scheduled
        yield PODS_PLACED.read(counts.pods_placed)
        yield ASSIGNMENTS.read(counts.assigned, "accepted")
        yield ASSIGNMENTS.read(counts.refused, "refused")
        yield ASSIGNMENTS.read(counts.overtaken, "overtaken")


@contextlib.asynccontextmanager
async def serve_worker_metrics(
    address: MetricsAddress | None,
    roles: Sequence[str],
    chain: SubstrateChain,
    store: Store,
    account: str,
    state: WorkerState,
) -> AsyncIterator[None]:
    """Serve the metrics of these roles at host and port; None: nowhere. Raises ListenError."""
    balance = AccountMetrics(chain, account)
    sources: list[MetricSource] = [ChainMetrics(chain), balance, OutboxMetrics(store, account, state.outbox)]
    prepare = [balance.refresh]
    if "autoscaler" not in roles:
        sources.append(ViewMetrics(state))
    if "scheduler" in roles:
        tasks = SchedulerMetrics(state)
        sources.append(tasks)
        prepare.append(tasks.refresh)
    async with serve_metrics(address, sources, prepare) as server:
        if server is not None and "scheduler" in roles:
            state.scheduled.on_cycle = server.histogram(CYCLE_SECONDS).observe
        yield
