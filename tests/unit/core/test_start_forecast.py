"""When a task starts and whom it preempts: the scheduler's own answers in virtual time."""

from __future__ import annotations

import pytest

from offchain.core.placement_forecast import PreemptionForecast, StartForecast
from offchain.core.scheduler import start_forecast as module
from offchain.core.scheduler.backfill import ASSIGN_MS, START_MS
from offchain.core.scheduler.queue_definitions import EQUAL_SHARES, QueueDefinition, QueueTree, queue_tree
from offchain.core.scheduler.start_forecast import forecast_start
from offchain.core.values import Capacity, Host, Layout, LeaseState, Preemption, Task, TaskKind, TaskState
from offchain.schema.chain_types.escrow import NEVER
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import escrow, placement
from tests.support.core_builders import GTY, gpu, host, lease, pod, snapshot, task, wants

NOW, HOUR, MINUTE = 10, 3_600_000, 60_000
ONE = Capacity(1000, 1024, 1)
FULL = Capacity(0, 0, 0)
ONE_GPU = pod(cpu_milli=1, memory_mib=1, disk_gib=0, gpus=wants())
LABS = queue_tree((QueueDefinition("day"), QueueDefinition("night")))
HOLD = HOUR + ASSIGN_MS + START_MS
"""What a placed pod with the default duration of an hour may hold."""


def full(name: str, **changes: object) -> Host:
    return host(name, total=ONE, free=FULL, **changes)


def running(number: int, on: str, until: int, kind: TaskKind = TaskKind.JOB, **changes: object) -> Task:
    paid = escrow(rate_per_hour=0 if until == NEVER else GTY, since=0, until=until, deposit=10**30)
    held = lease(lease_id(number, 0, 0), host=on, state=LeaseState.ACTIVE, escrow=paid)
    return task(number, held, state=TaskState.RUNNING, kind=kind, **changes)


def starts(mine: Task, *records: Host | Task, now: int = NOW) -> tuple[int | None, int | None]:
    found = forecast_start(snapshot(*records, now=now), mine)
    return found.earliest_ms, found.latest_ms


def last(number: int = 99, **changes: object) -> Task:
    return task(number, **({"submitted_at": 1_000} | changes))


def test_a_feasible_task_with_none_ahead_starts_now():
    assert forecast_start(snapshot(host("a"), now=NOW), last()) == StartForecast(NOW, NOW)


def test_a_task_of_the_snapshot_is_counted_once():
    waiting = task(1)
    assert forecast_start(snapshot(host("a"), waiting, now=NOW), waiting) == StartForecast(NOW, NOW)


@pytest.mark.parametrize(("kind", "earliest"), [(TaskKind.JOB, NOW), (TaskKind.SERVICE, HOUR), (TaskKind.RENTAL, HOUR)])
def test_a_job_may_end_at_any_time_and_other_kinds_stay_to_their_end(kind, earliest):
    assert starts(last(), full("a"), running(1, "a", HOUR, kind)) == (earliest, HOUR)


def test_a_preempted_task_may_end_when_the_notice_ends():
    preempted = running(
        1, "a", HOUR, TaskKind.SERVICE, spot=True, preemption=Preemption(wanting=5, ends_at=20 * MINUTE)
    )
    assert starts(last(), full("a"), preempted) == (20 * MINUTE, HOUR)


def test_leases_without_an_end_leave_the_start_unknown():
    assert starts(last(), full("a"), running(1, "a", NEVER, TaskKind.SERVICE)) == (None, None)
    assert starts(last(), full("a"), running(1, "a", NEVER)) == (NOW, None)


def test_an_overdue_lease_ends_next():
    earliest, latest = starts(last(), full("a"), running(1, "a", 300), now=400)
    assert (earliest, latest) == (400, 400)


def test_the_last_of_several_ends_decides_for_a_gang():
    hosts = [full(name) for name in "abc"]
    held = running(1, "a", 9 * MINUTE), running(2, "b", 3 * MINUTE), running(3, "c", 6 * MINUTE)
    assert starts(last(), *hosts, *held) == (NOW, 3 * MINUTE)
    assert starts(last(pods_min=2), *hosts, *held) == (NOW, 6 * MINUTE)
    assert starts(last(pods_min=4), *hosts, *held) == (None, None)


def test_tasks_ahead_run_for_their_maximum_duration():
    found = forecast_start(snapshot(full("a"), running(1, "a", HOUR), task(2), now=NOW), last())
    assert (found.earliest_ms, found.latest_ms, found.ahead) == (NOW, HOUR + HOLD, 1)


def test_the_scheduler_serves_the_account_with_the_smaller_share_first():
    crowd = [task(number, tenant="rich") for number in range(2, 6)]
    machine = host("a", total=Capacity(2000, 2048, 2), free=Capacity(2000, 2048, 2))
    assert starts(last(tenant="poor"), machine, *crowd) == (NOW, NOW)


def test_a_higher_priority_is_served_first():
    assert starts(last(priority=9), host("a", total=ONE, free=ONE), task(2)) == (NOW, NOW)


