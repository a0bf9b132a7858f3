"""A reservation does not hold against those who are above its holder, and holds against all others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from offchain.core.scheduler.backfill import ReservationPriority, YieldingReservations
from offchain.core.scheduler.cluster import HostSlot
from offchain.core.scheduler.queue_definitions import QueueDefinition, queue_tree
from offchain.core.scheduler.reservations import Reservation
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import Lease, LeaseState, Preemption, TaskState
from tests.support.chain_records import escrow
from tests.support.reservation_samples import GPU
from tests.support.scheduler_events import put
from tests.support.scheduler_world import MINUTE, World, gpu_host, job

HOUR = 60 * MINUTE


def busy(*hosts, **held):
    """A lease for an hour on one GPU of h1, and behind it a reservation for a pod of two GPUs."""
    made = World(SchedulerState(b"seed"))
    made.put_hosts(hosts or [gpu_host("h1", 2)])
    made.submit(job(1, minutes=60, models=(b"A100",)))
    made.round(0)
    made.submit(job(2, 2, minutes=30, models=(b"A100",), **held))
    made.round(MINUTE)
    assert made.promised[2] == HOUR
    return made


def binding_on(made, task):
    return made.state._reservations.binding_on(task, made.state._registry.tasks, 2 * MINUTE)


def on_host(name):
    return Lease(
        id=900,
        host=name,
        devices=(),
        state=LeaseState.ACTIVE,
        created_at=0,
        escrow=escrow(rate_per_hour=0),
        reclaim_at=None,
    )


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
def test_a_task_of_higher_priority_starts_in_reserved_resources(held: dict, urgent: dict, starts: bool):  # noqa: FBT001
    made = busy(**held)
    made.submit(job(3, minutes=300, **urgent))
    assert made.round(2 * MINUTE) == ([3] if starts else [])
    assert made.round(3 * MINUTE) == []
    assert made.state.reserved[2].start_ms == (302 * MINUTE if starts else HOUR)


def test_a_task_that_waits_for_long_is_not_passed():
    now = 10 * HOUR
    ranks = ReservationPriority(queue_tree())
    urgent = job(2, priority=90, submitted_at=now)
    assert ranks.yields_to(job(1, submitted_at=now - 8 * HOUR), urgent, now)
    assert not ranks.yields_to(job(1, submitted_at=now - 9 * HOUR), urgent, now)


def test_in_a_queue_of_several_accounts_the_priority_decides():
    ranks = ReservationPriority(queue_tree([QueueDefinition("research")]))
    holder = job(1, queue=b"research", tenant="a")
    assert ranks.yields_to(holder, job(2, queue=b"research", tenant="b", priority=9), 0)
    assert not ranks.yields_to(holder, job(2, tenant="a", priority=9), 0)


def test_the_reservation_of_a_higher_priority_goes_first():
    made = busy()
    made.submit(job(3, 2, minutes=20, priority=200))
    made.round(2 * MINUTE)
    assert made.state.reserved[3].start_ms == HOUR
    assert made.state.reserved[2].start_ms > HOUR
    assert made.round(HOUR) == [3]
    assert made.round(HOUR + 20 * MINUTE) == [2]


def test_a_reservation_yields_only_if_the_other_starts_sooner():
    made = busy(gpu_host("h1", 2), gpu_host("h2", 1, model=b"H100"))
    made.submit(job(3, models=(b"H100",), minutes=60))
    made.round(MINUTE)
    made.submit(job(4, models=(b"H100",), minutes=20, priority=200))
    made.round(2 * MINUTE)
    assert made.state.reserved[2].start_ms == HOUR
    assert 4 in made.state.reserved


def test_a_preempting_task_may_use_only_the_hosts_of_its_victims():
    for hosts, starts in ((("h1",), [3]), (("elsewhere",), [])):
        made = busy()
        preempted = job(9, state=TaskState.RUNNING, open_pods=(), leases=tuple(map(on_host, hosts)))
        put(made.state, replace(preempted, preemption=Preemption(3, HOUR)))
        made.submit(job(3, minutes=300, priority=200, tenant="other", notice_ends_at=HOUR))
        assert made.round(2 * MINUTE) == starts


def test_nothing_is_preempted_against_a_binding_reservation():
    made = busy(priority=100)
    tenant = {"tenant": "other"}
    assert list(binding_on(made, job(3, priority=100, **tenant))) == [2]
    assert not binding_on(made, job(3, priority=200, **tenant))


def test_a_tasks_own_reservation_does_not_block_yielding_resources():
    low, high = job(1), job(2, priority=200)
    kept = {task.id: Reservation(task.id, GPU, HOUR, MINUTE, (HostSlot(task.id, 1),)) for task in (low, high)}
    yielding = YieldingReservations(ReservationPriority(queue_tree()), {1: low, 2: high}, kept, {}, 0)
    assert [claim.host for claim in yielding.claims(high, yielding.yielding_to(high))] == [1, 2]
    assert [
        claim.host for claim in yielding.claims(job(3, priority=200), yielding.yielding_to(job(3, priority=200)))
    ] == [1]
    assert not yielding.yielding_to(low)
