"""What is noted of a round: for tasks that were placed and for those that wait."""

from __future__ import annotations

import pytest

from offchain.core.feasibility import Misfit
from offchain.core.scheduler import explain
from offchain.core.scheduler.partition import SLOT_MS
from offchain.core.scheduler.queue_definitions import EQUAL_SHARES, QueueDefinition, ResourceLimit, queue_tree
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import Capacity, HostStatus, Preemption, TaskState
from offchain.schema.protocol.decisions import SchedulingStatus
from tests.support.chain_records import ask
from tests.support.core_builders import GTY, gpu, host, lease, pod, task, wants
from tests.support.scheduler_events import put, refuse, run_cycle, set_schedulers

ONE = Capacity(1000, 1024, 1)


def state(*records, queues=EQUAL_SHARES, account=""):
    found = SchedulerState(b"seed", queues, account=account)
    for record in records:
        if hasattr(record, "devices"):
            put(found, record)
        else:
            put(found, record)
    return found


def noted(found: SchedulerState, now: int = 10):
    return {one.task: one for one in found.decisions.placed_tasks(run_cycle(found, now))}


def waits(found: SchedulerState, now: int = 10):
    return {
        one.task: found.decisions.why_waiting(found.task(one.task), one) for one in run_cycle(found, now).unschedulable
    }


def victim(host: str):
    """A task whose host is reserved for task 99."""
    return task(50, lease(host=host), state=TaskState.RUNNING, preemption=Preemption(99, 1000))


def test_a_placed_task_is_explained_by_its_candidates_and_their_costs():
    dear = ask(gpu_per_hour=50 * GTY, cpu_core_per_hour=GTY, memory_gib_per_hour=GTY, disk_gib_per_hour=GTY)
    hosts = [
        host("cheap", devices=(gpu(), gpu())),
        host("dear", devices=(gpu(),), ask=dear),
        host("gone", devices=(gpu(),), status=HostStatus.OFFLINE),
        host("none"),
    ]
    found = noted(state(*hosts, task(1, resources=pod(gpus=wants())), task(2)))[1]
    seen = found.seen
    assert seen is not None
    assert (seen.hosts, seen.fitting, seen.closed) == (4, 2, 0)
    assert seen.excluded == {Misfit.NOT_ONLINE: 1, Misfit.WRONG_DEVICE_COUNT: 1}
    assert [one.host for one in seen.best] == ["cheap", "dear"]
    assert seen.best[0].host == found.pods[0].host
    assert seen.best[0].devices == tuple(found.pods[0].devices)
    for one in seen.best:
        assert {"worth lost", "fullness", "price", "draw"} <= one.parts.keys()
        assert sum(one.parts.values()) == pytest.approx(one.points)
    assert seen.best[0].parts["price"] < seen.best[1].parts["price"]
    assert (found.turn, found.placed) == (1, 2)


def test_of_equal_requests_one_is_explained_and_the_others_refer_to_it():
    found = noted(state(host(), task(1), task(2), task(3, resources=pod(cpu_milli=500))))
    assert found[1].seen is not None
    assert found[2].seen is None
    assert found[2].like == 1
    assert found[3].seen is not None


def test_the_second_report_shows_what_the_first_task_left():
    found = noted(state(host(free=ONE), host("h2", free=ONE), task(1), task(2, resources=pod(cpu_milli=999))))
    first, second = found[1].seen, found[2].seen
    assert first is not None
    assert second is not None
    assert (first.fitting, second.fitting) == (2, 1)
    assert second.excluded == {Misfit.NOT_ENOUGH_CPU: 1}


def test_the_number_of_full_explanations_is_limited(monkeypatch):
    monkeypatch.setattr(explain, "MAX_FULL", 2)
    monkeypatch.setattr(explain, "MAX_SHORT", 4)
    tasks = [task(number, resources=pod(cpu_milli=number)) for number in range(1, 9)]
    found = noted(state(host(), *tasks))
    assert [number for number, one in found.items() if one.seen is not None] == [1, 2]
    assert list(found) == [1, 2, 3, 4]
    assert found[4].placed == 8


def test_infeasible_tasks_do_not_count_as_explanations(monkeypatch):
    monkeypatch.setattr(explain, "MAX_FULL", 1)
    found = noted(state(host(), task(1, resources=pod(cpu_milli=9000)), task(2)))
    assert found[2].seen is not None


