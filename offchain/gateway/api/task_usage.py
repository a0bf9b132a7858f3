"""Usage of a task's pods over time, from the operator's Prometheus: for its tenant, and for operators."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from offchain.adapters.metrics.prometheus_api import PrometheusApi, PrometheusSeries
from offchain.clock import unix_ms
from offchain.gateway.api.answers import as_of, not_found
from offchain.gateway.api.index_readers import IndexReaders
from offchain.gateway.api.measurements import LEAST_STEP_S, Values, measured_times, placed_values, read_series
from offchain.gateway.api.models import AnsweredModel, ResourceAnswer
from offchain.gateway.api.parameters import HoursBack, Number, Parameters
from offchain.gateway.api.sign_in import SignIn
from offchain.gateway.api.sign_in_store import Identity
from offchain.indexer.database import IndexDatabase
from offchain.indexer.rows import LeaseRow, TaskRow
from offchain.indexer.tables import columns

MOST_PODS: Final = 64
"""Pods of one answer, which is more than a task may have."""
_MOST_LEASES: Final = 64
"""The newest leases of a task whose hosts are asked for."""
_NUMBER: Final = "number"
_METRICS: Final = {
    "cpu_cores": "gantry_pod_cpu_cores",
    "memory_bytes": "gantry_pod_memory_bytes",
    "gpu_utilisation_percent": "gantry_pod_gpu_utilisation_percent",
    "gpu_memory_bytes": "gantry_pod_gpu_memory_bytes",
}
_PLACE: Final = ("host", "instance", "place")
"""Labels that identify a pod of the network at one time."""


class UsageOfTask(Parameters):
    """Which task, and how far back from now, or from its end."""

    task: Number
    hours: HoursBack = 24


class PodSeriesResource(AnsweredModel):
    """Usage of one pod; null where there is no measurement. `cpu_cores`: processors, mean of five seconds."""

    pod: int
    cpu_cores: Values
    memory_bytes: Values
    gpu_utilisation_percent: Annotated[Values, Field(description="Mean of its GPUs; null where pods share them.")]
    gpu_memory_bytes: Values


class TaskUsageResource(AnsweredModel):
    """Usage of a task's pods at the same times, Unix milliseconds. Empty where its hosts are not measured."""

    times_ms: list[int]
    pods: list[PodSeriesResource]


class TaskUsageApi:
    """Asks Prometheus for the pods of one task, on the hosts of its leases only: no host speaks for another's pods."""

    def __init__(self, readers: IndexReaders, sign_in: SignIn, prometheus: PrometheusApi) -> None:
        self._readers = readers
        self._sign_in = sign_in
        self._prometheus = prometheus

    async def present(self, who: Identity, asked: UsageOfTask) -> ResourceAnswer[TaskUsageResource]:
        """Return the usage of a task. Raises NotFound, NotAllowed for other accounts, and PrometheusAway."""
        task, leases = await self._readers.read(lambda db: _read(db, asked.task))
        await self._sign_in.require_owner(who, task.tenant, "tenant", f"task {asked.task}")
        data = TaskUsageResource(times_ms=[], pods=[])
        if leases:
            times_s = times_of(leases, asked.hours, unix_ms() // 1000)
            series = await read_series(self._prometheus, expressions_of(asked.task, leases), times_s)
            data = usage_of(series, times_s)
        return ResourceAnswer[TaskUsageResource](as_of=await self._readers.read(as_of), data=data)


def _read(db: IndexDatabase, number: int) -> tuple[TaskRow, list[LeaseRow]]:
    found = db.rows(TaskRow, columns(TaskRow).task == number)
    if not found:
        raise not_found(db, f"task {number}")
    return found[0], db.rows(LeaseRow, columns(LeaseRow).task == number, newest=_MOST_LEASES)


def times_of(leases: list[LeaseRow], hours: int, now_s: int) -> range:
    """Return the times of the last hours of a task: until now, or until its last pod ended."""
    ends = [lease.ended_ms for lease in leases]
    known = [end for end in ends if end is not None]
    # A pod that has just ended has its last values up to one step later.
    end_s = now_s if len(known) < len(ends) else min(now_s, max(known) // 1000 + LEAST_STEP_S)
    start_s = max(end_s - hours * 3600, min(lease.assigned_ms for lease in leases) // 1000)
    return measured_times(min(start_s, end_s), end_s)


def expressions_of(task: int, leases: list[LeaseRow]) -> dict[str, str]:
    """Return the expression of each value of a task's pods, and of the pods' numbers."""
    # Hosts are addresses of the index: letters and digits.
    hosts = "|".join(sorted({lease.host for lease in leases}))
    chosen = f'{{host=~"{hosts}"}}'
    of_task = f"and on ({', '.join(_PLACE)}) (gantry_pod_task{chosen} == {task})"
    metrics = {_NUMBER: "gantry_pod_number"} | _METRICS
    return {name: f"{metric}{chosen} {of_task}" for name, metric in metrics.items()}


def usage_of(series: dict[str, list[PrometheusSeries]], times_s: range) -> TaskUsageResource:
    """Return series by their value as usage by pod, at these times. A place may have had several pods."""
    pod_at: dict[tuple[tuple[str, ...], int], int] = {}
    for one in series[_NUMBER]:
        for index, number in placed_values(one, times_s):
            pod_at[_place(one), index] = round(number)
    pods: dict[int, dict[str, Values]] = {}
    for name in _METRICS:
        for one in series[name]:
            for index, value in placed_values(one, times_s):
                pod = pod_at.get((_place(one), index))
                if pod is None or pod < 0 or (pod not in pods and len(pods) >= MOST_PODS):
                    continue
                values = pods.setdefault(pod, {})
                if name not in values:
                    values[name] = [None] * len(times_s)
                values[name][index] = value
    nothing: Values = [None] * len(times_s)
    made = [
        PodSeriesResource(pod=pod, **{name: found.get(name, nothing) for name in _METRICS})
        for pod, found in sorted(pods.items())
    ]
    return TaskUsageResource(times_ms=[at * 1000 for at in times_s], pods=made)


def _place(series: PrometheusSeries) -> tuple[str, ...]:
    return tuple(series.labels.get(name, "") for name in _PLACE)
