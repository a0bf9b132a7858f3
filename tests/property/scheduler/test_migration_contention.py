"""Migration with several schedulers on one chain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.scheduler.events import (
    HostsChanged,
    MoveFinished,
    MovePod,
    NameStandby,
    SchedulersChanged,
    StandbyFinished,
    TasksChanged,
)
from offchain.core.scheduler.host_risk import move_reason
from offchain.core.scheduler.partition import SLOT_MS
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import Host, HostStatus, Lease, LeaseState, StandbyPlace, Survival, Task, TaskState
from offchain.schema.chain_types.ids import lease_id, lease_parts
from tests.property.scheduler.test_migration_properties import LIMITS, NOW, all_of, mover, worlds
from tests.support.chain_records import escrow
from tests.support.examples import examples
from tests.support.scheduler_world import gpu_host, job

BLOCK_MS = 2_000
SCHEDULERS = ("anna", "bert", "carl")


class Chain:
    """Hosts and tasks; each block takes what the schedulers who live have decided on the one before."""

    def __init__(self, there: list[Host], tasks: list[Task], at_ms: int) -> None:
        self.hosts = {host.id: host for host in there}
        self.tasks = {task.id: task for task in tasks}
        self.now_ms = at_ms
        self.late = {host.id for host in there if host.last_heartbeat < NOW}
        self.movers = {name: self._scheduler(name) for name in SCHEDULERS}

    def _scheduler(self, name: str) -> SchedulerState:
        made = mover(list(self.hosts.values()), list(self.tasks.values()), account=name)
        made.handle(SchedulersChanged(frozenset(SCHEDULERS)), self.now_ms)
        return made

    def block(self) -> dict[str, tuple[list[MovePod], list[NameStandby]]]:
        """What each scheduler has sent, now that the chain has answered."""
        self._beat()
        sent = {name: all_of(made, self.now_ms) for name, made in self.movers.items()}
        self.now_ms += BLOCK_MS
        for moves, namings in sent.values():
            for move in moves:
                self._move(move)
            for naming in namings:
                self._name(naming)
        for name, made in self.movers.items():
            self._tell(made)
            moves, namings = sent[name]
            for move in moves:
                made.handle(MoveFinished(move.task, move.lease), self.now_ms)
            for naming in namings:
                made.handle(StandbyFinished(naming.lease), self.now_ms)
        return sent

    def lease(self, number: int) -> tuple[Task, Lease | None]:
        task = self.tasks[lease_parts(number)[0]]
        return task, next((one for one in task.leases if one.id == number), None)

    def _beat(self) -> None:
        for name, host in self.hosts.items():
            if name not in self.late:
                self.hosts[name] = replace(host, last_heartbeat=self.now_ms)
        for made in self.movers.values():
            self._tell(made)

    def _tell(self, made: SchedulerState) -> None:
        made.handle(HostsChanged(tuple(self.hosts.values())), self.now_ms)
        made.handle(TasksChanged(tuple(self.tasks.values())), self.now_ms)

    def _move(self, move: MovePod) -> None:
        task, lease = self.lease(move.lease)
        if lease is None or any(self.hosts[move.host].devices[one].milli_free < 1000 for one in move.devices):
            return  # another was faster
        pod, generation = lease_parts(lease.id)[1:]
        opened = replace(
            lease,
            id=lease_id(task.id, pod, generation + 1),
            host=move.host,
            devices=tuple(move.devices),
            state=LeaseState.PENDING,
            reclaim_at=None,
            standby=None,
        )
        others = tuple(opened if one is lease else one for one in task.leases)
        self.tasks[task.id] = replace(task, leases=others)
        self._take(lease.host, lease.devices, 1000)
        self._take(move.host, move.devices, 0)

    def _name(self, naming: NameStandby) -> None:
        task, lease = self.lease(naming.lease)
        if lease is None:
            return
        named = replace(lease, standby=StandbyPlace(naming.host, naming.devices, naming.rate_per_hour))
        self.tasks[task.id] = replace(task, leases=tuple(named if one is lease else one for one in task.leases))

    def _take(self, name: str, devices: Iterable[int], free: int) -> None:
        host = self.hosts[name]
        changed = tuple(
            replace(device, milli_free=free) if place in devices else device
            for place, device in enumerate(host.devices)
        )
        self.hosts[name] = replace(host, devices=changed)


@settings(max_examples=examples(20))
@given(worlds(), st.integers(0, 4 * SLOT_MS // BLOCK_MS))
def test_no_two_schedulers_move_the_same_pod_or_name_its_standby(world: tuple[list[Host], list[Task]], blocks: int):
    chain = Chain(*world, at_ms=NOW + blocks * BLOCK_MS)
    for _ in range(SLOT_MS // BLOCK_MS + 2):
        before = {lease.id for task in chain.tasks.values() for lease in task.leases}
        sent = chain.block()
        moved = [move.lease for moves, _ in sent.values() for move in moves]
        named = [naming.lease for _, namings in sent.values() for naming in namings]
        assert len(set(moved)) == len(moved)
        assert len(set(named)) == len(named)
        assert before >= {*moved, *named}, "nobody acts for a lease that another has moved already"


@settings(max_examples=examples(10))
@given(st.sampled_from(SCHEDULERS), st.integers(0, 8), st.integers(1, 6), st.integers(0, 3))
def test_other_schedulers_take_over_from_dead_ones(survivor: str, dies_after: int, pods: int, shift: int):
    """All but one die, with whatever they had sent last lost on the way."""
    hosts = [gpu_host("old", 4, status=HostStatus.DRAINING), gpu_host("new", 8), gpu_host("else", 8, provider="q")]
    hosts = [replace(host, last_heartbeat=NOW) for host in hosts]
    tasks = [
        job(
            number,
            state=TaskState.RUNNING,
            open_pods=(),
            survival=Survival.STANDBY,
            leases=(
                Lease(
                    id=lease_id(number, 0, 0),
                    host="old",
                    devices=(0,),
                    state=LeaseState.ACTIVE,
                    created_at=0,
                    escrow=escrow(rate_per_hour=0),
                    reclaim_at=None,
                ),
            ),
        )
        for number in range(pods)
    ]
    chain = Chain(hosts, tasks, at_ms=NOW + shift * SLOT_MS)
    for _ in range(dies_after):
        chain.block()
    for name, made in list(chain.movers.items()):
        if name != survivor:
            all_of(made, chain.now_ms)
            del chain.movers[name]
    for _ in range(12 * SLOT_MS // BLOCK_MS):
        chain.block()
    leases = [lease for task in chain.tasks.values() for lease in task.leases]
    assert all(move_reason(one, chain.hosts[one.host], chain.now_ms, LIMITS) is None for one in leases)
    assert all(one.standby is not None for one in leases)
