from __future__ import annotations

from offchain.core.feasibility import Misfit
from offchain.core.values import Capacity, HostStatus, Layout, LeaseState, RetainedData, TaskKind, TaskState
from tests.support.core_builders import GTY, host, lease, pod, snapshot, task
from tests.support.plan_once import plan

SMALL = Capacity(1000, 1024, 1)
SEED = b"seed"


def test_priority_comes_before_age_and_age_before_number():
    queue = (
        task(1, submitted_at=5),
        task(2, submitted_at=5, priority=1),
        task(3, submitted_at=4),
    )
    made = plan(snapshot(host(), *queue), 10, SEED)
    assert list(made.placements) == [2, 3, 1]


def test_capacity_is_allocated_within_a_plan():
    made = plan(snapshot(host(free=SMALL), task(1), task(2)), 10, SEED)
    assert list(made.placements) == [1]
    (waiting,) = made.waiting
    assert waiting.task == 2
    assert waiting.excluded == {Misfit.NOT_ENOUGH_CPU: 1}


def test_a_gang_is_placed_completely():
    made = plan(snapshot(host("a", free=SMALL), host("b", free=SMALL), task(1, pods_min=2)), 10, SEED)
    assert [p.pod for p in made.placements[1]] == [0, 1]
    assert {p.host for p in made.placements[1]} == {"a", "b"}


def test_a_spread_gang_waits_if_only_one_host_is_feasible():
    made = plan(snapshot(host(), task(1, pods_min=2, layout=Layout.HOSTS)), 10, SEED)
    assert not made.placements


def test_the_first_of_two_equal_gangs_is_placed():
    queue = (task(1, pods_min=2, priority=1), task(2, pods_min=2))
    made = plan(snapshot(host(free=Capacity(3000, 8192, 100)), *queue), 10, SEED)
    assert list(made.placements) == [1]


def test_a_gang_that_does_not_fit_leaves_its_resources_to_the_next_task():
    made = plan(snapshot(host(free=SMALL), task(1, pods_min=2), task(2)), 10, SEED)
    assert list(made.placements) == [2]
    assert made.waiting[0].task == 1
    assert (made.waiting[0].pods_fitting, made.waiting[0].pods_needed) == (1, 2)


def test_the_wait_reason_counts_hosts_by_the_rule_that_excludes_them():
    hosts = (
        host("a", status=HostStatus.OFFLINE),
        host("b", status=HostStatus.DRAINING),
        host("c", free=Capacity(1, 1, 1)),
    )
    (waiting,) = plan(snapshot(*hosts, task()), 10, SEED).waiting
    assert waiting.excluded == {Misfit.NOT_ONLINE: 2, Misfit.NOT_ENOUGH_CPU: 1}
    assert str(waiting) == "of 3 hosts: 2 not online, 1 too little free cpu"


def test_the_wait_reason_names_missing_hosts_and_passed_deadlines():
    assert str(plan(snapshot(task()), 10, SEED).waiting[0]) == "no host is registered"
    late = plan(snapshot(host(), task(deadline=9)), 10, SEED)
    assert not late.placements
    assert str(late.waiting[0]) == "its deadline has passed"
    assert plan(snapshot(host(), task(deadline=10)), 10, SEED).placements


def test_a_price_limit_below_every_ask_is_named():
    (waiting,) = plan(snapshot(host(), task(max_rate_per_hour=GTY // 1000)), 10, SEED).waiting
    assert waiting.excluded == {Misfit.PRICE: 1}


def test_only_queued_tasks_that_are_not_skipped_are_placed():
    made = plan(snapshot(host(), task(1, state=TaskState.RUNNING), task(2), task(3)), 10, SEED, skip=frozenset({2}))
    assert list(made.placements) == [3]


def test_seeds_choose_between_equal_hosts():
    snap = snapshot(*(host(f"h{i}") for i in range(20)), task())
    chosen = {plan(snap, 10, bytes([seed])).placements[1][0].host for seed in range(20)}
    assert len(chosen) > 1


def test_a_task_without_open_pods_is_ignored():
    made = plan(snapshot(host(), task(1, open_pods=())), 10, SEED)
    assert not made.placements
    assert not made.waiting


def test_a_service_gets_between_its_minimum_and_maximum_of_pods():
    service = task(1, kind=TaskKind.SERVICE, pods_min=2, open_pods=(0, 1, 2, 3))
    three = Capacity(3000, 8192, 100)
    made = plan(snapshot(host(free=three), service), 10, SEED)
    assert [p.pod for p in made.placements[1]] == [0, 1, 2]
    assert not plan(snapshot(host(free=SMALL), service), 10, SEED).placements


def test_missing_pods_of_a_running_service_are_placed_one_by_one():
    held = lease(1, state=LeaseState.ACTIVE)
    service = task(1, held, kind=TaskKind.SERVICE, state=TaskState.RUNNING, pods_min=3, open_pods=(0, 2), deadline=1)
    made = plan(snapshot(host(free=SMALL), service), 10, SEED)
    assert [p.pod for p in made.placements[1]] == [0]


def test_a_rental_goes_to_the_host_of_its_data():
    full = Capacity(4000, 8192, 0)
    rental = task(1, kind=TaskKind.RENTAL, takes_over=RetainedData("b", 1))
    made = plan(snapshot(host("a"), host("b", free=full), host("c"), rental), 10, SEED)
    assert made.placements[1][0].host == "b"
    larger = task(1, kind=TaskKind.RENTAL, takes_over=RetainedData("b", 1), resources=pod(disk_gib=2))
    (waiting,) = plan(snapshot(host("a"), host("b", free=full), larger), 10, SEED).waiting
    assert waiting.excluded == {Misfit.DATA_ELSEWHERE: 1, Misfit.NOT_ENOUGH_DISK: 1}
