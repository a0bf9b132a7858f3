"""Reservations of the first and of large tasks, and backfill around them, in the scheduler state."""

from __future__ import annotations

from dataclasses import replace

from offchain.core.scheduler.backfill import ASSIGN_MS, START_MS
from offchain.core.scheduler.reservations import PATIENCE_MS
from offchain.core.scheduler.start_forecast import forecast_start
from offchain.core.scheduler.state import SchedulerState
from offchain.core.values import HostStatus, Layout, Lease, LeaseState, TaskKind, TaskState
from tests.support.chain_records import escrow
from tests.support.scheduler_events import put, refuse, run_cycle
from tests.support.scheduler_world import MINUTE, World, gpu_host, job


def world(*hosts):
    made = World(SchedulerState(b"seed"))
    made.put_hosts(hosts)
    return made


def test_nothing_is_reserved_if_all_tasks_are_placed():
    made = world(gpu_host("h1", 2))
    made.submit(job(1), job(2))
    assert sorted(made.round(0)) == [1, 2]
    assert not made.state.reserved
    assert made.state.next_ms(0) is None


def test_the_first_unplaced_task_starts_at_the_end_of_the_blocking_lease():
    made = world(gpu_host("h1", 2))
    made.submit(job(1, minutes=20))
    made.round(0)
    made.submit(job(2, 2))
    assert made.round(MINUTE) == []
    assert made.state.reserved[2].start_ms == 20 * MINUTE
    assert made.state.standing(2, MINUTE).starts_by_ms == 20 * MINUTE
    assert made.state.next_ms(MINUTE) == 2 + PATIENCE_MS, "it has waited for long then"
    assert made.state.next_ms(2 + PATIENCE_MS) == 20 * MINUTE


def test_a_pod_that_ends_before_the_reserved_start_may_go_first_and_a_longer_one_may_not():
    made = world(gpu_host("h1", 2))
    made.submit(job(1, minutes=60))
    made.round(0)
    made.submit(job(2, 2))
    made.round(MINUTE)
    made.submit(job(3, minutes=59), job(4, minutes=40))
    assert made.round(2 * MINUTE) == [4]
    assert made.round(60 * MINUTE) == [2]
    assert made.started[2] == made.promised[2] == 60 * MINUTE


def test_a_longer_task_with_the_same_request_does_not_block_a_shorter_one():
    made = world(gpu_host("h1", 2))
    made.submit(job(1, minutes=60))
    made.round(0)
    made.submit(job(2, 2))
    made.round(MINUTE)
    made.submit(job(3, minutes=300), job(4, minutes=20))
    assert made.round(2 * MINUTE) == [4]


def test_resources_beside_a_reservation_are_open_to_all():
    made = world(gpu_host("h1", 3))
    made.submit(job(1, 2, minutes=60))
    made.round(0)
    made.submit(job(2, 2))
    made.round(MINUTE)
    made.submit(job(3, minutes=300))
    assert made.round(2 * MINUTE) == [3]
    assert made.round(60 * MINUTE) == [2]


def test_a_gang_starts_completely_although_small_tasks_keep_arriving():
    made = world(gpu_host("h1", 2), gpu_host("h2", 2))
    made.submit(*(job(number, minutes=30, tenant=f"t{number}") for number in range(4)))
    made.round(0)
    made.submit(job(9, 2, pods=2, minutes=30, tenant="gang"))
    for minute in range(1, 60):
        number = 100 + minute
        made.submit(job(number, minutes=30, tenant=f"t{number}", submitted_at=minute * MINUTE))
        made.round(minute * MINUTE)
        if 9 in made.started:
            break
    assert made.started[9] == made.promised[9] == 30 * MINUTE
    assert {place.host for place in made.at[9]} == {"h1", "h2"}


def test_a_reservation_starts_sooner_if_a_lease_ends_sooner():
    made = world(gpu_host("h1", 2))
    made.submit(job(1, minutes=60))
    made.takes_ms[1] = 5 * MINUTE
    made.round(0)
    made.submit(job(2, 2))
    made.round(MINUTE)
    assert made.promised[2] == 60 * MINUTE
    assert made.round(5 * MINUTE) == [2]


def test_a_large_task_that_waits_for_long_gets_a_reservation_at_any_queue_position():
    made = world(gpu_host("h1", 2))
    made.submit(job(1, 2, minutes=200))
    made.round(0)
    ahead = [job(number, minutes=number, priority=200) for number in range(2, 8)]
    made.submit(job(90, 2, priority=0), *ahead)
    made.round(MINUTE)
    assert 90 not in made.state.reserved
    made.round(90 + PATIENCE_MS)
    assert 90 in made.state.reserved


def test_hosts_that_the_task_may_not_go_to_are_not_reserved_for_it():
    made = world(gpu_host("h1", 1, model=b"H100"), gpu_host("h2", 1))
    made.submit(job(1), job(2))
    made.round(0)
    made.submit(job(3, models=(b"H100",)), job(4))
    made.round(MINUTE)
    (place,) = made.state.reserved[3].places
    assert made.state.planner.hosts.cluster.names[place.host] == "h1"


