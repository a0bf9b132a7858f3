from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from offchain.core.scheduler.events import (
    CycleDue,
    HostsChanged,
    LimitsChanged,
    MovePod,
    NameStandby,
    ReadHeartbeats,
    TasksChanged,
)
from offchain.core.scheduler.host_risk import HealthLimits, host_risk, move_reason
from offchain.core.scheduler.migration import MAX_MOVES, MAX_STANDBYS
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import (
    Host,
    HostStatus,
    Layout,
    Lease,
    LeaseState,
    StandbyPlace,
    Survival,
    Task,
    TaskState,
)
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import ANY_RATE, escrow
from tests.support.scheduler_world import gpu_host, job

NOW = 1_000_000
LIMITS = HealthLimits(poor_ppm=300_000, heartbeat_ms=30_000, notice_ms=0)
PODS = 3


@st.composite
def hosts(draw: st.DrawFn) -> list[Host]:
    """Of few providers, in good order and otherwise, with and without room."""
    found = []
    for number in range(draw(st.integers(2, 10))):
        sick = draw(st.sampled_from(["", "", "", "away", "late", "drained", "poor", "device"]))
        made = gpu_host(f"h{number}", 4, provider=f"p{draw(st.integers(0, 3))}", last_heartbeat=NOW)
        free = draw(st.integers(0, 4))
        devices = tuple(
            replace(one, milli_free=1000 * (place < free), healthy=not (sick == "device" and place == 3))
            for place, one in enumerate(made.devices)
        )
        status = {"away": HostStatus.OFFLINE, "drained": HostStatus.DRAINING}.get(sick, HostStatus.ONLINE)
        found.append(
            replace(
                made,
                devices=devices,
                status=status,
                last_heartbeat=NOW - 30_001 if sick == "late" else NOW,
                score_ppm=200_000 if sick == "poor" else 500_000,
            )
        )
    return found


@st.composite
def running(draw: st.DrawFn, number: int, there: list[Host]) -> Task:
    """A task whose pods run on some of the hosts."""
    leases = []
    for pod in range(draw(st.integers(1, PODS))):
        host, other = draw(st.sampled_from(there)), draw(st.sampled_from([None, *there]))
        leases.append(
            Lease(
                id=lease_id(number, pod, draw(st.integers(0, 2))),
                host=host.id,
                devices=(draw(st.integers(0, 3)),),
                state=draw(st.sampled_from([LeaseState.PENDING, LeaseState.ACTIVE])),
                created_at=0,
                escrow=escrow(rate_per_hour=0),
                reclaim_at=draw(st.sampled_from([None, None, NOW + 1000])),
                standby=None if other is None else StandbyPlace(other.id, bytes([draw(st.integers(0, 3))]), ANY_RATE),
            )
        )
    return job(
        number,
        pods=len(leases),
        state=TaskState.RUNNING,
        open_pods=(),
        leases=tuple(leases),
        survival=draw(st.sampled_from(Survival)),
        layout=draw(st.sampled_from([Layout.ANY, Layout.HOSTS, Layout.PROVIDERS, Layout.PACKED])),
    )


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Host], list[Task]]:
    there = draw(hosts())
    return there, [draw(running(number, there)) for number in range(draw(st.integers(0, 12)))]


def mover(there: list[Host], tasks: list[Task], seed: bytes = b"s", account: str = "") -> SchedulerState:
    state = SchedulerState(seed, account=account)
    state.handle(LimitsChanged(LIMITS), 0)
    state.handle(HostsChanged(there), 0)
    for task in tasks:
        state.handle(TasksChanged([task]), 0)
    return state


def all_of(state: SchedulerState, now_ms: int) -> tuple[list[MovePod], list[NameStandby]]:
    """What is decided until nothing is in doubt; what was read again is as it was."""
    moves, namings = [], []
    for _ in range(20):
        commands = state.handle(CycleDue(), now_ms)
        moves += [command for command in commands if isinstance(command, MovePod)]
        namings += [command for command in commands if isinstance(command, NameStandby)]
        if not any(isinstance(command, ReadHeartbeats) for command in commands):
            return moves, namings
    raise AssertionError("a doubt that was looked into stays")


def decided(there: list[Host], tasks: list[Task], seed: bytes = b"s") -> tuple[list[MovePod], list[NameStandby]]:
    return all_of(mover(there, tasks, seed), NOW)


@given(worlds())
def test_pods_are_moved_only_off_hosts_that_deteriorate_to_hosts_that_do_not(world: tuple[list[Host], list[Task]]):
    there, tasks = world
    known = {host.id: host for host in there}
    leases = {lease.id: (task, lease) for task in tasks for lease in task.leases}
    moves, _ = decided(there, tasks)
    for move in moves:
        task, lease = leases[move.lease]
        assert task.survival is not Survival.RESTART
        assert move_reason(lease, known[lease.host], NOW, LIMITS) is move.risk
        assert move.host != lease.host
        assert host_risk(known[move.host], NOW, LIMITS) is None
        devices = known[move.host].devices
        assert all(devices[index].healthy and devices[index].milli_free == 1000 for index in move.devices)
    assert len({move.task for move in moves}) == len(moves), "one pod of a task at a time"


@given(worlds())
def test_a_standby_is_on_a_healthy_host_of_another_provider_with_free_resources(
    world: tuple[list[Host], list[Task]],
):
    there, tasks = world
    known = {host.id: host for host in there}
    leases = {lease.id: (task, lease) for task in tasks for lease in task.leases}
    moves, namings = decided(there, tasks)
    for naming in namings:
        task, lease = leases[naming.lease]
        assert task.survival is Survival.STANDBY
        assert known[naming.host].provider != known[lease.host].provider
        assert host_risk(known[naming.host], NOW, LIMITS) is None
        assert all(known[naming.host].devices[index].milli_free == 1000 for index in naming.devices)
        if lease.standby is not None:
            before = known[lease.standby.host]
            free = all(
                before.devices[i].milli_free == 1000 and before.devices[i].healthy for i in lease.standby.devices
            )
            in_order = before.provider != known[lease.host].provider and host_risk(before, NOW, LIMITS) is None
            taken = any(move.host == before.id for move in moves)
            others = [known[one.host] for one in task.leases if one.id != lease.id]
            shared = {
                Layout.HOSTS: before.id in {one.id for one in others},
                Layout.PROVIDERS: before.provider in {one.provider for one in others},
            }.get(task.layout, False)
            assert taken or shared or not (free and in_order), "one that stands is left as it is"


@given(worlds())
def test_moves_under_way_are_bounded_and_do_not_share_resources(
    world: tuple[list[Host], list[Task]],
):
    there, tasks = world
    made = mover(there, tasks)
    moves, namings, at = [], [], NOW
    for _ in range(3):
        found, named = all_of(made, at)
        moves += found
        namings += named
        at += 3_600_000
        for host in there:
            made.handle(HostsChanged([replace(host, last_heartbeat=host.last_heartbeat + at - NOW)]), at)
    assert len(moves) <= MAX_MOVES
    assert len(namings) <= MAX_STANDBYS
    places = [(move.host, index) for move in moves for index in move.devices]
    assert len(places) == len(set(places))


@given(worlds(), st.binary(min_size=1, max_size=4))
def test_migration_is_deterministic_by_records_and_seed(world: tuple[list[Host], list[Task]], seed: bytes):
    there, tasks = world
    assert decided(there, tasks, seed) == decided(there, tasks[::-1], seed)
