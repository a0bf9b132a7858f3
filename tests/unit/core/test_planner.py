"""One planner that follows the chain: what it holds, and when it lets go."""

from __future__ import annotations

from core_builders import GTY, gpu, host, pod, task, wants

from offchain.core.fit import Misfit
from offchain.core.planning.once import InTurn
from offchain.core.planning.planner import Planner
from offchain.core.values import Capacity, HostStatus, PodPlacement
from offchain.schema.chain_types._generated_chain import GpuPrice
from tests.support.chain_records import ask, placement

SEED = b"seed"
ONE = Capacity(1000, 1024, 1)


def planner(*hosts):
    found = Planner(SEED)
    found.put_hosts(hosts)
    return found


def assigned(found, *tasks):
    return dict(found.plan(InTurn(tasks)).placements)


def test_what_was_placed_stays_taken_in_later_rounds():
    found = planner(host(free=ONE))
    assert list(assigned(found, task(1))) == [1]
    assert not assigned(found, task(2))
    assert found.held == {1}


def test_a_heartbeat_leaves_what_was_placed_taken():
    found = planner(host(free=ONE))
    assert list(assigned(found, task(1))) == [1]
    found.put_hosts([host(free=ONE, last_heartbeat=99)])
    assert not assigned(found, task(2), task(3, resources=pod(cpu_milli=500)))


def test_a_refused_placement_gives_its_room_back():
    found = planner(host(free=ONE))
    assigned(found, task(1))
    found.release(1)
    assert list(assigned(found, task(2))) == [2]


def test_a_record_that_has_the_placement_already_is_not_charged_twice():
    found = planner(host(free=Capacity(2000, 2048, 2)))
    assigned(found, task(1))
    found.follow(1, ahead=False)
    found.put_hosts([host(free=ONE)])
    assert list(assigned(found, task(2))) == [2]


def test_a_block_that_goes_again_puts_the_placement_ahead_again():
    found = planner(host(free=Capacity(2000, 2048, 2)))
    assigned(found, task(1))
    found.follow(1, ahead=False)
    found.put_hosts([host(free=ONE)])
    found.follow(1, ahead=True)
    found.put_hosts([host(free=Capacity(2000, 2048, 2))])
    assert list(assigned(found, task(2), task(3))) == [2]


def test_a_record_with_less_room_than_what_is_held_takes_nothing_twice():
    found = planner(host(free=ONE))
    assigned(found, task(1))
    found.put_hosts([host(free=Capacity(500, 1024, 1))])
    assert list(assigned(found, task(2, resources=pod(cpu_milli=500)))) == [2]


def test_a_heartbeat_changes_no_scores_and_a_new_price_does():
    found = planner(host("a"), host("b"))
    assigned(found, task(1))
    dear = ask(gpu_per_hour=GTY, cpu_core_per_hour=GTY * 1000)
    found.put_hosts([host("a", ask=dear, last_heartbeat=9), host("b", last_heartbeat=9)])
    assert {p[0].host for p in assigned(found, task(2), task(3)).values()} == {"b"}


def test_a_host_that_is_no_more_or_offline_gets_nothing_and_one_that_comes_back_does():
    found = planner(host("a"), host("b", status=HostStatus.OFFLINE))
    found.hosts_gone(["a", "unheard-of"])
    made = found.plan(InTurn([task(1)]))
    assert not made.placements
    (blocked,) = made.blocked
    assert found.excluded(blocked.want) == {Misfit.NOT_ONLINE: 1}
    found.put_hosts([host("b")])
    assert assigned(found, task(1))[1][0].host == "b"
    found.put_hosts([host("a")])
    assert {p[0].host for p in assigned(found, *(task(n) for n in range(2, 9))).values()} == {"a", "b"}


def test_devices_are_chosen_that_the_task_accepts_and_that_are_in_order():
    devices = (gpu(model=b"T4"), gpu(healthy=False), gpu(milli_free=400, shared_by="t"), gpu())
    found = planner(host(devices=devices))
    made = assigned(found, task(1, resources=pod(gpus=wants(models=(b"A100",)))))
    assert made[1] == (PodPlacement(0, "h1", bytes([3]), 1111 * GTY // 1000),)
    shared = task(2, resources=pod(gpus=wants(milli=400, models=(b"A100",))))
    assert assigned(found, shared)[2] == (PodPlacement(0, "h1", bytes([2]), 511 * GTY // 1000),)


def test_where_the_chosen_devices_are_too_dear_the_next_host_is_asked():
    # Columns look at the cheapest device of a host; only the exact rule sees that the accepted one costs more.
    mixed = host("mixed", devices=(gpu(model=b"T4"), gpu()), ask=ask(gpu_per_hour=90 * GTY, gpu=(GpuPrice(b"T4", 0),)))
    plain = host("plain", devices=(gpu(), gpu(), gpu()))
    found = planner(mixed, plain)
    made = assigned(found, task(1, max_rate_per_hour=2 * GTY, resources=pod(gpus=wants(models=(b"A100",)))))
    assert made[1][0].host == "plain"


def test_many_hosts_may_come_one_after_the_other():
    found = planner()
    for number in range(40):
        found.put_hosts([host(f"h{number}", free=ONE)])
        assert assigned(found, task(number))[number][0].host == f"h{number}"


def test_tasks_that_ask_for_another_region_are_told_apart():
    found = planner(host("eu"), host("us", region=b"us"))
    us, asia = (placement(regions=(region,)) for region in (b"us", b"asia"))
    made = assigned(found, task(1), task(2, placement=us), task(3, placement=asia))
    assert made[2][0].host == "us"
    assert 3 not in made
