"""Pods of one task on different hosts, or of different providers, or packed."""

from __future__ import annotations

import pytest
from core_builders import gpu, host, lease, pod, task, wants

from offchain.core.fleet.fleet import Fleet
from offchain.core.placing.shapes import Shape
from offchain.core.planning.apart import Apart, room
from offchain.core.planning.desk import Desk
from offchain.core.planning.once import InTurn
from offchain.core.planning.planner import Planner
from offchain.core.values import Capacity, Host, Layout, Task, TaskKind, TaskState

ROOMY = Capacity(8000, 8192, 100)
SMALL = Capacity(2000, 2048, 100)


def placed(*tasks: Task, hosts: tuple[Host, ...]) -> dict[int, list[str]]:
    found = Planner(b"seed")
    found.put_hosts(hosts)
    made = found.plan(InTurn(tasks), [Apart(found.fleet)])
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
def test_where_there_are_too_few_of_them_none_is_placed_and_others_are_not_held_up(layout: Layout, pods: int):
    found = placed(gang(1, layout, pods), gang(2, Layout.ANY, pods), gang(3, layout, pods - 1), hosts=THREE)
    assert set(found) == {2, 3}


def test_each_task_is_laid_out_by_itself():
    found = placed(*(gang(number, Layout.HOSTS) for number in (1, 2)), hosts=THREE)
    assert all(len(set(hosts)) == 3 for hosts in found.values())
    assert len(found) == 2


def test_packed_pods_share_the_host_that_has_room_for_most_of_them():
    hosts = (host("a", free=SMALL, total=SMALL), host("b", free=ROOMY, total=ROOMY), host("c", free=SMALL, total=SMALL))
    found = placed(gang(1, Layout.PACKED, pods=8), hosts=hosts)
    assert found == {1: ["b"] * 8}


def test_what_has_no_room_beside_the_others_goes_to_the_next_best():
    hosts = (host("a", free=SMALL, total=SMALL), host("b", free=Capacity(3000, 8192, 9)), host("c", free=SMALL))
    found = placed(gang(1, Layout.PACKED, pods=5), hosts=hosts)[1]
    assert sorted(found.count(name) for name in set(found)) == [2, 3]


def test_where_packed_pods_would_be_too_dear_they_go_elsewhere():
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
def test_a_replaced_pod_keeps_to_the_layout_of_those_that_run(layout: Layout, allowed: set[str]):
    for seed in (b"1", b"2", b"3", b"4"):
        desk = Desk(seed)
        desk.put_hosts(THREE)
        desk.put_task(service(layout))
        (made,) = desk.round(0).placements.values()
        assert made[0].host in allowed


def test_a_desk_without_layouts_asks_no_gate():
    desk = Desk(b"seed")
    desk.put_hosts(THREE)
    desk.put_task(gang(1, Layout.HOSTS))
    assert len(set(desk.round(0).placements[1])) == 3
    assert not desk._gates(0)


@pytest.mark.parametrize(
    ("shape", "pods"),
    [
        (Shape(1000, 1024), 4),
        (Shape(1000, 1024, disk_gib=60), 1),
        (Shape(1000, 1024, 1, 1000), 2),
        (Shape(1000, 1024, 1, 400), 4),
        (Shape(1000, 1024, 2, 500), 2),
        (Shape(1000, 9000), 0),
    ],
)
def test_how_many_such_pods_have_room(shape: Shape, pods: int):
    fleet = Fleet()
    fleet.put([host(devices=(gpu(), gpu(), gpu(milli_free=100)))])
    assert room(fleet, shape).tolist() == [pods]
