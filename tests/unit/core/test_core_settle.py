from __future__ import annotations

import pytest
from core_builders import PERIODS, host, lease, snapshot, task

from offchain.core.settle import Expire, ExpireLease, ReportAbsent, Requeue, Settle, due
from offchain.core.values import HostStatus, LeaseState, TaskState

ALIVE = host(last_heartbeat=10**9)


@pytest.mark.parametrize(
    ("record", "limit", "command"),
    [
        (task(state=TaskState.REPORTED, reported_at=500), 500 + PERIODS.dispute_window_ms - 1, Settle(1)),
        (task(deadline=500), 500, Expire(1)),
        (lease(created_at=500), 500 + PERIODS.start_timeout_ms, Requeue(1)),
        (lease(state=LeaseState.ACTIVE, depletes_at=500), 500, ExpireLease(1)),
        (host(last_heartbeat=500), 500 + PERIODS.absence_limit_ms, ReportAbsent("h1", 500)),
        (
            host(last_heartbeat=500, status=HostStatus.DRAINING),
            500 + PERIODS.absence_limit_ms,
            ReportAbsent("h1", 500),
        ),
    ],
)
def test_a_limit_is_due_strictly_after_it(record, limit, command):
    early = due(snapshot(record), limit)
    assert early.commands == ()
    assert early.wake_at == limit + 1
    assert due(snapshot(record), limit + 1).commands == (command,)


def test_an_accepted_task_is_settled_at_once():
    assert due(snapshot(task(state=TaskState.VERIFIED, reported_at=500)), 501).commands == (Settle(1),)


@pytest.mark.parametrize("state", [LeaseState.PENDING, LeaseState.ACTIVE])
def test_a_lease_on_a_lost_host_goes_back_at_once(state):
    lost = host(status=HostStatus.OFFLINE)
    assert due(snapshot(lost, lease(state=state, depletes_at=10**9)), 1).commands == (Requeue(1),)


@pytest.mark.parametrize(
    "record",
    [
        task(),
        task(state=TaskState.RUNNING),
        task(state=TaskState.DISPUTED, reported_at=1),
        lease(state=LeaseState.ACTIVE),
        host(status=HostStatus.OFFLINE),
        host(status=HostStatus.VERIFIED),
        host(status=HostStatus.RETIRED),
    ],
)
def test_nothing_is_due_where_nobody_waits(record):
    assert due(snapshot(record), 10**12).commands == ()


def test_the_next_look_is_at_the_earliest_limit():
    snap = snapshot(ALIVE, task(1, deadline=900), lease(1, state=LeaseState.ACTIVE, depletes_at=700))
    assert due(snap, 100).wake_at == 701
    assert due(snapshot(task()), 100).wake_at is None


def test_a_suspended_host_that_is_silent_loses_its_leases_once():
    silent = host(status=HostStatus.SUSPENDED, last_heartbeat=0)
    held = lease(state=LeaseState.ACTIVE, depletes_at=PERIODS.absence_limit_ms - 5)
    assert due(snapshot(silent, held), PERIODS.absence_limit_ms - 5).commands == ()
    assert due(snapshot(silent, held), PERIODS.absence_limit_ms).commands == (ExpireLease(1),)
    assert due(snapshot(silent, held), PERIODS.absence_limit_ms + 1).commands == (Requeue(1),)
