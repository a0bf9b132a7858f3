"""Between which moments a task starts."""

from __future__ import annotations

import pytest
from core_builders import GTY, gpu, host, lease, pod, snapshot, task, wants

from offchain.core import start_estimate as module
from offchain.core.placement_forecast import forecast_placement
from offchain.core.start_estimate import StartEstimate
from offchain.core.values import Capacity, Host, Layout, LeaseState, Preemption, Task, TaskKind, TaskState
from offchain.schema.chain_types.escrow import NEVER
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import escrow, placement

ONE = Capacity(1000, 1024, 1)
FULL = Capacity(0, 0, 0)
HOUR = 3_600_000


def full(name: str, **changes: object) -> Host:
    return host(name, total=ONE, free=FULL, **changes)


def running(number: int, on: str, until: int, kind: TaskKind = TaskKind.JOB, **changes: object) -> Task:
    paid = escrow(rate_per_hour=0 if until == NEVER else GTY, since=0, until=until, deposit=10**30)
    held = lease(lease_id(number, 0, 0), host=on, state=LeaseState.ACTIVE, escrow=paid)
    return task(number, held, state=TaskState.RUNNING, kind=kind, **changes)


def found(mine: Task, *records: Host | Task, now: int = 10) -> StartEstimate:
    return forecast_placement(snapshot(*records, now=now), mine).starts


def last(number: int = 99, **changes: object) -> Task:
    return task(number, submitted_at=1_000, **changes)


def test_where_there_is_room_and_nobody_ahead_it_starts_now():
    assert found(last(), host("a")) == StartEstimate(10, 10)


@pytest.mark.parametrize(("kind", "earliest"), [(TaskKind.JOB, 10), (TaskKind.SERVICE, 700), (TaskKind.RENTAL, 700)])
def test_a_job_may_be_done_at_any_moment_and_all_others_stay_to_their_end(kind, earliest):
    assert found(last(), full("a"), running(1, "a", 700, kind)) == StartEstimate(earliest, 700)


def test_who_was_told_to_leave_may_be_gone_when_the_notice_ends():
    leaving = running(1, "a", 700, TaskKind.SERVICE, spot=True, preemption=Preemption(wanting=5, ends_at=300))
    assert found(last(), full("a"), leaving) == StartEstimate(300, 700)


def test_what_has_no_end_leaves_both_open():
    assert found(last(), full("a"), running(1, "a", NEVER, TaskKind.SERVICE)) == StartEstimate(None, None)
    assert found(last(), full("a"), running(1, "a", NEVER)) == StartEstimate(10, None)


def test_who_is_ahead_takes_its_room_first_for_as_long_as_it_may():
    waiting = task(2, max_duration_ms=HOUR)
    assert found(last(), full("a"), running(1, "a", 700), waiting) == StartEstimate(10, 700 + HOUR)
    more = task(3, max_duration_ms=2 * HOUR)
    assert found(last(), full("a"), running(1, "a", 700), waiting, more) == StartEstimate(10, 700 + 3 * HOUR)


def test_who_is_ahead_and_needs_other_hosts_delays_nobody():
    elsewhere = task(2, placement=placement(hosts=("b",)))
    assert found(last(placement=placement(hosts=("a",))), host("a"), host("b"), elsewhere) == StartEstimate(10, 10)


def test_who_is_ahead_and_never_has_room_delays_nobody():
    large = task(2, resources=pod(cpu_milli=64_000))
    assert found(last(), host("a"), large) == StartEstimate(10, 10)


def test_with_room_for_both_nobody_waits():
    two = host("a", total=Capacity(2000, 2048, 2), free=Capacity(2000, 2048, 2))
    assert found(last(), two, task(2)) == StartEstimate(10, 10)
    assert found(last(), two, task(2), task(3)) == StartEstimate(10, 10 + HOUR)


def test_a_gang_ahead_holds_a_device_of_each_of_its_hosts():
    hosts = [host(name, devices=(gpu(),), provider=name) for name in "abc"]
    gang = task(2, pods_min=2, resources=pod(gpus=wants()), layout=Layout.PROVIDERS)
    mine = last(resources=pod(gpus=wants()))
    assert found(mine, *hosts, gang) == StartEstimate(10, 10)
    assert found(last(resources=pod(gpus=wants()), pods_min=2), *hosts, gang) == StartEstimate(10, 10 + HOUR)


def test_pods_that_are_spread_over_providers_count_one_of_each():
    hosts = [full("a", provider="p"), full("b", provider="p"), full("c", provider="q")]
    held = [running(1, "a", 300), running(2, "b", 500), running(3, "c", 900)]
    assert found(last(pods_min=2, layout=Layout.PROVIDERS), *hosts, *held) == StartEstimate(10, 900)
    assert found(last(pods_min=2, layout=Layout.HOSTS), *hosts, *held) == StartEstimate(10, 500)
    assert found(last(pods_min=3, layout=Layout.PROVIDERS), *hosts, *held) == StartEstimate(None, None)


def test_more_tasks_ahead_than_can_be_looked_at_leave_the_latest_open(monkeypatch):
    monkeypatch.setattr(module, "MAX_CHECKS", 3)
    crowd = [task(number) for number in range(2, 9)]
    assert found(last(), full("a"), running(1, "a", 700), *crowd) == StartEstimate(10, None, too_many=True)