def test_a_reservation_moves_when_its_host_is_lost():
    made = world(gpu_host("h1", 1), gpu_host("h2", 1))
    made.submit(job(1, minutes=20), job(2, minutes=40))
    made.round(0)
    made.submit(job(3))
    made.round(MINUTE)
    first = made.state.reserved[3]
    lost = made.state.planner.hosts.cluster.names[first.places[0].host]
    made.put_hosts([replace(made.hosts[lost], status=HostStatus.OFFLINE)])
    made.round(2 * MINUTE)
    (place,) = made.state.reserved[3].places
    assert made.state.planner.hosts.cluster.names[place.host] != lost
    assert made.state.reserved[3].start_ms == 40 * MINUTE


def test_a_task_that_can_never_start_gets_no_reservation_and_blocks_no_other():
    made = world(gpu_host("h1", 2))
    made.submit(job(1, 2, minutes=30))
    made.round(0)
    made.submit(*(job(number, 3, priority=200, minutes=number) for number in range(2, 7)), job(9))
    made.round(MINUTE)
    made.round(2 * MINUTE)
    assert list(made.state.reserved) == [9]


def test_assumed_pods_count_until_their_latest_end():
    made = world(gpu_host("h1", 1))
    put(made.state, job(1, minutes=20))
    run_cycle(made.state, 0)
    put(made.state, job(2))
    run_cycle(made.state, MINUTE)
    assert made.state.reserved[2].start_ms == 20 * MINUTE + START_MS + ASSIGN_MS


def test_a_refused_task_loses_its_reservation():
    made = world(gpu_host("h1", 1))
    made.submit(job(1))
    made.round(0)
    made.submit(job(2))
    made.round(MINUTE)
    assert 2 in made.state.reserved
    refuse(made.state, 2, 2 * MINUTE - 1)
    made.submit(job(3))
    made.round(2 * MINUTE)
    assert list(made.state.reserved) == [3]


def test_a_reservation_is_dropped_if_a_rule_refuses_the_slot():
    made = world(gpu_host("h1", 1))
    made.submit(job(1, minutes=30))
    made.round(0)
    large = job(2)
    made.submit(replace(large, resources=replace(large.resources, disk_gib=5)))
    made.round(MINUTE)
    assert 2 in made.state.reserved
    # The data of a rental that has ended holds the disk.
    now = made.hosts["h1"]
    made.put_hosts([replace(now, free=replace(now.free, disk_gib=0))])
    made.submit(job(3))
    assert made.round(30 * MINUTE) == [3]
    assert 2 not in made.state.reserved


def test_a_task_starts_no_later_than_promised_to_its_tenant():
    made = world(gpu_host("h1", 2), gpu_host("h2", 1))
    made.submit(job(1, minutes=60), job(2, minutes=30), job(3, minutes=40))
    made.round(0)
    first = job(4, 2, minutes=5)
    made.submit(first)
    made.round(MINUTE)
    assert forecast_start(made.snapshot(MINUTE), first).latest_ms == made.state.reserved[4].start_ms


def test_a_spread_gang_starts_although_small_tasks_keep_arriving():
    made = world(*(gpu_host(f"h{number}", 2, provider=f"p{number // 2}") for number in range(4)))
    made.submit(*(job(number, minutes=30 + number, tenant=f"t{number}") for number in range(8)))
    made.round(0)
    made.submit(job(9, pods=2, minutes=30, tenant="gang", layout=Layout.PROVIDERS))
    for minute in range(1, 60):
        number = 100 + minute
        made.submit(job(number, minutes=60, tenant=f"t{number}", submitted_at=minute * MINUTE))
        made.round(minute * MINUTE)
        if 9 in made.started:
            break
    assert made.started[9] == made.promised[9] <= 37 * MINUTE
    assert len({made.hosts[place.host].provider for place in made.at[9]}) == 2


def test_a_replaced_pod_gets_a_reservation_away_from_its_siblings():
    made = world(gpu_host("h1", 2), gpu_host("h2", 1, model=b"H100"))
    made.submit(job(1, minutes=30, models=(b"H100",)))
    made.round(0)
    beside = Lease(20, "h1", (0,), LeaseState.ACTIVE, 0, escrow(rate_per_hour=0), None)
    runs = {"kind": TaskKind.SERVICE, "state": TaskState.RUNNING, "open_pods": (1,), "leases": (beside,)}
    made.submit(job(2, layout=Layout.HOSTS, **runs))
    assert made.round(MINUTE) == []
    (place,) = made.state.reserved[2].places
    assert made.state.planner.hosts.cluster.names[place.host] == "h2"


def test_an_impossible_spread_gang_reserves_nothing():
    made = world(gpu_host("h1", 2), gpu_host("h2", 2))
    made.submit(job(1, minutes=30), job(2, minutes=30), job(3, minutes=30))
    made.round(0)
    made.submit(job(4, pods=2, layout=Layout.PROVIDERS, tenant="gang"), job(5, minutes=300))
    assert made.round(MINUTE) == [5]
    assert not made.state.reserved
