"""A scheduler state in virtual time: what it places runs and ends, and the records say so."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from offchain.core import values
from offchain.core.feasibility import released, take
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.scheduler.state import SchedulerState
from offchain.core.snapshot import Snapshot
from tests.support.chain_records import DOCKER, ask, escrow, placement, zeroed
from tests.support.scheduler_events import put, release, remove, run_cycle

MINUTE = 60_000
ROOMY = values.Capacity(16_000, 65_536, 1000)
GTY = 10**12


def gpu_host(name: str, many: int, *, model: bytes = b"A100", **changes: Any) -> values.Host:
    spec = values.DeviceSpec(vendor=values.Vendor.NVIDIA, model=model, vram_mib=40_960, simulated=False)
    device = values.Device(spec=spec, milli_free=1000, shared_by=None, attested=False, healthy=True)
    made = zeroed(
        values.Host,
        id=name,
        provider="p",
        status=values.HostStatus.ONLINE,
        total=ROOMY,
        free=ROOMY,
        devices=(device,) * many,
        ask=ask(gpu_per_hour=GTY),
        region=b"eu",
        tier=values.Tier.CONSUMER,
        capabilities=DOCKER,
    )
    return replace(made, **changes)


def job(
    number: int, gpus: int = 1, *, pods: int = 1, minutes: int = 10, models: tuple[bytes, ...] = (), **changes: Any
) -> values.Task:
    """A task of so many pods with so many GPUs each; of each tenant's, the lower number is older."""
    request = values.GpuRequest(count=gpus, milli=1000 if gpus else 0, min_vram_mib=0, models=models)
    made = zeroed(
        values.Task,
        id=number,
        tenant="t",
        state=values.TaskState.QUEUED,
        kind=values.TaskKind.JOB,
        resources=values.Resources(cpu_milli=1000, memory_mib=1024, disk_gib=1, gpus=request),
        placement=placement(),
        unit=values.BillingUnit.SECOND,
        pods_min=pods,
        max_rate_per_hour=100 * GTY,
        max_duration_ms=minutes * MINUTE,
        queue=b"default",
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
    hosts: dict[str, values.Host] = field(default_factory=dict)
    started: dict[int, int] = field(default_factory=dict)
    at: dict[int, tuple[values.PodPlacement, ...]] = field(default_factory=dict)
    promised: dict[int, int] = field(default_factory=dict)
    """[task]: when it was to start, as was said when it got its reservation."""
    _events: dict[int, list[Callable[[], None]]] = field(default_factory=dict)
    _tasks: dict[int, values.Task] = field(default_factory=dict)

    def put_hosts(self, hosts: Iterable[values.Host]) -> None:
        for host in hosts:
            self.hosts[host.id] = host
            put(self.state, host)

    def submit(self, *tasks: values.Task) -> None:
        for task in tasks:
            self._tasks[task.id] = task
            put(self.state, task)

    def round(self, now: int) -> list[int]:
        """End what ends by now and run a cycle; return the tasks that start."""
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
        """Return the next time at which something happens that no record announces."""
        soon = self.state.next_ms(now)
        moments = [*self._events, *([] if soon is None else [soon])]
        return min((moment for moment in moments if moment > now), default=None)

    def snapshot(self, now: int) -> Snapshot:
        known = (self.state.task(number) for number in self._tasks)
        return Snapshot(
            1,
            now,
            zeroed(values.Periods),
            hosts=self.hosts,
            tasks={task.id: task for task in known if task is not None},
        )

    def _start(self, number: int, pods: tuple[values.PodPlacement, ...], now: int) -> None:
        task = self._tasks[number]
        assert len(pods) >= task.pods_min
        self.started[number], self.at[number] = now, pods
        way_ms, start_ms = self.late_ms.get(number, (0, 0))
        created, since = now + way_ms, now + way_ms + start_ms

        def on_chain(state: values.LeaseState) -> None:
            billed = (
                {} if state is values.LeaseState.PENDING else {"since": since, "until": since + task.max_duration_ms}
            )
            leases = tuple(
                values.Lease(
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
            running = values.TaskState.ASSIGNED if state is values.LeaseState.PENDING else values.TaskState.RUNNING
            put(self.state, replace(task, state=running, leases=leases, open_pods=()))

        def create() -> None:
            for pod in pods:
                self._take(task, pod)
            on_chain(values.LeaseState.PENDING)
            release(self.state, number)

        self._at(created, create)
        self._at(since, lambda: on_chain(values.LeaseState.ACTIVE))
        self._at(since + self.takes_ms.get(number, task.max_duration_ms), lambda: self._end(number))

    def _at(self, moment: int, event: Callable[[], None]) -> None:
        self._events.setdefault(moment, []).append(event)

    def _end(self, number: int) -> None:
        task = self._tasks.pop(number)
        for pod in self.at[number]:
            self._give(task, pod)
        remove(self.state, number)

    def _take(self, task: values.Task, pod: values.PodPlacement) -> None:
        """As the chain does; it refuses what does not fit."""
        host = self.hosts[pod.host]
        self.put_hosts([take(host, PodRequest.of(task), pod.devices)])

    def _give(self, task: values.Task, pod: values.PodPlacement) -> None:
        self.put_hosts([released(self.hosts[pod.host], task.resources, pod.devices)])
