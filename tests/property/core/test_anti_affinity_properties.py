"""Pods that are to be apart are, those that run already counted; and packing leaves nobody out."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import Layout, Task
from tests.support.core_strategies import HOST_IDS, hosts_with, tasks_with
from tests.support.scheduler_events import put, put_hosts, run_cycle

worlds = st.tuples(
    st.sampled_from((3, 5)).flatmap(lambda count: st.tuples(*(hosts_with(name) for name in HOST_IDS[:count]))),
    st.lists(st.tuples(st.sampled_from(Layout), st.integers(0, 0).flatmap(tasks_with)), min_size=1, max_size=5),
)


def laid_out(found: list[tuple[Layout, Task]]) -> list[Task]:
    return [replace(task, id=number, layout=layout) for number, (layout, task) in enumerate(found)]


@given(worlds, st.binary(max_size=8))
def test_pods_respect_anti_affinity(world, seed: bytes):
    hosts, found = world
    tasks = laid_out(found)
    state = SchedulerState(seed)
    put_hosts(state, hosts)
    for task in tasks:
        put(state, task)
    providers = {host.id: host.provider for host in hosts}
    for number, places in run_cycle(state, 0).placements.items():
        task = tasks[number]
        there = [lease.host for lease in task.leases if lease.host in providers]
        on = [place.host for place in places]
        if task.layout is Layout.HOSTS:
            assert len(set(on)) == len(on)
            assert not set(on) & set(there)
        if task.layout is Layout.PROVIDERS:
            mine = [providers[host] for host in on]
            assert len(set(mine)) == len(mine)
            assert not set(mine) & {providers[host] for host in there}


@given(worlds, st.binary(max_size=8))
def test_packing_places_as_many_pods(world, seed: bytes):
    hosts, found = world
    (task, *_) = laid_out(found)

    def placed(layout: Layout) -> bool:
        state = SchedulerState(seed)
        put_hosts(state, hosts)
        put(state, replace(task, layout=layout))
        return bool(run_cycle(state, 0).placements)

    # Of hosts that take a pod, one is taken: the gang's size decides, not where it begins, as all pods are alike.
    assert placed(Layout.PACKED) == placed(Layout.ANY)
