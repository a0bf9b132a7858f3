"""Whatever comes in whatever order: no host is given away twice, nobody waits who fits, and the same makes the same."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.feasibility import Fit, fit
from offchain.core.pricing import rate_per_hour
from offchain.core.scheduler.plan import PlanResult
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.scheduler.state import SchedulerState
from offchain.core.snapshot import Snapshot
from offchain.core.values import Host, Task
from tests.support.core_strategies import HOST_IDS, carried_out, crowded, hosts_with, tasks_with
from tests.support.examples import examples
from tests.support.scheduler_events import put, put_hosts, release, remove, remove_host, run_cycle

events = st.lists(
    st.one_of(
        st.sampled_from(HOST_IDS).flatmap(hosts_with),
        st.integers(1, 6).flatmap(tasks_with),
        st.tuples(st.just("gone"), st.sampled_from(HOST_IDS)),
        st.tuples(st.just("final"), st.integers(1, 6)),
        st.tuples(st.just("refused"), st.integers(1, 6)),
        st.just("round"),
    ),
    max_size=30,
)


class World:
    """A state, and what it was told."""

    def __init__(self, seed: bytes) -> None:
        self.state = SchedulerState(seed)
        self.hosts: dict[str, Host] = {}
        self.tasks: dict[int, Task] = {}
        self.made: list[object] = []

    def tell(self, event: object) -> None:
        state = self.state
        match event:
            case Host():
                self.hosts[event.id] = event
                put(state, event)
            case Task():
                self.tasks[event.id] = event
                put(state, event)
            case ("gone", str(name)):
                self.hosts.pop(name, None)
                remove_host(state, name)
            case ("final", int(number)):
                self.tasks.pop(number, None)
                remove(state, number)
            case ("refused", int(number)):
                release(state, number)
            case _:
                plan = run_cycle(state, 0)
                self.made.append((dict(plan.placements), plan.unschedulable))

    def settle(self) -> None:
        """Nothing is on its way any more."""
        for number in list(self.state.planner.held_tasks):
            release(self.state, number)


@given(events, st.binary(max_size=64))
def test_free_resources_equal_the_records_if_nothing_is_assumed(told: list[object], seed: bytes):
    world = World(seed)
    for event in told:
        world.tell(event)
        free = world.state.planner.hosts.cluster.free
        assert (free.device >= 0).all()
        assert (free.disk >= -1).all()
    world.settle()
    cluster = world.state.planner.hosts.cluster
    for host in world.hosts.values():
        row = cluster.row(host.id)
        assert cluster.free.cpu[row] == host.free.cpu_milli
        healthy = [device.milli_free if device.healthy else 0 for device in host.devices]
        assert cluster.free.device[row, : len(healthy)].tolist() == healthy


@given(events, st.binary(max_size=64))
def test_a_state_that_followed_all_changes_equals_a_new_one(told: list[object], seed: bytes):
    followed = World(seed)
    for event in told:
        followed.tell(event)
    followed.settle()
    anew = World(seed)
    for record in (*followed.hosts.values(), *followed.tasks.values()):
        anew.tell(record)
    for number in followed.tasks:
        assert (number in set(followed.state.waiting)) == (number in set(anew.state.waiting))
    one, other = run_cycle(followed.state, 0), run_cycle(anew.state, 0)
    # Who is next among equals depends on who was served and tried before, so the tasks may be others of those that ask
    # for the same; but all that is asked for is looked at.
    assert _asked(one) == _asked(other)


def _asked(made: PlanResult) -> set[PodRequest]:
    """What those ask for that found a place, or none; without what is remembered of where a manifest ran, which no
    record says and a new scheduler state does not know."""
    found = {blocked.request for blocked in made.unschedulable} | {
        made.placements.request(task) for task in made.placements
    }
    return {replace(want, manifest=None) for want in found}


@given(events, st.binary(max_size=64))
def test_equal_inputs_give_equal_results(told: list[object], seed: bytes):
    made = []
    for _ in range(2):
        world = World(seed)
        for event in told:
            world.tell(event)
        made.append(world.made)
    assert made[0] == made[1]


@given(events, st.binary(max_size=64))
def test_tasks_that_wait_after_a_cycle_fit_nowhere(told: list[object], seed: bytes):
    world = World(seed)
    for event in told:
        world.tell(event)
    world.settle()
    made = run_cycle(world.state, 0)
    free = world.state.planner.hosts.cluster.free
    for blocked in made.unschedulable:
        if blocked.pods_needed != 1:
            continue
        task = world.tasks[blocked.task]
        for host in world.hosts.values():
            row = world.state.planner.hosts.cluster.row(host.id)
            left = replace(
                host,
                free=replace(
                    host.free,
                    cpu_milli=int(free.cpu[row]),
                    memory_mib=int(free.memory[row]),
                    disk_gib=int(free.disk[row]),
                ),
                devices=tuple(
                    replace(device, milli_free=int(free.device[row, place]) if device.healthy else device.milli_free)
                    for place, device in enumerate(host.devices)
                ),
            )
            assert not isinstance(fit(left, PodRequest.of(task)), Fit)


@settings(max_examples=examples(40))
@given(crowded(), st.binary(max_size=64))
def test_new_hosts_cost_no_task_its_place(snapshot: Snapshot, seed: bytes):
    state = SchedulerState(seed)
    for task in snapshot.tasks.values():
        put(state, task)
    waiting = set(snapshot.tasks)
    for host in snapshot.hosts.values():
        put(state, host)
        before = state.planner.held_tasks
        made = run_cycle(state, 0)
        waiting -= set(made.placements)
        assert before <= state.planner.held_tasks
        assert {blocked.task for blocked in made.unschedulable} <= waiting == set(state.waiting)


@settings(max_examples=examples(40))
@given(crowded(), st.binary(max_size=64))
def test_a_cycle_respects_capacity_price_and_gangs(snapshot: Snapshot, seed: bytes):
    state = SchedulerState(seed)
    put_hosts(state, snapshot.hosts.values())
    for task in snapshot.tasks.values():
        put(state, task)
    made = run_cycle(state, 0)
    # The chain's rule refuses what is over a host's capacity.
    carried_out(snapshot, made.placements)
    for number, pods in made.placements.items():
        task = snapshot.tasks[number]
        assert [place.pod for place in pods] == list(task.open_pods[: len(pods)])
        assert len(pods) >= task.least
        for place in pods:
            host = snapshot.hosts[place.host]
            rate = rate_per_hour(task.resources, host.devices, place.devices, host.ask, task.unit)
            assert rate <= task.max_rate_per_hour
