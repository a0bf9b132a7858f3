"""What is noted of a round: for tasks that were placed and for those that wait."""

from __future__ import annotations

import pytest
from core_builders import GTY, gpu, host, pod, task, wants

from offchain.core.fit import Misfit
from offchain.core.planning import explained
from offchain.core.planning.desk import Desk
from offchain.core.planning.shifts import SHIFT_MS
from offchain.core.scheduler.queue_definitions import QueueDefinition, ResourceLimit, queue_tree
from offchain.core.values import Capacity, HostStatus
from offchain.schema.protocol.decisions import SchedulingStatus
from tests.support.chain_records import ask

ONE = Capacity(1000, 1024, 1)


def desk(*records, queues=None, account=""):
    found = Desk(b"seed", queues, account=account)
    for record in records:
        if hasattr(record, "devices"):
            found.put_hosts([record])
        else:
            found.put_task(record)
    return found


def noted(found: Desk, now: int = 10):
    return {one.task: one for one in found.notes.placed(found.round(now))}


def waits(found: Desk, now: int = 10):
    return {one.task: found.notes.waits(found.task(one.task), one) for one in found.round(now).blocked}


class Closes:
    """A gate that keeps some hosts closed."""

    def __init__(self, *rows: int) -> None:
        self._rows = rows

    def closed(self, _task, _want, devices):
        mask = devices < -1
        mask[list(self._rows)] = True
        return mask

    def taken(self, *_of) -> None:
        pass

    given = taken


def test_a_placed_task_is_told_its_candidates_and_what_their_points_are_made_of():
    dear = ask(gpu_per_hour=50 * GTY, cpu_core_per_hour=GTY, memory_gib_per_hour=GTY, disk_gib_per_hour=GTY)
    hosts = [
        host("cheap", devices=(gpu(), gpu())),
        host("dear", devices=(gpu(),), ask=dear),
        host("gone", devices=(gpu(),), status=HostStatus.OFFLINE),
        host("none"),
    ]
    found = noted(desk(*hosts, task(1, resources=pod(gpus=wants())), task(2)))[1]
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


def test_of_tasks_that_ask_for_the_same_one_is_explained_and_the_others_name_it():
    found = noted(desk(host(), task(1), task(2), task(3, resources=pod(cpu_milli=500))))
    assert found[1].seen is not None
    assert found[2].seen is None
    assert found[2].like == 1
    assert found[3].seen is not None


def test_the_second_task_sees_what_the_first_left():
    found = noted(desk(host(free=ONE), host("h2", free=ONE), task(1), task(2, resources=pod(cpu_milli=999))))
    first, second = found[1].seen, found[2].seen
    assert first is not None
    assert second is not None
    assert (first.fitting, second.fitting) == (2, 1)
    assert second.excluded == {Misfit.NOT_ENOUGH_CPU: 1}


def test_no_more_than_so_many_are_explained_in_full(monkeypatch):
    monkeypatch.setattr(explained, "MOST_FULL", 2)
    monkeypatch.setattr(explained, "MOST_SHORT", 4)
    tasks = [task(number, resources=pod(cpu_milli=number)) for number in range(1, 9)]
    found = noted(desk(host(), *tasks))
    assert [number for number, one in found.items() if one.seen is not None] == [1, 2]
    assert list(found) == [1, 2, 3, 4]
    assert found[4].placed == 8


def test_tasks_that_fit_nowhere_do_not_use_up_what_is_explained(monkeypatch):
    monkeypatch.setattr(explained, "MOST_FULL", 1)
    found = noted(desk(host(), task(1, resources=pod(cpu_milli=9000)), task(2)))
    assert found[2].seen is not None


def test_a_task_that_waits_is_told_which_rule_excludes_how_many_hosts():
    found = waits(desk(host(free=ONE), host("h2", status=HostStatus.DRAINING), task(1, resources=pod(cpu_milli=2000))))
    assert found[1].excluded == {Misfit.NOT_ONLINE: 1, Misfit.NOT_ENOUGH_CPU: 1}
    assert found[1].hosts == 2
    assert str(found[1]) == "of 2 hosts: 1 not online, 1 too little free cpu"


