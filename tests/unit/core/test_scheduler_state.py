"""The scheduler state: who waits, who holds what, and what one round after the other makes of it."""

from __future__ import annotations

from dataclasses import replace

from offchain.core.feasibility import Misfit
from offchain.core.scheduler import demand
from offchain.core.scheduler.demand import DemandDistribution, total_variation
from offchain.core.scheduler.filters import count_excluded
from offchain.core.scheduler.pod_request import PodShape
from offchain.core.scheduler.queue_definitions import EQUAL_SHARES, QueueDefinition, ResourceLimit, queue_tree
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import Capacity, LeaseState, TaskKind, TaskState
from tests.support.core_builders import host, lease, pod, task
from tests.support.scheduler_events import put, refuse, release, remove, run_cycle

SEED = b"seed"
ONE = Capacity(1000, 1024, 1)
TWO = Capacity(2000, 2048, 2)


def state(*records, queues=EQUAL_SHARES):
    found = SchedulerState(SEED, queues)
    for record in records:
        if hasattr(record, "devices"):
            put(found, record)
        else:
            put(found, record)
    return found


def placed(found, now=10):
    return list(run_cycle(found, now).placements)


def test_priority_comes_before_age_within_an_account():
    found = state(host(free=TWO), task(1), task(2, priority=1), task(3, submitted_at=0))
    assert placed(found) == [2, 3]
    assert list(found.waiting) == [1]


def test_accounts_share_equally_regardless_of_submission_time():
    many = [task(number, tenant="a") for number in range(1, 9)]
    found = state(host(free=Capacity(4000, 8192, 100)), *many, task(9, tenant="b"))
    assert 9 in placed(found)


def test_a_placed_task_leaves_the_queue_and_returns_when_refused():
    found = state(host(free=ONE), task(1))
    assert placed(found) == [1]
    assert placed(found) == []
    release(found, 1)
    assert placed(found) == [1]


def test_a_refused_task_is_delayed_and_others_are_placed_first():
    found = state(host(free=ONE), task(1, priority=9), task(2))
    assert placed(found) == [1]
    refuse(found, 1, 10)
    assert found.next_ms(10) == 4010
    assert placed(found, now=4009) == [2]
    release(found, 2)
    assert placed(found, now=4010) == [1]
    assert found.next_ms(4010) == 4010 + 3_960_000, "when it has ended, its place is for the other one"


def test_a_task_that_the_records_show_as_assigned_is_charged_once():
    found = state(
        host(free=TWO, total=TWO),
        task(1),
        task(2),
        queues=queue_tree([QueueDefinition("default", account_limit=ResourceLimit(fraction=0.5))]),
    )
    assert placed(found) == [1]
    held = found.limit(2)
    assert held is not None
    assert str(held) == "account t holds 1 of at most 1 core of queue default; the task asks for 1"
    put(found, task(1, lease(), state=TaskState.ASSIGNED))
    put(found, host(free=ONE, total=TWO))
    assert placed(found) == []
    release(found, 1)
    assert placed(found) == []
    remove(found, 1)
    put(found, host(free=TWO, total=TWO))
    assert placed(found) == [2]


def test_a_reverted_block_leaves_the_placement_assumed():
    found = state(host(free=TWO), task(1))
    assert placed(found) == [1]
    put(found, task(1, lease(), state=TaskState.ASSIGNED))
    put(found, host(free=ONE))
    put(found, task(1))
    put(found, host(free=TWO))
    assert placed(found) == []
    put(found, task(2))
    put(found, task(3))
    assert placed(found) == [2]


def test_a_task_leaves_the_queue_when_its_deadline_passes():
    found = state(task(1, deadline=20))
    assert placed(found, now=20) == []
    put(found, host())
    assert placed(found, now=21) == []
    assert not list(found.waiting)


