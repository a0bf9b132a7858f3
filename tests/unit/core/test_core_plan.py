from __future__ import annotations

from core_builders import GTY, host, lease, pod, snapshot, task

from offchain.core.fit import Misfit
from offchain.core.planning.most import MOST_TASKS
from offchain.core.planning.once import plan
from offchain.core.values import Capacity, HostStatus, Layout, LeaseState, RetainedData, TaskKind, TaskState
from tests.support.chain_records import placement

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


def test_capacity_is_taken_inside_a_plan():
    made = plan(snapshot(host(free=SMALL), task(1), task(2)), 10, SEED)
    assert list(made.placements) == [1]
    (waiting,) = made.waiting
    assert waiting.task == 2
    assert waiting.excluded == {Misfit.NOT_ENOUGH_CPU: 1}


def test_a_gang_is_placed_whole():
    made = plan(snapshot(host("a", free=SMALL), host("b", free=SMALL), task(1, pods_min=2)), 10, SEED)
    assert [p.pod for p in made.placements[1]] == [0, 1]
    assert {p.host for p in made.placements[1]} == {"a", "b"}


def test_one_host_more_does_not_let_a_large_gang_in_at_the_cost_of_two():
    queue = (task(1, pods_min=3, priority=1), task(2), task(3))
    two = host("a", free=Capacity(2000, 2048, 2))
    assert list(plan(snapshot(two, *queue), 10, SEED).placements) == [2, 3]
    made = plan(snapshot(two, host("b", free=SMALL), *queue), 10, SEED)
    assert made.fewest
    assert list(made.placements) == [2, 3]
    assert [waiting.task for waiting in made.waiting] == [1]


def test_one_host_more_does_not_let_a_spread_gang_in_at_the_cost_of_two():
    queue = (task(1, pods_min=2, priority=1, layout=Layout.HOSTS), task(2), task(3))
    two = host("a", free=Capacity(2000, 2048, 2))
    assert list(plan(snapshot(two, *queue), 10, SEED).placements) == [2, 3]
    made = plan(snapshot(two, host("b", free=SMALL), *queue), 10, SEED)
    assert made.fewest
    assert len(made.placements) == 2
    assert len(made.waiting) == 1


def test_a_spread_gang_waits_where_its_pods_could_only_lie_beside_each_other():
    made = plan(snapshot(host(), task(1, pods_min=2, layout=Layout.HOSTS)), 10, SEED)
    assert made.fewest
    assert not made.placements


def test_of_plans_that_leave_as_many_tasks_waiting_the_one_with_the_most_pods_is_taken():
    # In turn the first goes to the fuller host, and one of the two pods that can only run there waits.
    first = task(1, priority=1, pods_min=1, open_pods=(0,))
    second = task(2, pods_min=1, open_pods=(0, 1), placement=placement(hosts=("b",)))
    hosts = host("a"), host("b", free=Capacity(2000, 2048, 2))
    made = plan(snapshot(*hosts, first, second), 10, SEED)
    assert made.fewest
    assert {number: len(pods) for number, pods in made.placements.items()} == {1: 1, 2: 2}


def test_more_tasks_go_before_more_pods_where_a_host_more_allows_only_one_of_them():
    rooms = {"x": Capacity(2000, 8192, 100), "y": Capacity(2000, 8192, 100), "z": Capacity(8000, 16_384, 100)}
    hosts = [host(name, free=room, total=room) for name, room in rooms.items()]
    large = task(1, pods_min=5, resources=pod(cpu_milli=2000), placement=placement(hosts=("x", "z")))
    both = {"pods_min": 2, "layout": Layout.HOSTS, "placement": placement(hosts=("x", "y"))}
    queue = large, task(2, **both), task(3, **both)

    def placed(*names: str) -> dict[int, int]:
        made = plan(snapshot(*(one for one in hosts if one.id in names), *queue), 10, SEED)
        assert made.fewest
        return {number: len(pods) for number, pods in made.placements.items()}

    assert placed("x", "y") == {2: 2, 3: 2}
    assert placed("x", "z") == {1: 5}
    assert placed("x", "y", "z") == {2: 2, 3: 2}


def test_who_is_first_in_the_queue_is_placed_where_as_few_wait_then():
    queue = (task(1, pods_min=2, priority=1), task(2, pods_min=2))
    made = plan(snapshot(host(free=Capacity(3000, 8192, 100)), *queue), 10, SEED)
    assert made.fewest
    assert list(made.placements) == [1]


