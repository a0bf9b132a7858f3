"""A reservation does not hold against those who are above its holder, and holds against all others."""

from __future__ import annotations

import pytest

from offchain.core.placing.board import Place
from offchain.core.planning.desk import Desk
from offchain.core.planning.yielding import Ranks, Yielding
from offchain.core.scheduler.preemption import ReservedHosts
from offchain.core.scheduler.queue_definitions import QueueDefinition, queue_tree
from offchain.core.scheduler.reservations import Reservation
from tests.support.desk_world import MINUTE, World, gpu_host, job
from tests.support.reservation_samples import GPU

HOUR = 60 * MINUTE


def busy(*hosts, **held):
    """A lease for an hour on one GPU of h1, and behind it a reservation for a pod of two GPUs."""
    made = World(Desk(b"seed"))
    made.put_hosts(hosts or [gpu_host("h1", 2)])
    made.submit(job(1, minutes=60, models=(b"A100",)))
    made.round(0)
    made.submit(job(2, 2, minutes=30, models=(b"A100",), **held))
    made.round(MINUTE)
    assert made.promised[2] == HOUR
    return made


@pytest.mark.parametrize(
    ("held", "urgent", "starts"),
    [
        ({}, {"priority": 200}, True),
        ({}, {"priority": 0}, False),
        ({"priority": 200}, {"priority": 200}, False),
        ({}, {"priority": 200, "tenant": "other"}, False),
        ({"spot": True}, {"priority": 200, "tenant": "other"}, True),
        ({"spot": True}, {"priority": 0, "tenant": "other"}, False),
    ],
)
def test_who_is_above_the_holder_starts_in_its_room(held: dict, urgent: dict, starts: bool):  # noqa: FBT001
    made = busy(**held)
    made.submit(job(3, minutes=300, **urgent))
    assert made.round(2 * MINUTE) == ([3] if starts else [])
    assert made.round(3 * MINUTE) == []
    assert made.desk.reserved[2].start_ms == (302 * MINUTE if starts else HOUR)


def test_who_has_waited_for_long_is_passed_no_more():
    now = 10 * HOUR
    ranks = Ranks(queue_tree())
    urgent = job(2, priority=90, submitted_at=now)
    assert ranks.gives_way(job(1, submitted_at=now - 8 * HOUR), urgent, now)
    assert not ranks.gives_way(job(1, submitted_at=now - 9 * HOUR), urgent, now)


def test_in_a_queue_of_several_accounts_the_priority_decides():
    ranks = Ranks(queue_tree([QueueDefinition("research")]))
    holder = job(1, queue=b"research", tenant="a")
    assert ranks.gives_way(holder, job(2, queue=b"research", tenant="b", priority=9), 0)
    assert not ranks.gives_way(holder, job(2, tenant="a", priority=9), 0)


def test_a_reservation_of_one_that_is_above_goes_before():
    made = busy()
    made.submit(job(3, 2, minutes=20, priority=200))
    made.round(2 * MINUTE)
    assert made.desk.reserved[3].start_ms == HOUR
    assert made.desk.reserved[2].start_ms > HOUR
    assert made.round(HOUR) == [3]
    assert made.round(HOUR + 20 * MINUTE) == [2]


def test_it_goes_behind_where_it_would_not_start_sooner_before():
    made = busy(gpu_host("h1", 2), gpu_host("h2", 1, model=b"H100"))
    made.submit(job(3, models=(b"H100",), minutes=60))
    made.round(MINUTE)
    made.submit(job(4, models=(b"H100",), minutes=20, priority=200))
    made.round(2 * MINUTE)
    assert made.desk.reserved[2].start_ms == HOUR
    assert 4 in made.desk.reserved


def test_what_others_leave_for_a_task_is_open_to_it_and_nothing_else_is():
    for hosts, starts in ((("h1",), [3]), (("elsewhere",), [])):
        made = busy()
        made.desk.apart({3: ReservedHosts(frozenset(hosts), HOUR)})
        made.submit(job(3, minutes=300, priority=200, tenant="other"))
        assert made.round(2 * MINUTE) == starts


def test_nobody_leaves_where_something_is_reserved_for_one_who_is_not_below():
    made = busy(priority=100)
    tenant = {"tenant": "other"}
    assert list(made.desk.reserved_against(job(3, priority=100, **tenant), 2 * MINUTE)) == [2]
    assert not made.desk.reserved_against(job(3, priority=200, **tenant), 2 * MINUTE)


def test_its_own_reservation_does_not_keep_a_task_out_of_room_that_gives_way():
    low, high = job(1), job(2, priority=200)
    kept = {task.id: Reservation(task.id, GPU, HOUR, MINUTE, (Place(task.id, 1),)) for task in (low, high)}
    yielding = Yielding(Ranks(queue_tree()), {1: low, 2: high}, kept, {}, 0)
    assert [claim.host for claim in yielding.claims(high, yielding.to(high))] == [1, 2]
    assert [claim.host for claim in yielding.claims(job(3, priority=200), yielding.to(job(3, priority=200)))] == [1]
    assert not yielding.to(low)
