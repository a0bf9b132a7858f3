"""Preemption on small clusters."""

from dataclasses import replace

import numpy as np
import pytest

from offchain.core.scheduler.availability import Allocation, AvailabilityProfile, LeaseEnds
from offchain.core.scheduler.cluster import Cluster, HostSlot, HostSpec
from offchain.core.scheduler.entitlements import NO_PARENT, EntitlementNode, Entitlements
from offchain.core.scheduler.pod_request import NO_RESOURCES, PodShape, ResourceAmount
from offchain.core.scheduler.preemption import (
    PreemptionHistory,
    PreemptionPolicy,
    PreemptionRefused,
    Preemptor,
    preempt,
)
from offchain.core.scheduler.reservations import Reservation, ReservationRequest, reserve
from offchain.core.scheduler.victim_sets import RunningTask
from offchain.schema.durations import MINUTE_MS
from tests.support.queue_samples import OWN
from tests.support.reservation_samples import GPU, HALF, PAIR, SampleBackfill, gpus

TENTH = PodShape(1, 1, 1, 100)
NOW = 100 * MINUTE_MS
RULES = PreemptionPolicy(notice_ms=MINUTE_MS, min_run_ms=10 * MINUTE_MS, max_per_account=2)


def spot(task, *places, shape=GPU, priority=0, rate=1, started_ms=0):
    places = tuple(HostSlot(*place) for place in places)
    return RunningTask(task, 0, priority, True, shape, places, rate, started_ms)  # noqa: FBT003


def preemptor(shape=GPU, pods=1, priority=5, task=99):
    return Preemptor(task, "mine", priority, shape, pods)


def ask(cluster, running, want, past=None, closed=None):
    for one in running:
        for place in one.places:
            cluster.take(place.host, one.shape, place.devices)
    return preempt(want, running, cluster, NOW, RULES, past or PreemptionHistory(), OWN, closed)


def victims(*args, **more):
    found = ask(*args, **more)
    return found if isinstance(found, PreemptionRefused) else [running.task for running in found.victims]


def test_the_task_that_loses_the_least_work_is_the_victim():
    running = [spot(1, (0, 1)), spot(2, (1, 1), started_ms=NOW - 5), spot(3, (2, 1), started_ms=NOW - 9)]
    found = ask(gpus(1, 1, 1), running, preemptor())
    assert [one.task for one in found.victims] == [2]
    assert found.places == (HostSlot(1, 1),)
    assert found.notice_ends_ms == NOW + MINUTE_MS
    assert RULES.cost(found.victims[0], NOW) == 5 + MINUTE_MS


def test_the_rate_of_a_victim_counts():
    assert victims(gpus(1, 1), [spot(1, (0, 1), rate=2), spot(2, (1, 1), rate=3)], preemptor()) == [1]


@pytest.mark.parametrize("priority", [5, 6])
def test_tasks_of_equal_or_higher_priority_are_not_preempted(priority):
    assert victims(gpus(1), [spot(1, (0, 1), priority=priority)], preemptor()) is PreemptionRefused.NOBODY


def test_only_spot_tasks_are_preempted():
    firm = RunningTask(1, 0, 0, False, GPU, (HostSlot(0, 1),), 1, 0)  # noqa: FBT003
    assert victims(gpus(1), [firm], preemptor()) is PreemptionRefused.NOBODY


def test_a_feasible_task_preempts_no_other():
    assert victims(gpus(2), [spot(1, (0, 1))], preemptor()) is PreemptionRefused.FITS


def test_victims_that_are_not_needed_stay():
    halves = [spot(1, (0, 0b01), shape=HALF, rate=1), spot(2, (0, 0b01), shape=HALF, rate=1)]
    assert victims(gpus(2), [*halves, spot(3, (0, 0b10), rate=5)], preemptor()) == [2, 1]
    assert victims(gpus(2), [*halves, spot(3, (0, 0b10), rate=1)], preemptor()) == [3]
    assert victims(gpus(1, 2), [spot(1, (0, 1)), spot(2, (1, 0b11), shape=PAIR, rate=3)], preemptor(pods=2)) == [2]


def test_one_expensive_victim_may_cost_less_than_two_cheap_ones():
    halves = [spot(1, (0, 0b01), shape=HALF, rate=2), spot(2, (0, 0b01), shape=HALF, rate=4)]
    assert victims(gpus(2), [*halves, spot(3, (0, 0b10), rate=5)], preemptor()) == [3]


