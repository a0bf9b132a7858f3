"""Whatever comes: promises hold but against those who are above, gangs are whole and lie as they must, all start."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.scheduler.backfill import ASSIGN_MS, START_MS
from offchain.core.scheduler.reservations import PATIENCE_MS
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import Layout, Task
from tests.support.examples import examples
from tests.support.scheduler_world import MINUTE, World, gpu_host, job

LAST_MS = 10**9

History = tuple[list[int], list[tuple[Task, int, tuple[int, int]]]]


def provider_of(host: int) -> str:
    """The first two hosts have the same."""
    return f"p{max(0, host - 1)}"


def most_pods(hosts: list[int], gpus: int, layout: Layout) -> int:
    """For how many there is room on these hosts when nothing runs."""
    rooms = [have // gpus for have in hosts]
    with_room = [host for host, pods in enumerate(rooms) if pods]
    if layout is Layout.HOSTS:
        return len(with_room)
    return len({provider_of(host) for host in with_room}) if layout is Layout.PROVIDERS else sum(rooms)


def may_pass(other: Task, task: Task) -> bool:
    """Whether a reservation of the task does not hold against the other."""
    return other.priority > task.priority and (task.spot or other.tenant == task.tenant)


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Hosts by their GPUs, and tasks with what they take and how late they are; so many that most have to wait."""
    hosts = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    work = []
    for number in range(draw(st.integers(4, 16))):
        gpus = draw(st.integers(1, max(hosts)))
        layout = draw(st.sampled_from(Layout))
        pods = draw(st.integers(1, most_pods(hosts, gpus, layout))) if draw(st.booleans()) else 1
        minutes = draw(st.integers(1, 60))
        takes_ms = minutes * MINUTE if draw(st.booleans()) else draw(st.integers(1, minutes * MINUTE))
        task = job(
            number,
            gpus,
            pods=pods,
            minutes=minutes,
            tenant=draw(st.sampled_from("abc")),
            priority=draw(st.sampled_from((0, 100, 200))),
            submitted_at=draw(st.integers(0, 40)) * MINUTE,
            layout=layout,
            spot=draw(st.booleans()),
        )
        late_ms = draw(st.just((0, 0)) | st.tuples(st.integers(1, ASSIGN_MS), st.integers(1, START_MS)))
        work.append((task, takes_ms, late_ms))
    return hosts, sorted(work, key=lambda one: one[0].submitted_at)


@settings(max_examples=examples(60))
@given(histories(), st.binary(max_size=8))
def test_all_tasks_start_no_later_than_promised(history: tuple[list[int], list[tuple[Task, int]]], seed):
    hosts, work = history
    world = World(SchedulerState(seed))
    world.put_hosts(gpu_host(f"h{place}", many, provider=provider_of(place)) for place, many in enumerate(hosts))
    layouts = {task.id: task.layout for task, *_ in work}
    passed = {task.id for task, *_ in work if any(may_pass(other, task) for other, *_ in work)}
    world.takes_ms = {task.id: takes_ms for task, takes_ms, _ in work}
    world.late_ms = {task.id: late_ms for task, _, late_ms in work}
    now: int | None = 0
    while now is not None and now < LAST_MS:
        while work and work[0][0].submitted_at <= now:
            world.submit(work.pop(0)[0])
        world.round(now)
        moments = [work[0][0].submitted_at] if work else []
        soon = world.next_ms(now)
        now = min(moments if soon is None else [*moments, soon], default=None)
    assert len(world.started) == len(world.takes_ms)
    promised = {task: at for task, at in world.promised.items() if task not in passed}
    late = {task: (world.started[task], at) for task, at in promised.items() if world.started[task] > at}
    assert not late
    for number, pods in world.at.items():
        on = [pod.host for pod in pods]
        providers = {world.hosts[name].provider for name in on}
        assert layouts[number] is not Layout.HOSTS or len(set(on)) == len(on)
        assert layouts[number] is not Layout.PROVIDERS or len(providers) == len(on)


@settings(max_examples=examples(20))
@given(st.integers(2, 4), st.integers(1, 30), st.binary(max_size=8), st.sampled_from(Layout))
def test_a_gang_waits_no_longer_than_promised_however_many_small_tasks_arrive(
    hosts: int, longest: int, seed: bytes, layout: Layout
):
    world = World(SchedulerState(seed))
    world.put_hosts(gpu_host(f"h{place}", 2, provider=f"p{place}") for place in range(hosts))
    gpus = 2 if layout in (Layout.ANY, Layout.PACKED) else 1
    gang = job(0, gpus, pods=hosts, minutes=longest, priority=0, submitted_at=MINUTE, layout=layout)
    bound_ms = MINUTE + PATIENCE_MS + 2 * (longest * MINUTE + START_MS + ASSIGN_MS)
    minute, number = 0, 1
    while 0 not in world.started:
        assert minute * MINUTE <= bound_ms
        if minute == 1:
            world.submit(gang)
        for _ in range(2):
            world.submit(job(number, minutes=longest, tenant=f"t{number}", priority=200, submitted_at=minute * MINUTE))
            number += 1
        world.round(minute * MINUTE)
        minute += 1
    assert len({pod.host for pod in world.at[0]}) == hosts