def test_a_wait_reason_counts_hosts_by_rule():
    found = waits(state(host(free=ONE), host("h2", status=HostStatus.DRAINING), task(1, resources=pod(cpu_milli=2000))))
    assert found[1].excluded == {Misfit.NOT_ONLINE: 1, Misfit.NOT_ENOUGH_CPU: 1}
    assert found[1].hosts == 2
    assert str(found[1]) == "of 2 hosts: 1 not online, 1 too little free cpu"


def test_hosts_kept_for_others_are_counted_and_shown():
    found = state(host(), host("h2"), victim("h1"), task(1), task(2, open_pods=(0, 1), pods_min=2))
    made = run_cycle(found, 10)
    seen = found.decisions.placed_tasks(made)[0].seen
    assert seen is not None
    assert (seen.fitting, seen.closed) == (2, 1)
    assert [(one.host, one.closed) for one in seen.best] == [("h2", False), ("h1", True)]
    assert made.placements[1][0].host == "h2"


def test_a_task_that_only_hosts_kept_for_others_could_take_waits_for_them():
    found = state(host(), host("h2", free=Capacity(0, 0, 0)), victim("h1"), task(1))
    (blocked,) = run_cycle(found, 10).unschedulable
    why = found.decisions.why_waiting(found.task(1), blocked)
    assert why.closed == 1
    assert str(why) == "of 2 hosts: 1 too little free cpu, 1 kept for others"


def test_the_standing_of_a_task_is_known_at_any_moment():
    found = state(host(free=ONE), task(1), task(2), task(3, resources=pod(cpu_milli=9000)))
    assert found.standing(9, 10) == SchedulingStatus("unknown")
    assert found.standing(1, 10) == SchedulingStatus("waits")
    run_cycle(found, 10)
    assert found.standing(1, 10) == SchedulingStatus("placed")
    start_ms = found.reserved[2].start_ms
    assert start_ms > 10
    assert found.standing(2, 10) == SchedulingStatus("waits", starts_by_ms=start_ms)
    refuse(found, 1, 10)
    assert found.standing(1, 11) == SchedulingStatus("waits", not_before_ms=4010)


def test_the_standing_names_the_limit_of_a_task():
    queues = queue_tree([QueueDefinition("default", account_limit=ResourceLimit(fraction=0.5))])
    found = state(host(free=Capacity(2000, 2048, 2), total=Capacity(2000, 2048, 2)), task(1), task(2), queues=queues)
    run_cycle(found, 10)
    limit = found.standing(2, 10).limit
    assert limit == "account t holds 1 of at most 1 core of queue default; the task asks for 1"


def test_the_standing_says_that_another_scheduler_has_the_task():
    room = Capacity(4000, 65_536, 100)
    tasks = (task(number, resources=pod(cpu_milli=number)) for number in range(1, 30))
    found = state(host(free=room, total=room), *tasks, account="a")
    set_schedulers(found, ["b", "c"])
    now = 3 * SLOT_MS + 5_000
    placed = noted(found, now)
    assert 0 < len(placed) < 29
    assert {number for number in found.waiting if not found.standing(number, now).others_turn} == set()


def test_the_last_tried_task_of_an_equivalence_class_is_known():
    found = state(host(free=ONE), *(task(number, resources=pod(cpu_milli=9000)) for number in (4, 5, 6)), task(7))
    (blocked,) = run_cycle(found, 10).unschedulable
    assert [found.last_unschedulable(number) for number in (4, 5, 6)] == [blocked.task] * 3
    assert found.last_unschedulable(7) is None
    put(found, host(free=Capacity(10_000, 8192, 10), total=Capacity(10_000, 8192, 10)))
    run_cycle(found, 11)
    assert [number for number in (4, 5, 6) if found.last_unschedulable(number) is None] == [4]


def test_hosts_of_other_schedulers_are_counted_as_kept_for_others():
    hosts = [host(f"h{number}") for number in range(40)]
    found = state(*hosts, *(task(number, resources=pod(cpu_milli=number)) for number in range(1, 30)), account="a")
    set_schedulers(found, ["b", "c"])
    for one in noted(found, 3 * SLOT_MS + 5_000).values():
        if one.seen is not None:
            assert one.seen.fitting == 40
            assert 0 < one.seen.closed < 40
            break
    else:
        pytest.fail("none was explained")
