"""The production policy on a trace: the scheduler state of the worker, with its parameters, and records made for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Final

from offchain.core.scheduler.cluster import Cluster, HostSlot, HostSpec
from offchain.core.scheduler.events import CycleDue, HostsChanged, TasksChanged, TasksRemoved, plan_of
from offchain.core.scheduler.pod_request import PodShape
from offchain.core.scheduler.queue_definitions import EQUAL_SHARES, QueueTree
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import (
    NO_TERMS,
    Ask,
    BillingUnit,
    Capabilities,
    Capacity,
    Device,
    DeviceSpec,
    GpuRequest,
    Host,
    HostStatus,
    Layout,
    Placement,
    Resources,
    Task,
    TaskKind,
    TaskState,
    Tier,
    Vendor,
)
from offchain.schema.durations import HOUR_MS
from offchain.simulator.replay import TaskRun
from offchain.simulator.trace import Arrival

_GTY = 10**12
_PPM = 10**6
_DISK_GIB = 2000
SLOT_MS: Final = 2000
"""The time between two blocks of the chain: the worker runs a cycle for each block."""
_ANY_RATE = 1000 * _GTY
"""More than any host asks for all that it has, so that no pod is refused for its price."""
_DOCKER = Capabilities(docker=True, kvm=False, kubernetes=False, cdi=False, mig=False, shares=False, sandboxed=False)
_ANYWHERE = Placement(
    (),
    (),
    (),
    (),
    (),
    verified_only=False,
    allow_simulated=True,
    min_network_mbps=0,
    max_latency_ms=0,
    capabilities=_DOCKER,
    layout=Layout.ANY,
    min_terms=NO_TERMS,
)


class ProductionPlacer:
    """Places pods as a worker would whose chain has these hosts, all at one price, and no other tasks.

    It learns the expected pods from the arrivals, as the worker does.
    """

    def __init__(self, specs: Sequence[HostSpec], seed: int) -> None:
        self._state = _state(_hosts_of(specs), seed, EQUAL_SHARES)
        self._arrived = 0

    def place(self, shape: PodShape) -> bool:
        """Place one pod, of the account of its shape. A pod that is feasible nowhere is withdrawn."""
        self._arrived += 1
        account = shape.account or "account"
        task = task_record(self._arrived, resources_of(shape), account, max_rate_per_hour=_ANY_RATE)
        now_ms = self._arrived
        self._state.handle(TasksChanged([task]), now_ms)
        placed = bool(plan_of(self._state.handle(CycleDue(), now_ms)).placements)
        if not placed:
            self._state.handle(TasksRemoved([self._arrived]), now_ms)
        return placed


class ProductionScheduler:
    """Places the tasks of a trace as a worker would whose chain has these hosts, all at one price.

    `cluster`: the same hosts, idle; it is kept up to date. What is placed stays assumed until it ends, as if its
    records were never read: the worker treats assumed pods like leases. Tasks of a trace are not spot, so none is
    preempted.
    """

    step_ms = SLOT_MS

    def __init__(
        self, specs: Sequence[HostSpec], cluster: Cluster, seed: int, queues: QueueTree = EQUAL_SHARES
    ) -> None:
        hosts = _hosts_of(specs)
        self._state = _state(hosts, seed, queues)
        self._cluster = cluster
        self._rows = {host.id: row for row, host in enumerate(hosts)}
        self._arrivals: dict[int, Arrival] = {}
        """Tasks that wait."""

    def on_arrived(self, arrivals: Sequence[Arrival], now_ms: int) -> None:
        self._arrivals |= {arrival.number: arrival for arrival in arrivals}
        self._state.handle(TasksChanged([_record_of(arrival) for arrival in arrivals]), now_ms)

    def on_ended(self, runs: Sequence[TaskRun], now_ms: int) -> None:
        for run in runs:
            for slot in run.slots:
                self._cluster.release(slot.host, run.arrival.shape, slot.devices)
        self._state.handle(TasksRemoved([run.arrival.number for run in runs]), now_ms)

    def run_cycle(self, now_ms: int) -> Sequence[TaskRun]:
        plan = plan_of(self._state.handle(CycleDue(preempt=False), now_ms))
        started: list[TaskRun] = []
        for number, pods in plan.placements.items():
            arrival = self._arrivals.pop(number)
            slots = tuple(HostSlot(self._rows[pod.host], sum(1 << device for device in pod.devices)) for pod in pods)
            for slot in slots:
                self._cluster.take(slot.host, arrival.shape, slot.devices)
            started.append(TaskRun(arrival, now_ms, slots))
        return started

    def drop_blocked(self, now_ms: int) -> Sequence[Arrival]:
        """Tasks that exceed a limit of their queue or account although nothing runs."""
        dropped = tuple(self._arrivals.values())
        self._state.handle(TasksRemoved(list(self._arrivals)), now_ms)
        self._arrivals.clear()
        return dropped


def _hosts_of(specs: Sequence[HostSpec]) -> list[Host]:
    return [host_record(number, spec) for number, spec in enumerate(specs)]


def _state(hosts: Sequence[Host], seed: int, queues: QueueTree) -> SchedulerState:
    state = SchedulerState(b"%d" % seed, queues, records_decisions=False)
    state.handle(HostsChanged(hosts), 0)
    return state


def _record_of(arrival: Arrival) -> Task:
    return replace(
        task_record(arrival.number, resources_of(arrival.shape), arrival.account, max_rate_per_hour=_ANY_RATE),
        pods_min=arrival.pods,
        open_pods=tuple(range(arrival.pods)),
        max_duration_ms=arrival.max_ms,
        priority=arrival.priority,
        queue=arrival.queue.encode(),
        submitted_at=arrival.arrival_ms,
        changed_at=arrival.arrival_ms,
    )


def host_record(number: int, spec: HostSpec, *, gpu_price_per_hour: int = _GTY, region: bytes = b"region") -> Host:
    """Return the record of an idle online host. Prices are in the smallest unit; other resources cost in proportion."""
    price = gpu_price_per_hour
    capacity = Capacity(spec.cpu_milli, spec.memory_mib, _DISK_GIB)
    model = DeviceSpec(Vendor.NVIDIA, spec.model.encode(), 40_960, simulated=False)
    return Host(
        id=sha256(b"host %d" % number).hexdigest()[:48],
        provider=f"provider {number // 20}",
        status=HostStatus.ONLINE,
        total=capacity,
        free=capacity,
        devices=(Device(model, 1000, shared_by=None, attested=True, healthy=True),) * spec.gpus,
        ask=Ask((), price, price // 40, price // 200, price // 10_000, 0, 0, _PPM, _PPM, _PPM, NO_TERMS),
        region=region,
        tier=Tier.CONSUMER,
        capabilities=_DOCKER,
        network_mbps_down=1000,
        network_mbps_up=1000,
        latency_ms=5,
        last_heartbeat=0,
        downtime_ms=0,
        live_leases=0,
    )


def resources_of(shape: PodShape) -> Resources:
    models = tuple(sorted(model.encode() for model in shape.models))
    gpus = GpuRequest(shape.gpus, shape.gpu_milli, shape.min_vram_mib, models)
    return Resources(shape.cpu_milli, shape.memory_mib, shape.disk_gib, gpus)


def task_record(number: int, resources: Resources, account: str, *, max_rate_per_hour: int = 10 * _GTY) -> Task:
    """Return the record of a waiting job of one pod, submitted 10 ms after the one before."""
    return Task(
        id=number,
        tenant=account,
        state=TaskState.QUEUED,
        kind=TaskKind.JOB,
        resources=resources,
        placement=_ANYWHERE,
        unit=BillingUnit.SECOND,
        pods_min=1,
        max_rate_per_hour=max_rate_per_hour,
        max_duration_ms=HOUR_MS,
        deadline=None,
        priority=100,
        queue=b"default",
        generation=0,
        submitted_at=10 * number,
        changed_at=10 * number,
        open_pods=(0,),
    )
