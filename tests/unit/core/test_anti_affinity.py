"""Pods of one task on different hosts, or of different providers, or packed."""

from __future__ import annotations

import pytest

from offchain.core.scheduler.availability_kernels import pods_that_fit
from offchain.core.scheduler.cycle_filters import AntiAffinity
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.placement import Planner
from offchain.core.scheduler.pod_request import PodShape
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import Capacity, Host, Layout, Task, TaskKind, TaskState
from tests.support.core_builders import gpu, host, lease, pod, task, wants
from tests.support.plan_once import InOrder
from tests.support.scheduler_events import put, put_hosts, run_cycle

ROOMY = Capacity(8000, 8192, 100)
SMALL = Capacity(2000, 2048, 100)


def placed(*tasks: Task, hosts: tuple[Host, ...]) -> dict[int, list[str]]:
    found = Planner(b"seed")
    found.update_hosts(hosts)
    made = found.plan(InOrder(tasks), [AntiAffinity(found.hosts)])
    return {number: [place.host for place in places] for number, places in made.placements.items()}


def gang(number: int, layout: Layout, pods: int = 3, **changes: object) -> Task:
    return task(number, pods_min=pods, layout=layout, **changes)


THREE = tuple(
    host(name, provider=provider, free=ROOMY, total=ROOMY) for name, provider in (("a", "p"), ("b", "p"), ("c", "q"))
)


def test_pods_are_on_different_hosts():
    assert sorted(placed(gang(1, Layout.HOSTS), hosts=THREE)[1]) == ["a", "b", "c"]


def test_pods_are_on_hosts_of_different_providers():
    (hosts,) = placed(gang(1, Layout.PROVIDERS, pods=2), hosts=THREE).values()
    assert "c" in hosts
    assert len(set(hosts)) == 2


@pytest.mark.parametrize(("layout", "pods"), [(Layout.HOSTS, 4), (Layout.PROVIDERS, 3)])
def test_a_spread_gang_without_enough_hosts_waits_without_blocking_others(layout: Layout, pods: int):
    found = placed(gang(1, layout, pods), gang(2, Layout.ANY, pods), gang(3, layout, pods - 1), hosts=THREE)
    assert set(found) == {2, 3}


def test_the_layouts_of_tasks_are_independent():
    found = placed(*(gang(number, Layout.HOSTS) for number in (1, 2)), hosts=THREE)
    assert all(len(set(hosts)) == 3 for hosts in found.values())
    assert len(found) == 2


def test_packed_pods_share_the_host_where_most_of_them_fit():
    hosts = (host("a", free=SMALL, total=SMALL), host("b", free=ROOMY, total=ROOMY), host("c", free=SMALL, total=SMALL))
    found = placed(gang(1, Layout.PACKED, pods=8), hosts=hosts)
    assert found == {1: ["b"] * 8}


def test_packed_pods_that_do_not_fit_go_to_the_next_best_host():
    hosts = (host("a", free=SMALL, total=SMALL), host("b", free=Capacity(3000, 8192, 9)), host("c", free=SMALL))
    found = placed(gang(1, Layout.PACKED, pods=5), hosts=hosts)[1]
    assert sorted(found.count(name) for name in set(found)) == [2, 3]


def test_packed_pods_avoid_hosts_that_are_too_expensive():
    # By the columns it fits on the first: only the exact rule sees what the accepted device costs there.
    from offchain.schema.chain_types._generated_chain import GpuPrice  # noqa: PLC0415
    from tests.support.chain_records import ask  # noqa: PLC0415

    mixed = ask(gpu_per_hour=10**15, gpu=(GpuPrice(b"T4", 0),))
    first = host("a", devices=(gpu(model=b"T4"), gpu(model=b"T4"), gpu(), gpu()), ask=mixed)
    others = [host(name, devices=(gpu(),)) for name in ("b", "c")]
    asked = pod(gpus=wants(models=(b"A100",)))
    found = placed(gang(1, Layout.PACKED, pods=2, resources=asked), hosts=(first, *others))
    assert sorted(found[1]) == ["b", "c"]


def service(layout: Layout) -> Task:
    """It has lost a pod, and has another on a."""
    beside = lease(1, host="a")
    return task(1, beside, state=TaskState.RUNNING, kind=TaskKind.SERVICE, layout=layout, open_pods=(1,))


@pytest.mark.parametrize(
    ("layout", "allowed"),
    [(Layout.HOSTS, {"b", "c"}), (Layout.PROVIDERS, {"c"}), (Layout.PACKED, {"a"})],
)
def test_a_replaced_pod_respects_the_layout_of_running_pods(layout: Layout, allowed: set[str]):
    for seed in (b"1", b"2", b"3", b"4"):
        state = SchedulerState(seed)
        put_hosts(state, THREE)
        put(state, service(layout))
        (made,) = run_cycle(state, 0).placements.values()
        assert made[0].host in allowed


def test_no_filter_is_used_without_layouts():
    state = SchedulerState(b"seed")
    put_hosts(state, THREE)
    put(state, gang(1, Layout.HOSTS))
    assert len(set(run_cycle(state, 0).placements[1])) == 3
    assert not state._cycle._filters(0)


@pytest.mark.parametrize(
    ("shape", "pods"),
    [
        (PodShape(1000, 1024), 4),
        (PodShape(1000, 1024, 1, 1000), 2),
        (PodShape(1000, 1024, 1, 400), 4),
        (PodShape(1000, 1024, 2, 500), 2),
        (PodShape(1000, 9000), 0),
    ],
)
def test_pods_that_fit_counts_pods_by_free_resources(shape: PodShape, pods: int):
    fleet = HostTable()
    fleet.put([host(devices=(gpu(), gpu(), gpu(milli_free=100)))])
    assert pods_that_fit(fleet.cluster, fleet.cluster.free, shape, 9).tolist() == [pods]