@pytest.mark.parametrize(
    "other", [{"placement": placement(hosts=("b",))}, {"resources": pod(cpu_milli=64_000)}], ids=["elsewhere", "large"]
)
def test_a_task_ahead_that_cannot_use_the_host_delays_no_other(other):
    mine = last(placement=placement(hosts=("a",)))
    assert starts(mine, host("a", total=ONE, free=ONE), host("b"), task(2, **other)) == (NOW, NOW)


def test_spread_pods_need_a_host_of_each_provider():
    hosts = [full("a", provider="p"), full("b", provider="p"), full("c", provider="q")]
    held = running(1, "a", 3 * MINUTE), running(2, "b", 5 * MINUTE), running(3, "c", 9 * MINUTE)
    assert starts(last(pods_min=2, layout=Layout.PROVIDERS), *hosts, *held) == (NOW, 9 * MINUTE)
    assert starts(last(pods_min=2, layout=Layout.HOSTS), *hosts, *held) == (NOW, 5 * MINUTE)
    assert starts(last(pods_min=3, layout=Layout.PROVIDERS), *hosts, *held) == (None, None)


def test_a_suspended_machine_frees_only_its_disk():
    held = lease(
        lease_id(1, 0, 0),
        host="a",
        state=LeaseState.SUSPENDED,
        escrow=escrow(rate_per_hour=GTY, since=0, until=HOUR, deposit=10**30),
    )
    stopped = task(1, held, state=TaskState.RUNNING, kind=TaskKind.RENTAL, resources=pod(cpu_milli=4000, disk_gib=50))
    machine = host("a", free=Capacity(2000, 8192, 50))
    assert starts(last(resources=pod(disk_gib=80)), machine, stopped) == (HOUR, HOUR)
    assert starts(last(resources=pod(cpu_milli=3000)), machine, stopped) == (None, None)


def test_a_deadline_before_the_start_leaves_it_unknown():
    assert starts(last(deadline=MINUTE), full("a"), running(1, "a", HOUR)) == (NOW, None)


@pytest.mark.parametrize("limit", ["MAX_CYCLES", "MAX_TRIES"])
def test_too_many_cycles_or_tries_leave_the_latest_start_unknown(monkeypatch, limit):
    monkeypatch.setattr(module, limit, 3)
    crowd = [task(number) for number in range(2, 9)]
    found = forecast_start(snapshot(full("a"), running(1, "a", HOUR), *crowd, now=NOW), last())
    assert (found.earliest_ms, found.latest_ms, found.too_many) == (NOW, None, True)


def spot(number: int, on: str, *devices: int, rate: int = 1, **changes: object) -> Task:
    """A running spot task with these GPUs of a host."""
    paid = escrow(rate_per_hour=rate * GTY, since=0, deposit=10**30)
    held = lease(lease_id(number, 0, 0), host=on, devices=devices, state=LeaseState.ACTIVE, escrow=paid)
    asked = pod(cpu_milli=1, memory_mib=1, gpus=wants(count=len(devices)))
    return task(number, held, **({"spot": True, "state": TaskState.RUNNING, "resources": asked} | changes))


def used(name: str, gpus: int) -> Host:
    return host(name, devices=tuple(gpu(milli_free=0) for _ in range(gpus)))


def preempts(*records: Host | Task, queues: QueueTree = EQUAL_SHARES, **changes: object) -> PreemptionForecast | None:
    mine = task(99, **({"tenant": "new", "priority": 9, "resources": ONE_GPU} | changes))
    return forecast_start(snapshot(*records, now=HOUR), mine, queues).preemption


def test_the_cheapest_task_above_its_entitlement_is_preempted():
    tasks = spot(1, "a", 0, rate=2), spot(2, "a", 1)
    assert preempts(used("a", 2), *tasks) == PreemptionForecast((2,), {"account t": 1})


def test_victims_are_counted_by_queue():
    tasks = spot(1, "a", 0, rate=2, queue=b"night"), spot(2, "a", 1, queue=b"night")
    assert preempts(used("a", 2), *tasks, queues=LABS, queue=b"day") == PreemptionForecast((2,), {"queue night": 1})


def test_a_queue_at_its_entitlement_preempts_only_its_own_tasks():
    tasks = spot(1, "a", 0, queue=b"night"), spot(2, "a", 1, queue=b"day", tenant="new", spot=False)
    found = preempts(used("a", 2), *tasks, queues=LABS, queue=b"day")
    assert found is not None
    assert not found.victims
    assert "holds 50.0% of the network, with the task 100.0%, and has a right to 50.0%" in str(found.why)
    own = spot(1, "a", 0, queue=b"night"), spot(2, "a", 1, queue=b"day", tenant="new")
    assert preempts(used("a", 2), *own, queues=LABS, queue=b"day") == PreemptionForecast((2,), {"queue day": 1})


@pytest.mark.parametrize(
    "changes",
    [{"priority": 9}, {"spot": False}, {"preemption": Preemption(wanting=7, ends_at=2 * HOUR)}],
    ids=["equal priority", "not spot", "preempted already"],
)
def test_a_task_that_may_not_be_preempted_is_no_victim(changes):
    assert preempts(used("a", 1), spot(1, "a", 0, **changes)) is None
