"""More rounds in one moment of chain time: only those are looked at again that may fit by now."""

from __future__ import annotations

from offchain.core.scheduler.availability_kernels import FOREVER
from offchain.core.scheduler.state import SchedulerState
from tests.support.scheduler_events import put, release, remove, run_cycle
from tests.support.scheduler_world import gpu_host, job

NOW = 1000


def full():
    """Two hosts of two GPUs, all of them taken by tasks of one; 5 and 7 wait for two, 6 for one and not for long."""
    state = SchedulerState(b"seed")
    put(state, gpu_host("h1", 2), gpu_host("h2", 2))
    for number in (1, 2, 3, 4):
        put(state, job(number, minutes=60))
    assert sorted(placed(state)) == [1, 2, 3, 4]
    for one in (job(5, 2), job(6, minutes=20), job(7, 2, minutes=20)):
        put(state, one)
    assert placed(state) == []
    return state


def placed(state, now=NOW):
    return list(run_cycle(state, now).placements)


def test_tasks_that_are_not_retried_are_reported_unchanged():
    state = full()
    before = {one.task for one in run_cycle(state, NOW).unschedulable}
    assert before == {5, 6, 7}
    assert {one.task for one in run_cycle(state, NOW).unschedulable} == before


def test_a_freed_slot_is_taken_by_a_fitting_task():
    state = full()
    remove(state, 1)
    assert placed(state) == [6]
    assert {one.task for one in run_cycle(state, NOW).unschedulable} == {5, 7}
    assert placed(state) == []


def test_new_tasks_are_planned_and_removed_tasks_are_not_reported():
    state = full()
    remove(state, 6)
    remove(state, 2)
    put(state, job(8, minutes=20))
    assert placed(state) == [8]
    assert {one.task for one in run_cycle(state, NOW).unschedulable} == {5, 7}


def test_another_task_of_the_class_is_tried_if_the_unschedulable_one_is_gone():
    state = full()
    put(state, job(8, minutes=20))
    assert placed(state) == []
    remove(state, 6)
    assert {one.task for one in run_cycle(state, NOW).unschedulable} == {5, 7, 8}


def test_another_task_of_the_class_is_reported_even_if_others_took_the_resources():
    state = SchedulerState(b"seed")
    put(state, gpu_host("h1", 1))
    # Nothing is reserved where nothing ends by a known time: so what follows is no whole round.
    endless = {"max_duration_ms": FOREVER}
    for one in (job(1, priority=200, **endless), job(5, models=(b"A100",), priority=100, **endless)):
        put(state, one)
    for number in (6, 7):
        put(state, job(number, **endless))
    assert placed(state) == [1]
    assert state.last_unschedulable(7) == 6
    remove(state, 1)
    remove(state, 6)
    made = run_cycle(state, NOW)
    assert list(made.placements) == [5]
    assert {one.task for one in made.unschedulable} == {7} == {state.last_unschedulable(7)}


def test_a_reservation_of_a_changed_task_is_open_to_all_at_once():
    state = SchedulerState(b"seed")
    put(state, gpu_host("h1", 1), gpu_host("h2", 1))
    put(state, job(1, pods=2, minutes=1))
    put(state, job(2, minutes=1))
    assert placed(state) == [1]
    release(state, 1)
    assert placed(state) == [2]
    assert placed(state) == []
    put(state, job(1, minutes=10))
    assert placed(state) == [1]


def test_new_hosts_are_open_to_all_waiting_tasks():
    state = full()
    assert placed(state) == []
    put(state, gpu_host("h3", 8))
    assert sorted(placed(state)) == [5, 6, 7]


def test_all_tasks_are_planned_again_in_the_next_moment():
    state = full()
    assert placed(state) == []
    assert state.next_ms(NOW) == NOW + 1
    assert placed(state, NOW + 1) == []
    assert state.next_ms(NOW + 1) > NOW + 2
