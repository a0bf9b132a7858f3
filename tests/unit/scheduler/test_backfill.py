"""Backfill, and how long a gang waits behind a stream of small tasks."""

import numpy as np
import pytest

from offchain.core.scheduler.availability import Allocation, AvailabilityProfile
from offchain.core.scheduler.availability_kernels import FOREVER
from offchain.core.scheduler.cluster import HostSlot
from offchain.core.scheduler.pod_request import PodShape
from offchain.core.scheduler.reservations import Reservation, ReservationRequest, reservation_candidates, reserve
from tests.support.reservation_samples import (
    GPU,
    HALF,
    PAIR,
    Job,
    Replay,
    SampleBackfill,
    gpus,
    lease,
    profile_of,
    running,
)

CORE = PodShape(1000, 0)


def backfill(cluster, leases, *queue):
    """What may start before these heads of the queue, and what is reserved for them."""
    profile = AvailabilityProfile(cluster, 0, leases)
    kept = reserve(profile, queue, {})
    return SampleBackfill(profile), kept


def test_a_task_may_start_before_the_head_if_it_ends_before_the_reservation_begins():
    cluster = gpus(2)
    free, kept = backfill(cluster, running(cluster, lease(0, 50)), ReservationRequest(1, PAIR, 1, 100, 0))
    assert kept[1] == Reservation(1, PAIR, 50, 100, (HostSlot(0, 0b11),))
    assert free.is_allowed(0, GPU, 0b10, 50)
    assert not free.is_allowed(0, GPU, 0b10, 51)


def test_a_task_may_run_on_beside_what_is_reserved():
    cluster = gpus(2)
    leases = running(cluster, lease(0, 50, devices=0b1), lease(0, 70, HALF, 0b10))
    free, kept = backfill(cluster, leases, ReservationRequest(1, GPU, 1, 100, 0))
    assert kept[1].places == (HostSlot(0, 0b1),)
    assert free.is_allowed(0, HALF, 0b10, FOREVER)
    assert free.pick_devices(0, HALF, FOREVER) == 0b10
    assert free.pick_devices(0, GPU, 10) == -1


def test_hosts_without_reservations_are_not_restricted():
    cluster = gpus(2, 2)
    free, _ = backfill(
        cluster, running(cluster, lease(0, 50), lease(1, 90, PAIR, 0b11)), ReservationRequest(1, PAIR, 1, 9, 0)
    )
    assert free.pick_devices(1, GPU, FOREVER) is None
    assert [free.is_reserved(host) for host in (0, 1)] == [True, False]
    assert free.allowed_hosts(GPU, np.array([0b10, 0b10]), 51).tolist() == [False, True]
    assert free.allowed_hosts(GPU, np.array([0b10, 0b10]), 50).tolist() == [True, True]


def test_backfilled_resources_are_not_used_twice():
    cluster = gpus(4)
    leases = running(cluster, lease(0, 50, devices=0b1), lease(0, 50, devices=0b10))
    free, kept = backfill(cluster, leases, ReservationRequest(1, PodShape(3000, 3072, 3, 1000), 1, 100, 0))
    # Of four, the head takes three: of the two that are free, one may run on.
    assert kept[1].start_ms == 50
    assert free.is_allowed(0, GPU, free.pick_devices(0, GPU, 99), 99)
    free.place(0, GPU, free.pick_devices(0, GPU, 99), 99)
    assert free.pick_devices(0, GPU, 99) == -1
    assert free.pick_devices(0, GPU, 50) > 0


def test_resources_used_now_are_not_free_now_for_any_duration():
    cluster = gpus(2)
    free = SampleBackfill(profile_of(cluster, reserved=[Allocation(0, CORE, 0, 10, 20)]))
    free.place(0, PodShape(2000, 0), 0, 5)
    assert not free.is_allowed(0, CORE, 0, 5)
    assert not free.is_allowed(0, CORE, 0, 15)


