"""Tasks that come and go many at once leave the scheduler state as if each had come and gone by itself."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import GpuRequest, Layout, Task
from tests.support.examples import examples
from tests.support.scheduler_events import put, put_hosts, put_tasks, remove, run_cycle
from tests.support.scheduler_world import gpu_host, job

KINDS = ((1, 1000, 1), (1, 300, 1), (2, 1000, 1), (0, 0, 2))
"""GPUs, thousandths of each, pods."""

blocks = st.lists(
    st.tuples(
        st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from("ab"), st.integers(0, 2)), max_size=8),
        st.lists(st.integers(0, 30), max_size=8, unique=True),
    ),
    max_size=5,
)


def task(number: int, kind: tuple[int, int, int], tenant: str, unlike: int) -> Task:
    gpus, milli, pods = kind
    made = job(number, gpus, pods=pods, tenant=tenant, priority=unlike)
    asked = replace(made.resources, gpus=GpuRequest(gpus, milli, 0, ()))
    later = {"deadline": 10**6} if unlike == 1 else {"layout": Layout.HOSTS} if unlike == 2 else {}
    return replace(made, resources=asked, **later)


@settings(max_examples=examples(40), deadline=None)
@given(blocks)
def test_bulk_enqueue_equals_single_enqueue(of):
    one, many = SchedulerState(b"seed"), SchedulerState(b"seed")
    number = 0
    for state in (one, many):
        put_hosts(state, [gpu_host(f"h{host}", 2) for host in range(3)])
    for at, (comes, goes) in enumerate(of):
        new = [task(number + place, *what) for place, what in enumerate(comes)]
        number += len(new)
        remove(many, *goes)
        for gone in goes:
            remove(one, gone)
        put_tasks(many, new)
        for come in new:
            put(one, come)
        made = [run_cycle(state, at) for state in (one, many)]
        assert dict(made[0].placements) == dict(made[1].placements)
        assert {found.task for found in made[0].unschedulable} == {found.task for found in made[1].unschedulable}
    assert set(one.waiting) == set(many.waiting)
    free = [state.planner.hosts.cluster.free for state in (one, many)]
    for column, same in zip(*free, strict=True):
        assert column.tolist() == same.tolist()