def test_a_gang_gets_the_cheapest_hosts_and_free_ones():
    running = [spot(1, (0, 1), rate=5), spot(2, (1, 1), rate=2), spot(3, (2, 1), rate=3)]
    found = ask(gpus(1, 1, 1, 1), running, preemptor(pods=3))
    assert [one.task for one in found.victims] == [2, 3]
    assert {place.host for place in found.places} == {1, 2, 3}


def test_a_preempted_gang_frees_all_of_its_hosts():
    assert victims(gpus(1, 1), [spot(1, (0, 1), (1, 1))], preemptor(pods=2)) == [1]
    both = [spot(1, (0, 1), (1, 1), rate=3), spot(2, (2, 1), rate=2), spot(3, (3, 1), rate=2)]
    assert victims(gpus(1, 1, 1, 1), both, preemptor(pods=2)) == [1]


def test_preemption_is_refused_if_all_spot_tasks_together_are_not_enough():
    assert victims(gpus(1, 1), [spot(1, (0, 1))], preemptor(pods=3)) is PreemptionRefused.NOBODY
    assert victims(gpus(1), [spot(1, (0, 1))], preemptor(PAIR)) is PreemptionRefused.NOBODY


def test_hosts_of_other_models_and_reserved_hosts_are_excluded():
    hosts = Cluster.of([HostSpec("r", 1000, 1024, 1, "red"), HostSpec("b", 1000, 1024, 1, "blue")])
    blue = PodShape(1000, 1024, 1, 1000, frozenset({"blue"}))
    assert victims(hosts, [spot(1, (0, 1)), spot(2, (1, 1), rate=9)], preemptor(blue)) == [2]
    closed = np.array([True, False])
    assert victims(gpus(1, 1), [spot(1, (0, 1)), spot(2, (1, 1), rate=9)], preemptor(), closed=closed) == [2]


def test_the_only_allowed_host_is_found_behind_many_cheaper_ones():
    many = 600
    running = [replace(spot(host, (host, 1)), leaf=1) for host in range(many)]
    running += [replace(spot(many, (many, 1), rate=9), leaf=2)]
    cluster = gpus(*[1] * (many + 1))
    for one in running:
        cluster.take(one.places[0].host, one.shape, one.places[0].devices)
    # Part 1 has a right to all that it holds, part 2 to nothing.
    whole = ResourceAmount(0, 0, 1000 * (many + 1))
    nodes = [
        EntitlementNode(NO_PARENT, 1.0, whole, 1.0),
        EntitlementNode(0, 1.0, ResourceAmount(0, 0, 1000 * many), 0.999),
        EntitlementNode(0, 1.0, ResourceAmount(0, 0, 1000), 0.0),
        EntitlementNode(0, 1.0, NO_RESOURCES, 0.01),
    ]
    policies = Entitlements(whole, nodes).reclaim_policies(3, ResourceAmount(0, 0, 1000))
    found = preempt(preemptor(), running, cluster, NOW, RULES, PreemptionHistory(), policies)
    assert [one.task for one in found.victims] == [many]


def test_the_only_allowed_set_of_victims_on_a_host_is_found():
    # The pod needs half of each of two GPUs, and part 1 may lose half of one: not on the one where that is cheapest.
    first = [spot(task, (0, 0b01), shape=TENTH, rate=50) for task in range(10)]
    second = [spot(task, (0, 0b10), shape=TENTH, rate=1) for task in range(10, 15)]
    other = [replace(spot(task, (0, 0b10), shape=TENTH, rate=9), leaf=2) for task in range(15, 20)]
    running = [replace(one, leaf=1) for one in (*first, *second)] + other
    cluster = gpus(2)
    for one in running:
        cluster.take(0, one.shape, one.places[0].devices)
    whole = ResourceAmount(0, 0, 2000)
    nodes = [
        EntitlementNode(NO_PARENT, 1.0, whole, 1.0),
        EntitlementNode(0, 1.0, ResourceAmount(0, 0, 1500), 0.5),
        EntitlementNode(0, 1.0, ResourceAmount(0, 0, 500), 0.0),
        EntitlementNode(0, 1.0, NO_RESOURCES, 0.5),
    ]
    policies = Entitlements(whole, nodes).reclaim_policies(3, ResourceAmount(0, 0, 1000))
    found = preempt(preemptor(PodShape(1, 1, 2, 500)), running, cluster, NOW, RULES, PreemptionHistory(), policies)
    tasks = {one.task for one in found.victims}
    assert len(tasks) == 10
    assert set(range(15, 20)) <= tasks, "those of part 2, so that part 1 loses only what it may"


