"""A scheduler state in virtual time: what it places runs and ends, and the records say so."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from offchain.core.capacity import released
from offchain.core.feasibility import take
from offchain.core.scheduler.state import SchedulerState
from offchain.core.snapshot import Snapshot
from offchain.core.values import (
    BillingUnit,
    Capacity,
    Device,
    DeviceSpec,
    GpuRequest,
    Host,
    HostStatus,
    Lease,
    LeaseState,
    Periods,
    PodPlacement,
    Resources,
    Task,
    TaskKind,
    TaskState,
    Tier,
    Vendor,
)
from tests.support.chain_records import DOCKER, ask, escrow, placement
from tests.support.scheduler_events import put, release, remove, run_cycle

MINUTE = 60_000
ROOMY = Capacity(16_000, 65_536, 1000)
GTY = 10**12


def gpu_host(name: str, many: int, *, model: bytes = b"A100", **changes: Any) -> Host:
    """A host with so many GPUs."""
    spec = DeviceSpec(vendor=Vendor.NVIDIA, model=model, vram_mib=40_960, simulated=False)
    device = Device(spec=spec, milli_free=1000, shared_by=None, attested=False, healthy=True)
    made = Host(
        id=name,
        provider="p",
        status=HostStatus.ONLINE,
        total=ROOMY,
        free=ROOMY,
        devices=(device,) * many,
        ask=ask(gpu_per_hour=GTY),
        region=b"eu",
        tier=Tier.CONSUMER,
        capabilities=DOCKER,
        network_mbps_down=0,
        network_mbps_up=0,
        latency_ms=0,
        last_heartbeat=0,
        downtime_ms=0,
        live_leases=0,
    )
    return replace(made, **changes)


def job(
    number: int, gpus: int = 1, *, pods: int = 1, minutes: int = 10, models: tuple[bytes, ...] = (), **changes: Any
) -> Task:
    """A task of so many pods with so many GPUs each; of each tenant's, the lower number is older."""
    request = GpuRequest(count=gpus, milli=1000 if gpus else 0, min_vram_mib=0, models=models)
    made = Task(
        id=number,
        tenant="t",
        state=TaskState.QUEUED,
        kind=TaskKind.JOB,
        resources=Resources(cpu_milli=1000, memory_mib=1024, disk_gib=1, gpus=request),
        placement=placement(),
        unit=BillingUnit.SECOND,
        pods_min=pods,
        max_rate_per_hour=100 * GTY,
        max_duration_ms=minutes * MINUTE,
        deadline=None,
        priority=0,
        queue=b"default",
        generation=0,
        submitted_at=number,
        changed_at=number,
        open_pods=tuple(range(pods)),
    )
    return replace(made, **changes)


@dataclass(slots=True)
class World:
    """`takes_ms`: how long each task runs; else its maximum. `late_ms`: how long it is on its way, and how long it
    takes to start then; else nothing.
    """

    state: SchedulerState
    takes_ms: dict[int, int] = field(default_factory=dict)
    late_ms: dict[int, tuple[int, int]] = field(default_factory=dict)
    hosts: dict[str, Host] = field(default_factory=dict)
    started: dict[int, int] = field(default_factory=dict)
    at: dict[int, tuple[PodPlacement, ...]] = field(default_factory=dict)
    promised: dict[int, int] = field(default_factory=dict)
    """[task]: when it was to start, as was said when it got its reservation."""
    _events: dict[int, list[Callable[[], None]]] = field(default_factory=dict)
    _tasks: dict[int, Task] = field(default_factory=dict)

    def put_hosts(self, hosts: Iterable[Host]) -> None:
        for host in hosts:
            self.hosts[host.id] = host
            put(self.state, host)

    def submit(self, *tasks: Task) -> None:
        for task in tasks:
            self._tasks[task.id] = task
            put(self.state, task)

    def round(self, now: int) -> list[int]:
        """What ends by now has ended; gives who starts now."""
        for moment in sorted(moment for moment in self._events if moment <= now):
            for event in self._events.pop(moment):
                event()
        placements = run_cycle(self.state, now).placements
        for number, pods in placements.items():
            self._start(number, pods, now)
        for event in self._events.pop(now, ()):
            event()
        for number, one in self.state.reserved.items():
            self.promised.setdefault(number, one.start_ms)
        return list(placements)

    def next_ms(self, now: int) -> int | None:
        """When something happens that no record tells of before."""
        soon = self.state.next_ms(now)
        moments = [*self._events, *([] if soon is None else [soon])]
        return min((moment for moment in moments if moment > now), default=None)

    def snapshot(self, now: int) -> Snapshot:
        """The records."""
        periods = Periods(
            start_timeout_ms=0,
            dispute_window_ms=0,
            report_grace_ms=0,
            absence_limit_ms=0,
            archive_after_ms=0,
            late_ms=0,
            poor_ppm=0,
            notice_ms=0,
        )
        known = (self.state.task(number) for number in self._tasks)
        return Snapshot(1, now, periods, hosts=self.hosts, tasks={task.id: task for task in known if task is not None})

    def _start(self, number: int, pods: tuple[PodPlacement, ...], now: int) -> None:
        task = self._tasks[number]
        assert len(pods) >= task.pods_min
        self.started[number], self.at[number] = now, pods
        way_ms, start_ms = self.late_ms.get(number, (0, 0))
        created, since = now + way_ms, now + way_ms + start_ms

        def on_chain(state: LeaseState) -> None:
            billed = {} if state is LeaseState.PENDING else {"since": since, "until": since + task.max_duration_ms}
            leases = tuple(
                Lease(
                    id=number * 100 + pod.pod,
                    host=pod.host,
                    devices=tuple(pod.devices),
                    state=state,
                    created_at=created,
                    escrow=escrow(rate_per_hour=0, **billed),
                    reclaim_at=None,
                )
                for pod in pods
            )
            running = TaskState.ASSIGNED if state is LeaseState.PENDING else TaskState.RUNNING
            put(self.state, replace(task, state=running, leases=leases, open_pods=()))

        def create() -> None:
            for pod in pods:
                self._take(task, pod)
            on_chain(LeaseState.PENDING)
            release(self.state, number)

        self._at(created, create)
        self._at(since, lambda: on_chain(LeaseState.ACTIVE))
        self._at(since + self.takes_ms.get(number, task.max_duration_ms), lambda: self._end(number))

    def _at(self, moment: int, event: Callable[[], None]) -> None:
        self._events.setdefault(moment, []).append(event)

    def _end(self, number: int) -> None:
        task = self._tasks.pop(number)
        for pod in self.at[number]:
            self._give(task, pod)
        remove(self.state, number)

    def _take(self, task: Task, pod: PodPlacement) -> None:
        """As the chain does; it refuses what does not fit."""
        host = self.hosts[pod.host]
        self.put_hosts([take(host, task.resources, pod.devices, task.placement, task.tenant)])

    def _give(self, task: Task, pod: PodPlacement) -> None:
        self.put_hosts([released(self.hosts[pod.host], task.resources, pod.devices)])
