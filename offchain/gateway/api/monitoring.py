"""Alerts and processes of the operator's Prometheus, for accounts with the role of an operator."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from offchain.adapters.metrics.prometheus_api import PrometheusApi, PrometheusSample
from offchain.gateway.api.action import ApiAction
from offchain.gateway.api.answers import as_of
from offchain.gateway.api.device_history import DeviceHistoryApi, DeviceHistoryResource, HistoryOfHost
from offchain.gateway.api.endpoints import one_answer_of
from offchain.gateway.api.index_readers import IndexReaders
from offchain.gateway.api.models import AnsweredModel, ResourceAnswer
from offchain.gateway.api.parameters import NoParameters
from offchain.gateway.api.process_restart import (
    ProcessRestartApi,
    RestartedResource,
    RestartMessageResource,
    RestartProcessBody,
    RestartRequestBody,
)
from offchain.gateway.api.sign_in import SignIn
from offchain.gateway.api.sign_in_store import Identity
from offchain.gateway.api.task_usage import TaskUsageApi, TaskUsageResource, UsageOfTask

KEPT_S: Final = 2.0
"""How long an answer is given again: Prometheus is asked once, however many operators look."""
MOST_SHOWN: Final = 500
"""Alerts, and processes, of one answer."""
_MOST_TEXT: Final = 500
_UP: Final = "up"
_WAITING: Final = 'sum by (job, instance) (gantry_outbox_calls{state=~"queued|sent"})'
_DEAD: Final = 'sum by (job, instance) (gantry_outbox_calls{state="dead"})'
_ORDER: Final = {"page": 0, "ticket": 1}

Text = Annotated[str, Field(max_length=_MOST_TEXT)]


class AlertResource(AnsweredModel):
    """An alert of a rule (docs/monitoring/alerts.yaml). `host`: the label of a host's agent; null for others."""

    name: Text
    state: Literal["pending", "firing"]
    severity: Text
    summary: Text
    runbook: Text
    since_ms: Annotated[int, Field(description="Unix milliseconds of Prometheus' clock.")]
    job: Text | None
    instance: Text | None
    host: Text | None


class MonitoredProcessResource(AnsweredModel):
    """A process that Prometheus scrapes. Numbers of its outbox are null where it has none."""

    job: Text
    instance: Text
    host: Text | None
    up: bool
    waiting_calls: int | None
    dead_letters: int | None


class MonitoringResource(AnsweredModel):
    """Alerts, the most urgent first, and processes, those that do not answer first."""

    alerts: list[AlertResource]
    processes: list[MonitoredProcessResource]


class MonitoringApi:
    """Reads Prometheus for operators."""

    def __init__(self, readers: IndexReaders, sign_in: SignIn, prometheus: PrometheusApi) -> None:
        self._readers = readers
        self._sign_in = sign_in
        self._prometheus = prometheus
        self.devices = DeviceHistoryApi(readers, sign_in, prometheus)
        self.tasks = TaskUsageApi(readers, sign_in, prometheus)
        self.restarts = ProcessRestartApi(readers, sign_in, self.instances)
        self._reading = asyncio.Lock()
        self._kept: tuple[float, MonitoringResource] | None = None

    async def present(self, who: Identity) -> ResourceAnswer[MonitoringResource]:
        """Return the present alerts and processes. Raises NotAllowed for other roles, and PrometheusAway."""
        await self._sign_in.require_role(who, "operator")
        data = await self._read()
        return ResourceAnswer[MonitoringResource](as_of=await self._readers.read(as_of), data=data)

    async def instances(self) -> frozenset[str]:
        """Return the addresses of the processes that Prometheus scrapes now. Raises PrometheusAway."""
        return frozenset(one.instance for one in (await self._read()).processes)

    async def close(self) -> None:
        await self._prometheus.close()

    async def _read(self) -> MonitoringResource:
        async with self._reading:
            now_s = asyncio.get_running_loop().time()
            if self._kept is None or now_s - self._kept[0] >= KEPT_S:
                alerts = await self._prometheus.alerts()
                up, waiting, dead = await asyncio.gather(*map(self._prometheus.query, (_UP, _WAITING, _DEAD)))
                made = MonitoringResource(alerts=alerts_of(alerts), processes=_processes(up, waiting, dead))
                self._kept = (now_s, made)
            return self._kept[1]


