"""Who may start before the head of the queue, and how long a gang waits behind a stream of small tasks."""

import numpy as np
import pytest

from offchain.core.scheduler.cluster import HostSlot
from offchain.core.scheduler.pod_request import PodShape
from offchain.core.timing.backfill import Backfill
from offchain.core.timing.claims import FOREVER, Claim, Claims
from offchain.core.timing.releases import Profile
from offchain.core.timing.reservations import Reservation, Waiting, heads, reserve
from tests.support.timing_samples import GPU, HALF, PAIR, Job, Replay, gpus, lease, running

CORE = PodShape(1000, 0)


def backfill(cluster, leases, *queue):
    """What may start before these heads of the queue, and what is reserved for them."""
    profile = Profile(cluster, 0, leases)
    kept = reserve(profile, queue, {})
    return Backfill(profile), kept


def test_a_task_may_start_before_the_head_if_it_ends_before_the_heads_start():
    cluster = gpus(2)
    free, kept = backfill(cluster, running(cluster, lease(0, 50)), Waiting(1, PAIR, 1, 100, 0))
    assert kept[1] == Reservation(1, PAIR, 50, 100, (HostSlot(0, 0b11),))
    assert free.may(0, GPU, 0b10, 50)
    assert not free.may(0, GPU, 0b10, 51)


def test_a_task_may_run_on_where_it_leaves_what_is_reserved():
    cluster = gpus(2)
    leases = running(cluster, lease(0, 50, devices=0b1), lease(0, 70, HALF, 0b10))
    free, kept = backfill(cluster, leases, Waiting(1, GPU, 1, 100, 0))
    assert kept[1].places == (HostSlot(0, 0b1),)
    assert free.may(0, HALF, 0b10, FOREVER)
    assert free.devices(0, HALF, FOREVER) == 0b10
    assert free.devices(0, GPU, 10) == -1


def test_on_hosts_of_which_nothing_is_reserved_everything_may_start():
    cluster = gpus(2, 2)
    free, _ = backfill(cluster, running(cluster, lease(0, 50), lease(1, 90, PAIR, 0b11)), Waiting(1, PAIR, 1, 9, 0))
    assert free.devices(1, GPU, FOREVER) is None
    assert free.reserved.tolist() == [True, False]
    assert free.mask(GPU, np.array([0b10, 0b10]), 51).tolist() == [False, True]
    assert free.mask(GPU, np.array([0b10, 0b10]), 50).tolist() == [True, True]


def test_what_was_backfilled_is_not_given_twice():
    cluster = gpus(4)
    leases = running(cluster, lease(0, 50, devices=0b1), lease(0, 50, devices=0b10))
    free, kept = backfill(cluster, leases, Waiting(1, PodShape(3000, 3072, 3, 1000), 1, 100, 0))
    # Of four, the head takes three: of the two that are free, one may run on.
    assert kept[1].start_ms == 50
    assert free.may(0, GPU, free.devices(0, GPU, 99), 99)
    free.placed(0, GPU, free.devices(0, GPU, 99), 99)
    assert free.devices(0, GPU, 99) == -1
    assert free.devices(0, GPU, 50) > 0


def test_what_is_taken_now_is_not_free_now_whoever_asks_for_how_long():
    cluster = gpus(2)
    free = Backfill(Profile(cluster, 0, Claims(), Claims.of([Claim(0, CORE, 0, 10, 20)])))
    free.placed(0, PodShape(2000, 0), 0, 5)
    assert not free.may(0, CORE, 0, 5)
    assert not free.may(0, CORE, 0, 15)


def test_a_reservation_is_not_in_its_own_way():
    cluster = gpus(1)
    head = Waiting(1, GPU, 1, 100, 0)
    leases = running(cluster, lease(0, 50))
    kept = reserve(Profile(cluster, 0, leases), [head], {})
    cluster.release(0, GPU, 1)
    assert kept[1].start_ms == 50
    assert reserve(Profile(cluster, 20, Claims()), [head], kept)[1].start_ms == 20


def test_a_reservation_begins_sooner_when_it_can_and_never_later():
    cluster = gpus(1, 1)
    head = Waiting(1, GPU, 1, 100, 0)
    leases = running(cluster, lease(0, 50), lease(1, 60))
    kept = reserve(Profile(cluster, 0, leases), [head], {})
    assert kept[1].start_ms == 50
    cluster.release(1, GPU, 1)
    leases.drop(1)
    sooner = reserve(Profile(cluster, 20, leases), [head], kept)
    assert sooner[1] == Reservation(1, GPU, 20, 100, (HostSlot(1, 1),))
    # Somebody whose lease should have ended holds what was reserved: the next moment is tried.
    late = reserve(Profile(cluster, 50, leases), [head], {1: kept[1]})
    assert late[1].places == (HostSlot(1, 1),)


def test_a_task_that_can_never_start_gets_no_reservation():
    assert reserve(Profile(gpus(1), 0, Claims()), [Waiting(1, PAIR, 1, 9, 0)], {}) == {}


def test_the_first_of_the_queue_and_gangs_that_waited_for_long_are_the_heads():
    queue = [Waiting(task, GPU, pods, 9, since) for task, pods, since in ((1, 1, 0), (2, 1, 9), (3, 4, 8), (4, 2, 5))]
    kept = {2: Reservation(2, GPU, 50, 9, ())}

    def tasks(now_ms, depth, has=kept):
        return [waiting.task for waiting in heads(queue, has, now_ms, depth=depth, patience_ms=100)]

    assert tasks(104, 1, {}) == [1]
    assert tasks(104, 1) == [2]
    assert tasks(104, 2) == [2, 1]
    assert tasks(105, 1) == [2, 4]
    assert tasks(108, 2, {}) == [4, 3, 1, 2]
    assert tasks(999, 1, {4: Reservation(4, GPU, 50, 9, ())}) == [4, 1]


@pytest.mark.parametrize("patience_ms", [30, 100])
def test_gangs_wait_no_longer_than_their_patience_and_twice_the_longest_task_for_each(patience_ms):
    small = [Job(Waiting(task, GPU, 1, 10, 2 * task), 9) for task in range(1, 150)]
    gangs = [Job(Waiting(task, GPU, 4, 10, 20), 5) for task in (998, 999)]

    def waited(patience):
        # Gangs are always the last in the queue.
        replay = Replay(gpus(1, 1, 1, 1), 1, patience, lambda one: (one.pods, one.since_ms, one.task))
        replay.run([*small, *gangs])
        return [replay.started[gang.waiting.task] - 20 for gang in gangs]

    assert min(waited(10**6)) > 200
    first, second = waited(patience_ms)
    assert patience_ms <= first <= patience_ms + 2 * 10
    assert first < second <= patience_ms + 4 * 10


def test_an_operators_window_is_kept_free():
    cluster = gpus(1)
    profile = Profile(cluster, 0, Claims(), Claims.of([Claim(0, GPU, 1, 30, 60)]))
    free = Backfill(profile)
    assert free.may(0, GPU, 1, 30)
    assert not free.may(0, GPU, 1, 31)
    underway = Backfill(Profile(cluster, 0, Claims(), Claims.of([Claim(0, GPU, 1, -5, 30)])))
    assert not underway.may(0, GPU, 1, 1)
    assert underway.reserved.tolist() == [True]