def test_no_second_look_is_taken_at_many_tasks():
    queue = tuple(task(number) for number in range(1, MOST_TASKS + 2))
    made = plan(snapshot(host(free=SMALL), *queue), 10, SEED)
    assert not made.fewest
    assert list(made.placements) == [1]


def test_a_gang_that_does_not_fit_leaves_the_room_to_the_next():
    made = plan(snapshot(host(free=SMALL), task(1, pods_min=2), task(2)), 10, SEED)
    assert list(made.placements) == [2]
    assert made.waiting[0].task == 1
    assert (made.waiting[0].pods_fitting, made.waiting[0].pods_needed) == (1, 2)


def test_waiting_counts_hosts_by_the_rule_that_excludes_them():
    hosts = (
        host("a", status=HostStatus.OFFLINE),
        host("b", status=HostStatus.DRAINING),
        host("c", free=Capacity(1, 1, 1)),
    )
    (waiting,) = plan(snapshot(*hosts, task()), 10, SEED).waiting
    assert waiting.excluded == {Misfit.NOT_ONLINE: 2, Misfit.NOT_ENOUGH_CPU: 1}
    assert str(waiting) == "of 3 hosts: 2 not online, 1 too little free cpu"


def test_waiting_says_when_there_is_no_host_or_no_time():
    assert str(plan(snapshot(task()), 10, SEED).waiting[0]) == "no host is registered"
    late = plan(snapshot(host(), task(deadline=9)), 10, SEED)
    assert not late.placements
    assert str(late.waiting[0]) == "its deadline has passed"
    assert plan(snapshot(host(), task(deadline=10)), 10, SEED).placements


def test_a_limit_below_every_ask_is_named():
    (waiting,) = plan(snapshot(host(), task(max_rate_per_hour=GTY // 1000)), 10, SEED).waiting
    assert waiting.excluded == {Misfit.PRICE: 1}


def test_only_queued_tasks_that_are_not_skipped_are_placed():
    made = plan(snapshot(host(), task(1, state=TaskState.RUNNING), task(2), task(3)), 10, SEED, skip=frozenset({2}))
    assert list(made.placements) == [3]


def test_seeds_try_hosts_in_different_orders():
    snap = snapshot(*(host(f"h{i}") for i in range(20)), task())
    chosen = {plan(snap, 10, bytes([seed])).placements[1][0].host for seed in range(20)}
    assert len(chosen) > 1


def test_a_task_that_no_agent_can_run_is_left_to_its_tenant():
    made = plan(snapshot(host(), task(1, open_pods=())), 10, SEED)
    assert not made.placements
    assert not made.waiting


def test_a_service_gets_as_many_pods_as_fit_and_its_least_at_least():
    service = task(1, kind=TaskKind.SERVICE, pods_min=2, open_pods=(0, 1, 2, 3))
    three = Capacity(3000, 8192, 100)
    made = plan(snapshot(host(free=three), service), 10, SEED)
    assert [p.pod for p in made.placements[1]] == [0, 1, 2]
    assert not plan(snapshot(host(free=SMALL), service), 10, SEED).placements


def test_the_pods_that_a_running_service_misses_are_placed_one_by_one():
    held = lease(1, state=LeaseState.ACTIVE)
    service = task(1, held, kind=TaskKind.SERVICE, state=TaskState.RUNNING, pods_min=3, open_pods=(0, 2), deadline=1)
    made = plan(snapshot(host(free=SMALL), service), 10, SEED)
    assert [p.pod for p in made.placements[1]] == [0]


def test_a_rental_goes_where_the_data_lies_that_it_takes_over():
    full = Capacity(4000, 8192, 0)
    rental = task(1, kind=TaskKind.RENTAL, takes_over=RetainedData("b", 1))
    made = plan(snapshot(host("a"), host("b", free=full), host("c"), rental), 10, SEED)
    assert made.placements[1][0].host == "b"
    larger = task(1, kind=TaskKind.RENTAL, takes_over=RetainedData("b", 1), resources=pod(disk_gib=2))
    (waiting,) = plan(snapshot(host("a"), host("b", free=full), larger), 10, SEED).waiting
    assert waiting.excluded == {Misfit.DATA_ELSEWHERE: 1, Misfit.NOT_ENOUGH_DISK: 1}