def alerts_of(found: Sequence[Mapping[str, Any]]) -> list[AlertResource]:
    """Return the alerts of an answer of Prometheus, without those that cannot be read."""
    made = []
    for one in found:
        with contextlib.suppress(KeyError, TypeError, ValueError):
            labels, notes = one["labels"], one.get("annotations", {})
            made.append(
                AlertResource(
                    name=_text(labels["alertname"]),
                    state=one["state"],
                    severity=_text(labels.get("severity", "")),
                    summary=_text(notes.get("summary", "")),
                    runbook=_text(notes.get("runbook", "")),
                    since_ms=round(datetime.fromisoformat(one["activeAt"]).timestamp() * 1000),
                    job=_label(labels, "job"),
                    instance=_label(labels, "instance"),
                    host=_label(labels, "host"),
                )
            )
    made.sort(key=lambda alert: (alert.state == "pending", _ORDER.get(alert.severity, 2), alert.since_ms, alert.name))
    return made[:MOST_SHOWN]


def _processes(
    up: Sequence[PrometheusSample], waiting: Sequence[PrometheusSample], dead: Sequence[PrometheusSample]
) -> list[MonitoredProcessResource]:
    waiting_of, dead_of = _by_process(waiting), _by_process(dead)
    made = [
        MonitoredProcessResource(
            job=_text(one.labels.get("job", "")),
            instance=_text(one.labels.get("instance", "")),
            host=_label(one.labels, "host"),
            up=one.value == 1,
            waiting_calls=waiting_of.get(_process(one)),
            dead_letters=dead_of.get(_process(one)),
        )
        for one in up
    ]
    return sorted(made, key=lambda one: (one.up, one.job, one.instance))[:MOST_SHOWN]


def _process(sample: PrometheusSample) -> tuple[str, str]:
    return sample.labels.get("job", ""), sample.labels.get("instance", "")


def _by_process(samples: Sequence[PrometheusSample]) -> dict[tuple[str, str], int]:
    return {_process(one): round(one.value) for one in samples}


def _text(value: object) -> str:
    return str(value)[:_MOST_TEXT]


def _label(labels: Mapping[str, Any], name: str) -> str | None:
    return _text(labels[name]) if labels.get(name) else None


MONITORING_ACTIONS: Final = (
    ApiAction(
        "GET",
        "/v1/monitoring",
        "monitoring",
        "Alerts and processes of the gateway's Prometheus: for operators.",
        NoParameters,
        one_answer_of(MonitoringResource),
        needs_token=True,
        act=lambda api, who, _: api.monitoring.present(who),
    ),
    ApiAction(
        "POST",
        "/v1/monitoring/restart/message",
        "restart_message",
        "The text that an operator signs to restart a process that the gateway's Prometheus scrapes.",
        RestartProcessBody,
        one_answer_of(RestartMessageResource),
        needs_token=True,
        budget="body",
        act=lambda api, who, asked: api.monitoring.restarts.message(who, asked),
    ),
    ApiAction(
        "POST",
        "/v1/monitoring/restart",
        "restart_process",
        "Give a signed request to a process, which checks the signature, ends, and is started by its supervisor.",
        RestartRequestBody,
        one_answer_of(RestartedResource),
        needs_token=True,
        budget="body",
        status=HTTPStatus.ACCEPTED,
        act=lambda api, who, asked: api.monitoring.restarts.restart(who, asked),
    ),
    ApiAction(
        "GET",
        "/v1/hosts/{host}/measurements",
        "measurements_of_host",
        "Utilisation, temperature, power and clocks of a host's GPUs over time: for its provider and operators.",
        HistoryOfHost,
        one_answer_of(DeviceHistoryResource),
        needs_token=True,
        is_costly=True,
        budget="body",
        act=lambda api, who, asked: api.monitoring.devices.present(who, asked),
    ),
    ApiAction(
        "GET",
        "/v1/tasks/{task}/usage",
        "usage_of_task",
        "Processors, memory and GPUs that a task's pods use over time: for its tenant and operators.",
        UsageOfTask,
        one_answer_of(TaskUsageResource),
        needs_token=True,
        is_costly=True,
        budget="body",
        act=lambda api, who, asked: api.monitoring.tasks.present(who, asked),
    ),
)