def test_hosts_that_are_kept_for_others_are_counted_and_shown():
    found = desk(host(), host("h2"), task(1), task(2, open_pods=(0, 1), pods_min=2))
    gates = [Closes(0)]
    made = found.round(10, gates)
    seen = found.notes.placed(made)[0].seen
    assert seen is not None
    assert (seen.fitting, seen.closed) == (2, 1)
    assert [(one.host, one.closed) for one in seen.best] == [("h2", False), ("h1", True)]
    assert made.placements[1][0].host == "h2"


def test_a_task_that_only_hosts_kept_for_others_could_take_waits_for_them():
    found = desk(host(), host("h2", free=Capacity(0, 0, 0)), task(1))
    gates = [Closes(0)]
    (blocked,) = found.round(10, gates).blocked
    why = found.notes.waits(found.task(1), blocked)
    assert why.closed == 1
    assert str(why) == "of 2 hosts: 1 too little free cpu, 1 kept for others"


def test_how_a_task_stands_is_told_at_any_moment():
    found = desk(host(free=ONE), task(1), task(2), task(3, resources=pod(cpu_milli=9000)))
    assert found.standing(9, 10) == SchedulingStatus("unknown")
    assert found.standing(1, 10) == SchedulingStatus("waits")
    found.round(10)
    assert found.standing(1, 10) == SchedulingStatus("placed")
    start_ms = found.reserved[2].start_ms
    assert start_ms > 10
    assert found.standing(2, 10) == SchedulingStatus("waits", starts_by_ms=start_ms)
    found.release(1)
    found.wait(1, 50)
    assert found.standing(1, 11) == SchedulingStatus("waits", not_before_ms=50)


def test_a_task_is_told_the_limit_that_keeps_it():
    queues = queue_tree([QueueDefinition("default", account_limit=ResourceLimit(fraction=0.5))])
    found = desk(host(free=Capacity(2000, 2048, 2), total=Capacity(2000, 2048, 2)), task(1), task(2), queues=queues)
    found.round(10)
    limit = found.standing(2, 10).limit
    assert limit == "account t holds 1 of at most 1 core of queue default; the task asks for 1"


def test_a_task_that_falls_to_another_scheduler_is_said_to():
    room = Capacity(4000, 65_536, 100)
    tasks = (task(number, resources=pod(cpu_milli=number)) for number in range(1, 30))
    found = desk(host(free=room, total=room), *tasks, account="a")
    found.schedulers(["b", "c"])
    now = 3 * SHIFT_MS + 5_000
    placed = noted(found, now)
    assert 0 < len(placed) < 29
    assert {number for number in found.waiting if not found.standing(number, now).others_turn} == set()


def test_of_tasks_that_ask_for_the_same_the_one_that_was_tried_is_known():
    found = desk(host(free=ONE), *(task(number, resources=pod(cpu_milli=9000)) for number in (4, 5, 6)), task(7))
    (blocked,) = found.round(10).blocked
    assert [found.tried_for(number) for number in (4, 5, 6)] == [blocked.task] * 3
    assert found.tried_for(7) is None
    found.put_hosts([host(free=Capacity(10_000, 8192, 10), total=Capacity(10_000, 8192, 10))])
    found.round(11)
    assert [number for number in (4, 5, 6) if found.tried_for(number) is None] == [4]


def test_hosts_of_other_schedulers_are_counted_as_kept_for_others():
    hosts = [host(f"h{number}") for number in range(40)]
    found = desk(*hosts, *(task(number, resources=pod(cpu_milli=number)) for number in range(1, 30)), account="a")
    found.schedulers(["b", "c"])
    for one in noted(found, 3 * SHIFT_MS + 5_000).values():
        if one.seen is not None:
            assert one.seen.fitting == 40
            assert 0 < one.seen.closed < 40
            break
    else:
        pytest.fail("none was explained")
