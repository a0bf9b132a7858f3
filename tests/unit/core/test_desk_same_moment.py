"""More rounds in one moment of chain time: only those are looked at again that may fit by now."""

from __future__ import annotations

from offchain.core.planning.desk import Desk
from offchain.core.scheduler.availability_kernels import FOREVER
from tests.support.desk_world import gpu_host, job

NOW = 1000


def full():
    """Two hosts of two GPUs, all of them taken by tasks of one; 5 and 7 wait for two, 6 for one and not for long."""
    desk = Desk(b"seed")
    desk.put_hosts([gpu_host("h1", 2), gpu_host("h2", 2)])
    for number in (1, 2, 3, 4):
        desk.put_task(job(number, minutes=60))
    assert sorted(placed(desk)) == [1, 2, 3, 4]
    for one in (job(5, 2), job(6, minutes=20), job(7, 2, minutes=20)):
        desk.put_task(one)
    assert placed(desk) == []
    return desk


def placed(desk, now=NOW):
    return list(desk.round(now).placements)


def test_those_that_are_not_looked_at_again_are_told_as_before():
    desk = full()
    before = {one.task for one in desk.round(NOW).blocked}
    assert before == {5, 6, 7}
    assert {one.task for one in desk.round(NOW).blocked} == before


def test_a_place_that_has_come_free_is_taken_by_one_that_fits():
    desk = full()
    desk.task_gone(1)
    assert placed(desk) == [6]
    assert {one.task for one in desk.round(NOW).blocked} == {5, 7}
    assert placed(desk) == []


def test_a_task_that_comes_is_looked_at_and_one_that_is_gone_is_told_no_more():
    desk = full()
    desk.task_gone(6)
    desk.task_gone(2)
    desk.put_task(job(8, minutes=20))
    assert placed(desk) == [8]
    assert {one.task for one in desk.round(NOW).blocked} == {5, 7}


def test_another_of_the_group_is_looked_at_where_the_one_that_was_blocked_is_gone():
    desk = full()
    desk.put_task(job(8, minutes=20))
    assert placed(desk) == []
    desk.task_gone(6)
    assert {one.task for one in desk.round(NOW).blocked} == {5, 7, 8}


def test_another_of_the_group_is_told_of_although_the_room_was_taken_by_others():
    desk = Desk(b"seed")
    desk.put_hosts([gpu_host("h1", 1)])
    # Nothing is reserved where nothing ends by a known time: so what follows is no whole round.
    endless = {"max_duration_ms": FOREVER}
    for one in (job(1, priority=200, **endless), job(5, models=(b"A100",), priority=100, **endless)):
        desk.put_task(one)
    for number in (6, 7):
        desk.put_task(job(number, **endless))
    assert placed(desk) == [1]
    assert desk.tried_for(7) == 6
    desk.task_gone(1)
    desk.task_gone(6)
    made = desk.round(NOW)
    assert list(made.placements) == [5]
    assert {one.task for one in made.blocked} == {7} == {desk.tried_for(7)}


def test_what_was_kept_for_a_task_that_asks_for_less_is_for_all_at_once():
    desk = Desk(b"seed")
    desk.put_hosts([gpu_host("h1", 1), gpu_host("h2", 1)])
    desk.put_task(job(1, pods=2, minutes=1))
    desk.put_task(job(2, minutes=1))
    assert placed(desk) == [1]
    desk.release(1)
    assert placed(desk) == [2]
    assert placed(desk) == []
    desk.put_task(job(1, minutes=10))
    assert placed(desk) == [1]


def test_hosts_that_come_are_for_all_who_wait():
    desk = full()
    assert placed(desk) == []
    desk.put_hosts([gpu_host("h3", 8)])
    assert sorted(placed(desk)) == [5, 6, 7]


def test_all_are_looked_at_again_in_the_next_moment():
    desk = full()
    assert placed(desk) == []
    assert desk.next_ms(NOW) == NOW + 1
    assert placed(desk, NOW + 1) == []
    assert desk.next_ms(NOW + 1) > NOW + 2
