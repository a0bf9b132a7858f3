"""Hosts, tasks and accounts that come and go, as the chain would record it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

from offchain.core.feasibility import released, take
from offchain.core.scheduler.events import AssignmentRefused, CycleDue, PreemptionFinished, PreemptTasks, plan_of
from offchain.core.scheduler.plan import PlanResult
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.scheduler.queue_definitions import QueueDefinition, ResourceLimit, queue_tree
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import Capacity, Host, HostStatus, Layout, LeaseState, PodPlacement, Task, TaskState
from offchain.schema.chain_types.ids import lease_id
from tests.support.core_builders import GTY, gpu, host, lease, pod, task, wants
from tests.support.scheduler_events import put, put_hosts, put_tasks, release, remove, remove_host

BLOCK_MS: Final = 2_000
CAPACITY: Final = Capacity(8000, 8192, 100)
MOST_GPUS: Final = 4
LARGEST: Final = host("largest", status=HostStatus.OFFLINE, total=CAPACITY, free=CAPACITY, devices=(gpu(),) * MOST_GPUS)
QUEUES: Final = queue_tree(
    [QueueDefinition("default"), QueueDefinition("lab", account_limit=ResourceLimit(gpu_milli=6000), weight=2)]
)


@dataclass
class ChurnWorld:
    """A scheduler state, and the records that it was given. `random` decides what happens."""

    random: Random
    state: SchedulerState = field(default_factory=lambda: SchedulerState(b"seed", QUEUES))
    hosts: dict[str, Host] = field(default_factory=dict)
    tasks: dict[int, Task] = field(default_factory=dict)
    submitted: dict[int, tuple[PodPlacement, ...]] = field(default_factory=dict)
    """[task]: its placement, on its way to the chain."""
    now_ms: int = 0
    _numbers: int = 0

    def __post_init__(self) -> None:
        """Put in a host that is offline and as large as any other: the scale of scores is that of the largest host."""
        self.hosts[LARGEST.id] = LARGEST
        put_hosts(self.state, [LARGEST])

    def step(self) -> PlanResult:
        """Let some of all that can happen between two cycles happen, and run a cycle."""
        for number in self._some(self.submitted):
            self.answer(number, accepted=self.random.random() < 0.6)
        for number in self._some(self._running()):
            self.end(number)
        for number in self._some([number for number in self.tasks if number not in self.submitted], 0.1):
            self.end(number)
        for name in self._some(self.idle_hosts()):
            self.remove_host(name)
        self.add_hosts(self.random.randrange(4))
        self.add_tasks(self.random.randrange(6))
        return self.run_cycle()

    def replace_all(self, hosts: int, tasks: int) -> None:
        """Replace all hosts, tasks and accounts by new ones, and run two cycles."""
        self.settle()
        for number in list(self.tasks):
            self.end(number)
        for name in self.idle_hosts():
            self.remove_host(name)
        self.add_hosts(hosts)
        self.add_tasks(tasks)
        for _ in range(2):
            self.run_cycle()
            for number in list(self.submitted):
                self.answer(number, accepted=True)

    def settle(self) -> None:
        """Refuse what is on its way to the chain."""
        for number in list(self.submitted):
            self.answer(number, accepted=False)

    def run_cycle(self) -> PlanResult:
        self.now_ms += BLOCK_MS
        commands = self.state.handle(CycleDue(explain=8), self.now_ms)
        for command in commands:
            if isinstance(command, PreemptTasks):
                # The chain executes it, and the victims end by themselves.
                self.state.handle(PreemptionFinished(command.preemptor.id, accepted=True), self.now_ms)
        plan = plan_of(commands)
        self.submitted |= dict(plan.placements)
        return plan

    def add_hosts(self, count: int) -> None:
        some = [self._host() for _ in range(count)]
        self.hosts |= {one.id: one for one in some}
        put_hosts(self.state, some)

    def add_tasks(self, count: int) -> None:
        some = [self._task() for _ in range(count)]
        self.tasks |= {one.id: one for one in some}
        put_tasks(self.state, some)

    def idle_hosts(self) -> list[str]:
        """Return the hosts without leases: the chain removes no other. Assignments may be on their way there."""
        used = {one.host for task in self.tasks.values() for one in task.leases}
        return [name for name in self.hosts if name not in used and name != LARGEST.id]

    def remove_host(self, name: str) -> None:
        del self.hosts[name]
        remove_host(self.state, name)

    def answer(self, number: int, *, accepted: bool) -> None:
        """Execute or refuse an assignment."""
        pods, task = self.submitted.pop(number), self.tasks[number]
        if not accepted or any(one.host not in self.hosts for one in pods):
            release(self.state, number)
            self.state.handle(AssignmentRefused(task, frozenset()), self.now_ms)
            return
        leases = []
        for one in pods:
            self.hosts[one.host] = take(self.hosts[one.host], PodRequest.of(task), one.devices)
            put(self.state, self.hosts[one.host])
            held = lease(
                lease_id(number, one.pod, 0),
                host=one.host,
                devices=tuple(one.devices),
                state=LeaseState.ACTIVE,
                created_at=self.now_ms,
                assigned_by=f"scheduler {number // 8}",
            )
            leases.append(held)
        self.tasks[number] = replace(
            task, state=TaskState.RUNNING, leases=tuple(leases), open_pods=task.open_pods[len(pods) :]
        )
        put(self.state, self.tasks[number])
        release(self.state, number)

    def end(self, number: int) -> None:
        """End a task that is not on its way to the chain."""
        gone = self.tasks.pop(number)
        for one in gone.leases:
            self.hosts[one.host] = released(self.hosts[one.host], gone.resources, one.devices)
            put(self.state, self.hosts[one.host])
        remove(self.state, number)

    def _running(self) -> list[int]:
        return [number for number, one in self.tasks.items() if one.leases and number not in self.submitted]

    def _some(self, of: object, part: float = 0.4) -> list:  # type: ignore[type-arg]
        return [one for one in list(of) if self.random.random() < part]  # type: ignore[call-overload]

    def _host(self) -> Host:
        random, number = self.random, self._number()
        model = random.choice((b"A100", b"T4", b"model %d" % number))
        return host(
            f"host {number}",
            provider=f"provider {number % 7 if number % 2 else number}",
            region=random.choice((b"eu", b"us", b"region %d" % number)),
            total=CAPACITY,
            free=CAPACITY,
            devices=(gpu(model=model, attested=True),) * random.randint(0, MOST_GPUS),
            ask=replace(host().ask, gpu_per_hour=GTY * random.randint(1, 3) + number),
            score_ppm=random.choice((300_000, 500_000, 900_000)),
        )

    def _task(self) -> Task:
        random, number = self.random, self._number()
        gpus = random.choice((wants(0, milli=0), wants(), wants(2), wants(milli=300), wants(milli=500), wants(4)))
        pods = random.choice((1, 1, 1, 2, 3))
        return task(
            number,
            tenant=f"account {number if random.random() < 0.7 else number % 3}",
            resources=pod(cpu_milli=random.choice((500, 1000, 3000)), memory_mib=1024, gpus=gpus),
            queue=random.choice((b"default", b"lab")),
            pods_min=pods,
            layout=random.choice((Layout.ANY, Layout.ANY, Layout.HOSTS, Layout.PROVIDERS, Layout.PACKED)),
            priority=random.randrange(3),
            spot=random.random() < 0.4,
            submitted_at=self.now_ms,
            changed_at=self.now_ms,
            deadline=None if random.random() < 0.5 else self.now_ms + 10**9,
            max_duration_ms=random.choice((60_000, 3_600_000)),
            manifest=b"%d" % number,
        )

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers
