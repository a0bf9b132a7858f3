"""One planner that follows the chain: what it holds, and when it lets go."""

from __future__ import annotations

from offchain.core.feasibility import Misfit
from offchain.core.scheduler.filters import count_excluded
from offchain.core.scheduler.placement import Planner
from offchain.core.values import Capacity, HostStatus, PodPlacement
from offchain.schema.chain_types._generated_chain import GpuPrice
from tests.support.chain_records import ask, placement
from tests.support.core_builders import GTY, gpu, host, pod, task, wants
from tests.support.plan_once import InOrder

SEED = b"seed"
ONE = Capacity(1000, 1024, 1)


def planner(*hosts):
    found = Planner(SEED)
    found.update_hosts(hosts)
    return found


def assigned(found, *tasks):
    return dict(found.plan(InOrder(tasks)).placements)


def test_placed_pods_stay_allocated_in_later_cycles():
    found = planner(host(free=ONE))
    assert list(assigned(found, task(1))) == [1]
    assert not assigned(found, task(2))
    assert found.held_tasks == {1}


def test_placed_pods_stay_allocated_after_a_heartbeat():
    found = planner(host(free=ONE))
    assert list(assigned(found, task(1))) == [1]
    found.update_hosts([host(free=ONE, last_heartbeat=99)])
    assert not assigned(found, task(2), task(3, resources=pod(cpu_milli=500)))


def test_a_refused_placement_frees_its_resources():
    found = planner(host(free=ONE))
    assigned(found, task(1))
    found.release((1,))
    assert list(assigned(found, task(2))) == [2]


def test_a_record_that_contains_the_placement_is_not_charged_twice():
    found = planner(host(free=Capacity(2000, 2048, 2)))
    assigned(found, task(1))
    found.set_assumed(1, assumed=False)
    found.update_hosts([host(free=ONE)])
    assert list(assigned(found, task(2))) == [2]


def test_a_reverted_block_makes_the_placement_assumed_again():
    found = planner(host(free=Capacity(2000, 2048, 2)))
    assigned(found, task(1))
    found.set_assumed(1, assumed=False)
    found.update_hosts([host(free=ONE)])
    found.set_assumed(1, assumed=True)
    found.update_hosts([host(free=Capacity(2000, 2048, 2))])
    assert list(assigned(found, task(2), task(3))) == [2]


def test_a_record_with_less_free_than_assumed_allocates_nothing_twice():
    found = planner(host(free=ONE))
    assigned(found, task(1))
    found.update_hosts([host(free=Capacity(500, 1024, 1))])
    assert list(assigned(found, task(2, resources=pod(cpu_milli=500)))) == [2]


def test_a_heartbeat_changes_no_scores_and_a_new_price_does():
    found = planner(host("a"), host("b"))
    assigned(found, task(1))
    dear = ask(gpu_per_hour=GTY, cpu_core_per_hour=GTY * 1000)
    found.update_hosts([host("a", ask=dear, last_heartbeat=9), host("b", last_heartbeat=9)])
    assert {p[0].host for p in assigned(found, task(2), task(3)).values()} == {"b"}


def test_only_online_hosts_are_used():
    found = planner(host("a"), host("b", status=HostStatus.OFFLINE))
    found.remove_hosts(["a", "unheard-of"])
    made = found.plan(InOrder([task(1)]))
    assert not made.placements
    (blocked,) = made.unschedulable
    assert count_excluded(blocked.request, found.hosts) == {Misfit.NOT_ONLINE: 1}
    found.update_hosts([host("b")])
    assert assigned(found, task(1))[1][0].host == "b"
    found.update_hosts([host("a")])
    assert {p[0].host for p in assigned(found, *(task(n) for n in range(2, 9))).values()} == {"a", "b"}


def test_only_healthy_and_accepted_devices_are_chosen():
    devices = (gpu(model=b"T4"), gpu(healthy=False), gpu(milli_free=400, shared_by="t"), gpu())
    found = planner(host(devices=devices))
    made = assigned(found, task(1, resources=pod(gpus=wants(models=(b"A100",)))))
    assert made[1] == (PodPlacement(0, "h1", bytes([3]), 1111 * GTY // 1000),)
    shared = task(2, resources=pod(gpus=wants(milli=400, models=(b"A100",))))
    assert assigned(found, shared)[2] == (PodPlacement(0, "h1", bytes([2]), 511 * GTY // 1000),)


def test_the_next_host_is_used_if_the_chosen_devices_are_too_expensive():
    # Columns look at the cheapest device of a host; only the exact rule sees that the accepted one costs more.
    mixed = host("mixed", devices=(gpu(model=b"T4"), gpu()), ask=ask(gpu_per_hour=90 * GTY, gpu=(GpuPrice(b"T4", 0),)))
    plain = host("plain", devices=(gpu(), gpu(), gpu()))
    found = planner(mixed, plain)
    made = assigned(found, task(1, max_rate_per_hour=2 * GTY, resources=pod(gpus=wants(models=(b"A100",)))))
    assert made[1][0].host == "plain"


def test_hosts_may_be_added_one_by_one():
    found = planner()
    for number in range(40):
        found.update_hosts([host(f"h{number}", free=ONE)])
        assert assigned(found, task(number))[number][0].host == f"h{number}"


def test_requests_for_different_regions_are_different():
    found = planner(host("eu"), host("us", region=b"us"))
    us, asia = (placement(regions=(region,)) for region in (b"us", b"asia"))
    made = assigned(found, task(1), task(2, placement=us), task(3, placement=asia))
    assert made[2][0].host == "us"
    assert 3 not in made