@pytest.mark.parametrize("others", [0, 100])
def test_the_only_allowed_set_of_victims_for_a_gang_is_found(others):
    # Part 1 may lose four GPUs. The cheapest holds three and makes room for one pair: for another too few are left.
    triple = PodShape(3000, 3072, 3, 1000)
    running = [
        spot(0, (0, 0b111), shape=triple),
        spot(1, (1, 3), shape=PAIR, rate=90),
        spot(2, (2, 3), shape=PAIR, rate=91),
    ]
    running += [spot(3 + at, (3 + at, 1), rate=200) for at in range(others)]
    running = [replace(one, leaf=1) for one in running]
    cluster = gpus(3, 2, 2, *[1] * others)
    for one in running:
        cluster.take(one.places[0].host, one.shape, one.places[0].devices)
    many = 1000 * (7 + others)
    whole = ResourceAmount(0, 0, many)
    nodes = [
        EntitlementNode(NO_PARENT, 1.0, whole, 1.0),
        EntitlementNode(0, 1.0, whole, (many - 4000) / many),
        EntitlementNode(0, 1.0, NO_RESOURCES, 4000 / many),
    ]
    policies = Entitlements(whole, nodes).reclaim_policies(2, ResourceAmount(0, 0, 4000))
    found = preempt(preemptor(PAIR, pods=2), running, cluster, NOW, RULES, PreemptionHistory(), policies)
    assert [one.task for one in found.victims] == [1, 2]


def test_a_preemptor_is_not_preempted_before_it_has_run_for_a_while():
    past = PreemptionHistory().after(ask(gpus(1), [spot(1, (0, 1))], preemptor(task=7, priority=2)), NOW, RULES)
    young = spot(7, (0, 1), priority=2, started_ms=NOW - 10 * MINUTE_MS + 1)
    old = spot(7, (0, 1), priority=2, started_ms=NOW - 10 * MINUTE_MS)
    assert victims(gpus(1), [young], preemptor(), past) is PreemptionRefused.NOBODY
    assert victims(gpus(1), [old], preemptor(), past) == [7]
    assert victims(gpus(1), [young], preemptor(), past.ended(7)) == [7]


def test_preemptions_of_an_account_are_rate_limited():
    done = ask(gpus(1), [spot(1, (0, 1))], preemptor())
    hour = RULES.window_ms
    past = PreemptionHistory().after(done, NOW - hour, RULES).after(done, NOW - hour + 1, RULES).ended(1)
    assert victims(gpus(1), [spot(2, (0, 1))], preemptor(), past) == [2]
    past = past.after(done, NOW, RULES).ended(1)
    assert victims(gpus(1), [spot(2, (0, 1))], preemptor(), past) is PreemptionRefused.TOO_OFTEN
    assert len(past.preempted_at["mine"]) == 2


def test_the_places_are_reserved_during_the_notice():
    cluster = gpus(1)
    low = spot(1, (0, 1))
    found = ask(cluster, [low], preemptor())
    leases = LeaseEnds()
    leases.put_task(1, [Allocation(0, GPU, 1, 0, found.notice_ends_ms)])
    # The victim leaves before its notice ends.
    cluster.release(0, GPU, 1)
    leases.drop((1,))
    profile = AvailabilityProfile(cluster, NOW, leases)
    want = found.preemptor
    reservation = Reservation(want.task, want.shape, found.notice_ends_ms, 1000, found.places)
    profile.add(reservation.allocations())
    free = SampleBackfill(profile)
    assert free.is_allowed(0, GPU, 1, found.notice_ends_ms)
    assert not free.is_allowed(0, GPU, 1, found.notice_ends_ms + 1)
    waiting = ReservationRequest(want.task, want.shape, want.pods, 1000, 0)
    at_once = reserve(AvailabilityProfile(cluster, NOW, leases), [waiting], {want.task: reservation})
    assert at_once[want.task].start_ms == NOW
