from __future__ import annotations

import pytest

from offchain.core.settlement import (
    AGENDA_SLACK_MS,
    Crank,
    Expire,
    ExpireLease,
    FinishPreemption,
    ReportAbsent,
    Requeue,
    Settle,
    SettlementTimers,
    still_due,
)
from offchain.core.snapshot import Touched
from offchain.core.values import HostStatus, LeaseState, Preemption, TaskKind, TaskState
from tests.support.chain_records import escrow
from tests.support.core_builders import PERIODS, host, lease, running, snapshot, task


def due(snap, now):
    """What is due in a snapshot that was not seen before."""
    return SettlementTimers().due(snap, None, now)


ALIVE = host(last_heartbeat=10**9)


@pytest.mark.parametrize(
    ("record", "limit", "command"),
    [
        (task(state=TaskState.REPORTED, changed_at=500), 500 + PERIODS.dispute_window_ms - 1, Settle(1)),
        (task(deadline=500), 500, Expire(1)),
        (running(lease(created_at=500)), 500 + PERIODS.start_timeout_ms, Requeue(1)),
        (running(lease(state=LeaseState.ACTIVE, until=500)), 500 + PERIODS.report_grace_ms, ExpireLease(1)),
        (host(last_heartbeat=500), 500 + PERIODS.absence_limit_ms, ReportAbsent("h1", 500)),
        (
            host(last_heartbeat=500, status=HostStatus.DRAINING),
            500 + PERIODS.absence_limit_ms,
            ReportAbsent("h1", 500),
        ),
    ],
)
def test_a_limit_is_due_strictly_after_it(record, limit, command):
    timers = SettlementTimers()
    assert timers.due(snapshot(record), None, limit) == ()
    assert timers.due(snapshot(record), Touched(), limit + 1) == (command,)


TOLD = Preemption(wanting=2, ends_at=500)


@pytest.mark.parametrize("others", [(), (task(state=TaskState.RUNNING, spot=True, preemption=TOLD),)])
def test_a_waiting_task_takes_the_place_of_others_when_their_notice_is_over_and_not_before(others):
    wanting = task(2, notice_ends_at=500)
    assert due(snapshot(wanting, *others), 499) == ()
    assert due(snapshot(wanting, *others), 500) == (FinishPreemption(2, 500),)


def test_who_has_left_and_waits_is_not_made_to_leave_again():
    assert due(snapshot(task(spot=True, preemption=TOLD), task(2)), 1_000) == ()


def test_an_accepted_task_is_settled_at_once():
    assert due(snapshot(task(state=TaskState.VERIFIED, changed_at=500)), 501) == (Settle(1),)


@pytest.mark.parametrize("state", [LeaseState.PENDING, LeaseState.ACTIVE])
def test_a_lease_on_a_lost_host_goes_back_at_once(state):
    lost = host(status=HostStatus.OFFLINE)
    assert due(snapshot(lost, running(lease(state=state, until=10**9))), 1) == (Requeue(1),)


@pytest.mark.parametrize(
    "record",
    [
        task(),
        task(state=TaskState.RUNNING),
        task(state=TaskState.DISPUTED, changed_at=1),
        running(lease(state=LeaseState.ACTIVE)),
        running(lease(state=LeaseState.SUSPENDED)),
        # Services and rentals end by the chain's own agenda.
        task(9, lease(state=LeaseState.ACTIVE, until=500), state=TaskState.RUNNING, kind=TaskKind.RENTAL),
        host(status=HostStatus.OFFLINE),
        host(status=HostStatus.VERIFIED),
        host(status=HostStatus.RETIRED),
    ],
)
def test_nothing_is_due_where_nobody_waits(record):
    assert due(snapshot(record), 10**12) == ()


def test_a_call_that_is_refused_may_be_due_no_more_in_a_newer_snapshot():
    over = task(state=TaskState.VERIFIED)
    assert still_due(snapshot(over), [Settle(1), Crank(7)], 5) == [Settle(1)]
    assert still_due(snapshot(agenda_at=7), [Settle(1), Crank(7)], 5) == [Crank(7)]


def test_a_suspended_host_that_is_silent_loses_its_leases_once():
    silent = host(status=HostStatus.SUSPENDED, last_heartbeat=0)
    held = running(lease(state=LeaseState.ACTIVE, until=PERIODS.absence_limit_ms - PERIODS.report_grace_ms - 5))
    assert due(snapshot(silent, held), PERIODS.absence_limit_ms - 5) == ()
    assert due(snapshot(silent, held), PERIODS.absence_limit_ms) == (ExpireLease(1),)
    assert due(snapshot(silent, held), PERIODS.absence_limit_ms + 1) == (Requeue(1),)


def test_an_agenda_that_is_behind_is_cranked():
    snap = snapshot(agenda_at=500)
    assert due(snap, 500 + AGENDA_SLACK_MS) == ()
    assert due(snap, 500 + AGENDA_SLACK_MS + 1) == (Crank(500),)


def test_the_time_a_host_was_away_is_not_billed_and_moves_the_end():
    away = host(downtime_ms=200, last_heartbeat=10**9)
    used_up = lease(state=LeaseState.ACTIVE, escrow=escrow(deposit=1_000, rate_per_hour=3_600_000, since=500))
    assert due(snapshot(away, running(used_up)), 1_700 + PERIODS.report_grace_ms) == ()
    assert due(snapshot(away, running(used_up)), 1_701 + PERIODS.report_grace_ms) == (ExpireLease(1),)