def test_a_reservation_is_not_in_its_own_way():
    cluster = gpus(1)
    head = ReservationRequest(1, GPU, 1, 100, 0)
    leases = running(cluster, lease(0, 50))
    kept = reserve(AvailabilityProfile(cluster, 0, leases), [head], {})
    cluster.release(0, GPU, 1)
    assert kept[1].start_ms == 50
    assert reserve(profile_of(cluster, now_ms=20), [head], kept)[1].start_ms == 20


def test_a_reservation_begins_sooner_when_it_can_and_never_later():
    cluster = gpus(1, 1)
    head = ReservationRequest(1, GPU, 1, 100, 0)
    leases = running(cluster, lease(0, 50), lease(1, 60))
    kept = reserve(AvailabilityProfile(cluster, 0, leases), [head], {})
    assert kept[1].start_ms == 50
    cluster.release(1, GPU, 1)
    leases.drop((1,))
    sooner = reserve(AvailabilityProfile(cluster, 20, leases), [head], kept)
    assert sooner[1] == Reservation(1, GPU, 20, 100, (HostSlot(1, 1),))
    # Somebody whose lease should have ended holds what was reserved: the next moment is tried.
    late = reserve(AvailabilityProfile(cluster, 50, leases), [head], {1: kept[1]})
    assert late[1].places == (HostSlot(1, 1),)


def test_an_infeasible_task_gets_no_reservation():
    assert reserve(profile_of(gpus(1)), [ReservationRequest(1, PAIR, 1, 9, 0)], {}) == {}


def test_the_first_of_the_queue_and_overdue_gangs_are_candidates_for_reservations():
    queue = [
        ReservationRequest(task, GPU, pods, 9, since)
        for task, pods, since in ((1, 1, 0), (2, 1, 9), (3, 4, 8), (4, 2, 5))
    ]
    kept = {2: Reservation(2, GPU, 50, 9, ())}

    def tasks(now_ms, depth, has=kept):
        return [waiting.task for waiting in reservation_candidates(queue, has, now_ms, depth=depth, patience_ms=100)]

    assert tasks(104, 1, {}) == [1]
    assert tasks(104, 1) == [2]
    assert tasks(104, 2) == [2, 1]
    assert tasks(105, 1) == [2, 4]
    assert tasks(108, 2, {}) == [4, 3, 1, 2]
    assert tasks(999, 1, {4: Reservation(4, GPU, 50, 9, ())}) == [4, 1]


@pytest.mark.parametrize("patience_ms", [30, 100])
def test_gangs_wait_no_longer_than_their_patience_and_twice_the_longest_task_for_each(patience_ms):
    small = [Job(ReservationRequest(task, GPU, 1, 10, 2 * task), 9) for task in range(1, 150)]
    gangs = [Job(ReservationRequest(task, GPU, 4, 10, 20), 5) for task in (998, 999)]

    def waited(patience):
        # Gangs are always the last in the queue.
        replay = Replay(gpus(1, 1, 1, 1), 1, patience, lambda one: (one.pods, one.since_ms, one.task))
        replay.run([*small, *gangs])
        return [replay.started[gang.waiting.task] - 20 for gang in gangs]

    assert min(waited(10**6)) > 200
    first, second = waited(patience_ms)
    assert patience_ms <= first <= patience_ms + 2 * 10
    assert first < second <= patience_ms + 4 * 10


def test_a_reservation_window_stays_free():
    cluster = gpus(1)
    profile = profile_of(cluster, reserved=[Allocation(0, GPU, 1, 30, 60)])
    free = SampleBackfill(profile)
    assert free.is_allowed(0, GPU, 1, 30)
    assert not free.is_allowed(0, GPU, 1, 31)
    underway = SampleBackfill(profile_of(cluster, reserved=[Allocation(0, GPU, 1, -5, 30)]))
    assert not underway.is_allowed(0, GPU, 1, 1)
    assert underway.is_reserved(0)