def test_a_changed_record_replaces_the_waiting_task():
    found = state(host(free=ONE), task(1, kind=TaskKind.SERVICE, pods_min=2, open_pods=(0, 1)))
    (blocked,) = run_cycle(found, 10).unschedulable
    assert (blocked.pods_fitting, blocked.pods_needed) == (1, 2)
    running = task(1, lease(state=LeaseState.ACTIVE), kind=TaskKind.SERVICE, state=TaskState.RUNNING, open_pods=(1,))
    put(found, running)
    assert run_cycle(found, 11).placements[1][0].pod == 1


def test_missing_pods_of_a_service_are_charged_in_addition_to_running_ones():
    service = task(1, lease(state=LeaseState.ACTIVE), kind=TaskKind.SERVICE, state=TaskState.RUNNING, open_pods=(1, 2))
    two_more = Capacity(2000, 8192, 100)
    found = state(host(free=two_more, total=Capacity(4000, 8192, 100)), service, task(2))
    assert len(run_cycle(found, 10).placements[1]) == 2
    remove(found, 1)
    put(found, host())
    assert placed(found) == [2]


def test_the_reason_for_waiting_is_counted_over_hosts():
    found = state(host(free=ONE), task(1, resources=pod(cpu_milli=1500)))
    (blocked,) = run_cycle(found, 10).unschedulable
    assert count_excluded(blocked.request, found.planner.hosts) == {Misfit.NOT_ENOUGH_CPU: 1}


def test_limits_of_a_queue_hold_for_all_its_accounts():
    queues = queue_tree([QueueDefinition("research", limit=ResourceLimit(cpu_milli=1000))])
    wide = host(free=Capacity(4000, 8192, 100))
    tasks = [task(number, tenant=f"t{number}", queue=b"research") for number in (1, 2)]
    found = state(wide, *tasks, task(3, queue=b"nobody's"), queues=queues)
    assert sorted(placed(found)) == [1, 3]
    assert str(found.limit(2)) == "queue research holds 1 of at most 1 core; the task asks for 1"


def test_scores_are_recomputed_only_if_the_demand_or_the_number_of_hosts_changes(monkeypatch):
    monkeypatch.setattr(demand, "MIN_NEW_TASKS", 4)
    found = state(*(host(str(number), free=ONE) for number in range(4)))
    used = []
    monkeypatch.setattr(found.planner, "set_demand", used.append)

    def come(first, resources=None):
        for number in range(first, first + 8):
            put(found, task(number) if resources is None else task(number, resources=resources))
        run_cycle(found, 10)
        return len(used)

    assert come(1) == 1, "nothing was expected before"
    assert come(11) == 1, "more of the same"
    put(found, host("4", free=ONE))
    assert come(21) == 2, "a quarter more hosts"
    assert come(31, replace(task(1).resources, cpu_milli=3000)) == 3, "a quarter of what came is other"


def test_the_demand_estimate_decays_and_is_bounded(monkeypatch):
    monkeypatch.setattr(demand, "MAX_SHAPES", 8)
    found = state(host(free=ONE))
    expected = []
    monkeypatch.setattr(found.planner, "set_demand", lambda estimate: expected.append(len(estimate.counts)))
    for number in range(100):
        put(found, task(number, resources=replace(task(1).resources, cpu_milli=100 + number)))
        run_cycle(found, 10)
    assert 4 <= max(expected) <= 8
    mix = DemandDistribution({PodShape(1, 1): 4.0, PodShape(2, 1): 1.0, PodShape(3, 1): 2.0})
    mix.decay(2)
    assert mix.counts == {PodShape(1, 1): 2.0, PodShape(3, 1): 1.0}


def test_total_variation_is_the_part_that_differs():
    one, two = PodShape(1000, 1024), PodShape(2000, 1024)
    assert total_variation({one: 1.0}, {one: 1.0}) == 0
    assert total_variation({one: 1.0}, {two: 1.0}) == 1
    assert total_variation({one: 0.75, two: 0.25}, {one: 0.5, two: 0.5}) == 0.25
