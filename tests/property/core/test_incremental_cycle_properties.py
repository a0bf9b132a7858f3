"""More rounds in one moment of chain time come to what whole rounds come to, and keep what is reserved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hypothesis import example, given, settings
from hypothesis import strategies as st

from offchain.core.scheduler.availability_kernels import FOREVER
from offchain.core.scheduler.plan import PlanResult
from offchain.core.scheduler.queue_definitions import (
    EQUAL_SHARES,
    QueueDefinition,
    QueueTree,
    ResourceLimit,
    queue_tree,
)
from offchain.core.scheduler.reservations import Reservation
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import Host, Task
from tests.support.examples import examples
from tests.support.scheduler_events import put, put_hosts, release, remove, run_cycle, set_schedulers
from tests.support.scheduler_world import MINUTE, gpu_host, job

NOW = 60 * MINUTE

LIMITED = queue_tree([QueueDefinition("default", account_limit=ResourceLimit(gpu_milli=3000))])

History = tuple[dict[str, Host], list[Task], list["Event"]]
"""The hosts, who waits when the moment begins, and what happens in it."""

Event = Task | tuple[str, int] | None
"""A task comes, or comes again with another record; something happens to one of those there; None: a round."""


@dataclass(slots=True)
class Scene:
    """A scheduler state that was told some records. `whole`: every round of it begins anew."""

    state: SchedulerState
    hosts: dict[str, Host]
    whole: bool = False
    tasks: dict[int, Task] = field(default_factory=dict)

    def tell(self, event: Event) -> PlanResult | None:
        """What a round has made of it, where it was one."""
        match event:
            case Task() if event.id in self.state.planner.held_tasks:
                # What was placed stays as it was asked for.
                pass
            case Task():
                self.tasks[event.id] = event
                put(self.state, event)
            case ("over", place):
                # Those that have a place end, the others are cancelled.
                if self.tasks:
                    number = sorted(self.tasks)[place % len(self.tasks)]
                    del self.tasks[number]
                    remove(self.state, number)
            case ("refused", place):
                placed = sorted(self.state.planner.held_tasks)
                if placed:
                    release(self.state, placed[place % len(placed)])
            case _:
                return self.round()
        return None

    def round(self, now_ms: int = NOW, *, anew: bool = False) -> PlanResult:
        if self.whole or anew:
            # Whoever the schedulers are, after they were told the next round is a whole one.
            set_schedulers(self.state, ())
        made = run_cycle(self.state, now_ms)
        self._within_capacity()
        # Whoever waits for room is told of, by one of those that ask for the same. Some are kept by a limit by now.
        told = {one.task for one in made.unschedulable}
        assert all(self.state.last_unschedulable(number) == number for number in told)
        waits = [number for number in self.state.waiting if self.state.limit(number) is None]
        assert {self.state.last_unschedulable(number) for number in waits} <= told
        return made

    def _within_capacity(self) -> None:
        free = self.state.planner.hosts.cluster.free
        for row, name in enumerate(self.state.planner.hosts.cluster.names):
            taken = [0] * len(self.hosts[name].devices)
            for number in self.state.planner.held_tasks:
                ahead = self.state.planner.assumed_placement(number)
                assert ahead is not None
                for host, devices in zip(ahead.hosts, ahead.devices, strict=True):
                    for device in range(len(taken)) if host == row else ():
                        taken[device] += devices >> device & 1
            assert free.device[row, : len(taken)].tolist() == [1000 * (1 - one) for one in taken]


def histories(
    gpus: int, pods: int, minutes: tuple[int, ...], priorities: tuple[int, ...] = (0, 100), most: int = 4
) -> st.SearchStrategy[History]:
    """What happens in one moment, from the first round on; so many tasks that mostly some have to wait.

    Tasks ask for so many GPUs and pods at most; a host has `most`. `minutes`: how long they may run; 0: for ever.
    """
    task = st.builds(
        lambda number, many, each, longest, tenant, priority: job(
            number,
            each,
            pods=many,
            tenant=tenant,
            priority=priority,
            max_duration_ms=FOREVER if longest == 0 else longest * MINUTE,
        ),
        st.integers(1, 12),
        st.integers(1, pods),
        st.integers(1, gpus),
        st.sampled_from(minutes),
        st.sampled_from("ab"),
        st.sampled_from(priorities),
    )
    happens = st.tuples(st.sampled_from(("over", "refused")), st.integers(0, 11))
    return st.tuples(
        st.lists(st.integers(1, most), min_size=1, max_size=3).map(
            lambda many: {f"h{place}": gpu_host(f"h{place}", each) for place, each in enumerate(many)}
        ),
        st.lists(task, max_size=8),
        st.lists(task | happens | st.none(), max_size=30),
    )


def begun(hosts: dict[str, Host], tasks: list[Task], queues: QueueTree, *, whole: bool = False) -> Scene:
    scene = Scene(SchedulerState(b"seed", queues), hosts, whole)
    put_hosts(scene.state, hosts.values())
    for task in tasks:
        scene.tell(task)
    scene.round()
    return scene


@settings(max_examples=examples(60))
@given(histories(3, 2, (0,)), st.sampled_from((EQUAL_SHARES, LIMITED)))
def test_without_reservations_a_full_cycle_places_no_more(history, queues):
    hosts, tasks, events = history
    scene = begun(hosts, tasks, queues)
    for event in events:
        scene.tell(event)
    scene.round()
    waiting = set(scene.state.waiting)
    assert scene.state.next_ms(NOW) == (NOW + 1 if waiting else None)
    assert not scene.state.reserved
    assert not scene.round(anew=True).placements
    assert set(scene.state.waiting) == waiting


@settings(max_examples=examples(30))
@given(histories(1, 1, (0,)), st.sampled_from((EQUAL_SHARES, LIMITED)))
def test_with_equal_requests_the_same_tasks_are_placed(history, queues):
    hosts, tasks, events = history
    scene, anew = begun(hosts, tasks, queues), begun(hosts, tasks, queues, whole=True)
    for event in (*events, None):
        made, other = scene.tell(event), anew.tell(event)
        if made is not None and other is not None:
            assert list(made.placements) == list(other.placements)
        assert scene.state.planner.held_tasks == anew.state.planner.held_tasks


@settings(max_examples=examples(30))
@given(histories(1, 1, (1, 10, 60)))
def test_as_many_tasks_are_placed_whatever_is_reserved(history):
    hosts, tasks, events = history
    scene, anew = begun(hosts, tasks, EQUAL_SHARES), begun(hosts, tasks, EQUAL_SHARES, whole=True)
    for event in (*events, None):
        # Who has a place may be another here and there; so nobody's ends.
        if not isinstance(event, tuple):
            scene.tell(event)
            anew.tell(event)
    assert len(scene.state.planner.held_tasks) == len(anew.state.planner.held_tasks)


@settings(max_examples=examples(60))
@given(histories(3, 2, (1, 10, 60), (0,)))
def test_tasks_with_a_reservation_are_not_delayed(history):
    hosts, tasks, events = history
    scene = begun(hosts, tasks, EQUAL_SHARES)
    for event in events:
        before = dict(scene.state.reserved)
        if scene.tell(event) is not None:
            assert not later(scene, before)
    scene.round()
    before = dict(scene.state.reserved)
    scene.round(NOW + 1)
    assert not later(scene, before)


def later(scene: Scene, before: Mapping[int, Reservation]) -> list[int]:
    """Of those that had a reservation and still wait, whose begins later now, or is no more."""
    now = scene.state.reserved
    waiting = before.keys() & scene.state.waiting
    return [number for number in waiting if number not in now or now[number].start_ms > before[number].start_ms]


def minutes(number: int, longest: int) -> Task:
    """A task of one GPU that may run for so many minutes."""
    return job(number, 1, tenant="a", priority=0, max_duration_ms=longest * MINUTE)


STARTED_SOONER: History = (
    {name: gpu_host(name, 1) for name in ("h0", "h1")},
    [minutes(1, 1), minutes(2, 10), minutes(3, 1)],
    [("over", 1), minutes(2, 1), None, ("over", 0)],
)
"""Task 3 starts in the second round on the host that task 2 has left, and its reservation ends; then task 1 ends."""


@settings(max_examples=examples(40))
@given(histories(1, 2, (1, 10, 60), (0,), most=1))
@example(STARTED_SOONER)
def test_a_full_cycle_places_more_only_by_other_reservations(history):
    # Elsewhere it may reserve other devices than a pod would take by itself, and so find room in the same moment.
    hosts, tasks, events = history
    scene = begun(hosts, tasks, EQUAL_SHARES)
    for event in (*events, None):
        scene.tell(event)
    before = dict(scene.state.reserved)
    if scene.round(anew=True).placements:
        assert any(scene.state.reserved.get(number) != one for number, one in before.items())
