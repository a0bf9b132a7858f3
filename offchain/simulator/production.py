"""The production policy on a trace: the scheduler state of the worker, with its parameters, given one pod a cycle."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from offchain.core.scheduler.cluster import HostSpec
from offchain.core.scheduler.events import CycleDue, HostsChanged, TasksChanged, TasksRemoved, plan_of
from offchain.core.scheduler.pod_request import PodShape
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import (
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

_GTY = 10**12
_PPM = 10**6
_DISK_GIB = 2000
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
)


class ProductionPlacer:
    """Places pods as a worker would whose chain has these hosts, all at one price, and no other tasks.

    It learns the expected pods from the arrivals, as the worker does.
    """

    def __init__(self, specs: Sequence[HostSpec], seed: int) -> None:
        self._state = SchedulerState(b"%d" % seed)
        hosts = [host_record(number, spec) for number, spec in enumerate(specs)]
        self._state.handle(HostsChanged(hosts), 0)
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
        ask=Ask((), price, price // 40, price // 200, price // 10_000, 0, 0, _PPM, _PPM, _PPM),
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
        max_duration_ms=3_600_000,
        deadline=None,
        priority=100,
        queue=b"default",
        generation=0,
        submitted_at=10 * number,
        changed_at=10 * number,
        open_pods=(0,),
    )
