"""Who is made to leave for whom, by name."""

from dataclasses import replace

import numpy as np
import pytest

from offchain.core.preempting.rules import MINUTE, Past, Rules, Running, Wanting
from offchain.core.preempting.victims import Refused, preempt
from offchain.core.queues.amount import NOTHING, Amount
from offchain.core.queues.rights import ABOVE_ROOT, Node, Rights
from offchain.core.scheduler.cluster import Cluster, HostSlot, HostSpec
from offchain.core.scheduler.pod_request import PodShape
from offchain.core.timing.backfill import Backfill
from offchain.core.timing.claims import Claim, Claims
from offchain.core.timing.releases import Profile
from offchain.core.timing.reservations import Waiting, reserve
from tests.support.queue_samples import OWN
from tests.support.timing_samples import GPU, HALF, PAIR, gpus

TENTH = PodShape(1, 1, 1, 100)
NOW = 100 * MINUTE
RULES = Rules(notice_ms=MINUTE, least_run_ms=10 * MINUTE, most=2)


def spot(task, *places, shape=GPU, priority=0, saved_ms=None, rate=1, started_ms=0, cost=0):
    places = tuple(HostSlot(*place) for place in places)
    return Running(task, 0, priority, True, shape, places, rate, started_ms, saved_ms, cost)  # noqa: FBT003


def wanting(shape=GPU, pods=1, priority=5, task=99):
    return Wanting(task, "mine", priority, shape, pods, 1000)


def ask(cluster, running, want, past=None, closed=None):
    for one in running:
        for place in one.places:
            cluster.take(place.host, one.shape, place.devices)
    return preempt(want, running, cluster, NOW, RULES, past or Past(), OWN, closed)


def victims(*args, **more):
    found = ask(*args, **more)
    return found if isinstance(found, Refused) else [running.task for running in found.victims]


def test_the_one_that_loses_the_least_work_is_the_victim():
    running = [spot(1, (0, 1)), spot(2, (1, 1), saved_ms=NOW - 5), spot(3, (2, 1), saved_ms=NOW - 9)]
    found = ask(gpus(1, 1, 1), running, wanting())
    assert [one.task for one in found.victims] == [2]
    assert found.places == (HostSlot(1, 1),)
    assert found.notice_ends_ms == NOW + MINUTE
    assert found.cost == 5 + MINUTE


def test_what_a_victim_pays_and_what_its_restart_costs_count():
    assert victims(gpus(1, 1), [spot(1, (0, 1), rate=2), spot(2, (1, 1), rate=3)], wanting()) == [1]
    assert victims(gpus(1, 1), [spot(1, (0, 1), cost=9), spot(2, (1, 1))], wanting()) == [2]


@pytest.mark.parametrize("priority", [5, 6])
def test_nobody_of_the_same_or_a_higher_priority_leaves(priority):
    assert victims(gpus(1), [spot(1, (0, 1), priority=priority)], wanting()) is Refused.NOBODY


def test_only_spot_tasks_leave():
    firm = Running(1, 0, 0, False, GPU, (HostSlot(0, 1),), 1, 0)  # noqa: FBT003
    assert victims(gpus(1), [firm], wanting()) is Refused.NOBODY


def test_where_it_fits_without_nobody_leaves():
    assert victims(gpus(2), [spot(1, (0, 1))], wanting()) is Refused.FITS


def test_who_is_not_needed_stays():
    halves = [spot(1, (0, 0b01), shape=HALF, rate=1), spot(2, (0, 0b01), shape=HALF, rate=1)]
    assert victims(gpus(2), [*halves, spot(3, (0, 0b10), rate=5)], wanting()) == [2, 1]
    assert victims(gpus(2), [*halves, spot(3, (0, 0b10), rate=1)], wanting()) == [3]
    assert victims(gpus(1, 2), [spot(1, (0, 1)), spot(2, (1, 0b11), shape=PAIR, rate=3)], wanting(pods=2)) == [2]


def test_one_that_costs_more_than_each_of_two_may_still_cost_less_than_both():
    halves = [spot(1, (0, 0b01), shape=HALF, rate=2), spot(2, (0, 0b01), shape=HALF, rate=4)]
    assert victims(gpus(2), [*halves, spot(3, (0, 0b10), rate=5)], wanting()) == [3]


def test_a_gang_takes_the_cheapest_hosts_and_what_is_free():
    running = [spot(1, (0, 1), rate=5), spot(2, (1, 1), rate=2), spot(3, (2, 1), rate=3)]
    found = ask(gpus(1, 1, 1, 1), running, wanting(pods=3))
    assert [one.task for one in found.victims] == [2, 3]
    assert {place.host for place in found.places} == {1, 2, 3}


def test_a_gang_that_ends_leaves_all_its_hosts():
    assert victims(gpus(1, 1), [spot(1, (0, 1), (1, 1))], wanting(pods=2)) == [1]
    both = [spot(1, (0, 1), (1, 1), rate=3), spot(2, (2, 1), rate=2), spot(3, (3, 1), rate=2)]
    assert victims(gpus(1, 1, 1, 1), both, wanting(pods=2)) == [1]


def test_what_no_spot_tasks_hold_enough_for_is_refused():
    assert victims(gpus(1, 1), [spot(1, (0, 1))], wanting(pods=3)) is Refused.NOBODY
    assert victims(gpus(1), [spot(1, (0, 1))], wanting(PAIR)) is Refused.NOBODY


def test_hosts_of_other_models_and_reserved_ones_are_left_alone():
    hosts = Cluster.of([HostSpec("r", 1000, 1024, 1, "red"), HostSpec("b", 1000, 1024, 1, "blue")])
    blue = PodShape(1000, 1024, 1, 1000, frozenset({"blue"}))
    assert victims(hosts, [spot(1, (0, 1)), spot(2, (1, 1), rate=9)], wanting(blue)) == [2]
    closed = np.array([True, False])
    assert victims(gpus(1, 1), [spot(1, (0, 1)), spot(2, (1, 1), rate=9)], wanting(), closed=closed) == [2]


def test_the_only_host_whose_tasks_may_leave_is_found_behind_many_cheaper_ones():
    many = 600
    running = [replace(spot(host, (host, 1)), part=1) for host in range(many)]
    running += [replace(spot(many, (many, 1), rate=9), part=2)]
    cluster = gpus(*[1] * (many + 1))
    for one in running:
        cluster.take(one.places[0].host, one.shape, one.places[0].devices)
    # Part 1 has a right to all that it holds, part 2 to nothing.
    whole = Amount(0, 0, 1000 * (many + 1))
    nodes = [
        Node(ABOVE_ROOT, 1.0, whole, 1.0),
        Node(0, 1.0, Amount(0, 0, 1000 * many), 0.999),
        Node(0, 1.0, Amount(0, 0, 1000), 0.0),
        Node(0, 1.0, NOTHING, 0.01),
    ]
    takings = Rights(whole, nodes).taking(3, Amount(0, 0, 1000))
    found = preempt(wanting(), running, cluster, NOW, RULES, Past(), takings)
    assert [one.task for one in found.victims] == [many]


def test_of_many_tasks_on_a_host_those_are_found_who_may_leave_together():
    # The pod needs half of each of two GPUs, and part 1 may lose half of one: not on the one where that is cheapest.
    first = [spot(task, (0, 0b01), shape=TENTH, rate=50) for task in range(10)]
    second = [spot(task, (0, 0b10), shape=TENTH, rate=1) for task in range(10, 15)]
    other = [replace(spot(task, (0, 0b10), shape=TENTH, rate=9), part=2) for task in range(15, 20)]
    running = [replace(one, part=1) for one in (*first, *second)] + other
    cluster = gpus(2)
    for one in running:
        cluster.take(0, one.shape, one.places[0].devices)
    whole = Amount(0, 0, 2000)
    nodes = [
        Node(ABOVE_ROOT, 1.0, whole, 1.0),
        Node(0, 1.0, Amount(0, 0, 1500), 0.5),
        Node(0, 1.0, Amount(0, 0, 500), 0.0),
        Node(0, 1.0, NOTHING, 0.5),
    ]
    takings = Rights(whole, nodes).taking(3, Amount(0, 0, 1000))
    found = preempt(wanting(PodShape(1, 1, 2, 500)), running, cluster, NOW, RULES, Past(), takings)
    tasks = {one.task for one in found.victims}
    assert len(tasks) == 10
    assert set(range(15, 20)) <= tasks, "those of part 2, so that part 1 loses only what it may"


@pytest.mark.parametrize("others", [0, 100])
def test_a_gang_finds_those_who_may_leave_together_among_however_many(others):
    # Part 1 may lose four GPUs. The cheapest holds three and makes room for one pair: for another too few are left.
    triple = PodShape(3000, 3072, 3, 1000)
    running = [
        spot(0, (0, 0b111), shape=triple),
        spot(1, (1, 3), shape=PAIR, rate=90),
        spot(2, (2, 3), shape=PAIR, rate=91),
    ]
    running += [spot(3 + at, (3 + at, 1), rate=200) for at in range(others)]
    running = [replace(one, part=1) for one in running]
    cluster = gpus(3, 2, 2, *[1] * others)
    for one in running:
        cluster.take(one.places[0].host, one.shape, one.places[0].devices)
    many = 1000 * (7 + others)
    whole = Amount(0, 0, many)
    nodes = [
        Node(ABOVE_ROOT, 1.0, whole, 1.0),
        Node(0, 1.0, whole, (many - 4000) / many),
        Node(0, 1.0, NOTHING, 4000 / many),
    ]
    takings = Rights(whole, nodes).taking(2, Amount(0, 0, 4000))
    found = preempt(wanting(PAIR, pods=2), running, cluster, NOW, RULES, Past(), takings)
    assert [one.task for one in found.victims] == [1, 2]
    assert found.cost == sum(RULES.cost(one, NOW) for one in found.victims)


def test_a_victim_makes_nobody_leave_until_it_has_started_again():
    running, low = [spot(1, (0, 1), priority=3)], spot(2, (1, 1))
    cluster = gpus(1, 1)
    done = ask(cluster, [*running, low], wanting(pods=2))
    past = Past().after(done, NOW, RULES)
    again = Wanting(1, 0, 3, GPU, 1, 1000)
    assert preempt(again, [low], cluster, NOW, RULES, past, OWN) is Refused.VICTIM
    assert preempt(wanting(task=98), [low], cluster, NOW, RULES, past, OWN) is Refused.NOBODY, "it is leaving already"
    assert preempt(again, [low], cluster, NOW, RULES, past.started(1).ended(2), OWN) is not Refused.VICTIM


def test_who_made_others_leave_is_not_made_to_leave_before_it_has_run_for_a_while():
    past = Past().after(ask(gpus(1), [spot(1, (0, 1))], wanting(task=7, priority=2)), NOW, RULES)
    young = spot(7, (0, 1), priority=2, started_ms=NOW - 10 * MINUTE + 1)
    old = spot(7, (0, 1), priority=2, started_ms=NOW - 10 * MINUTE)
    assert victims(gpus(1), [young], wanting(), past) is Refused.NOBODY
    assert victims(gpus(1), [old], wanting(), past) == [7]
    assert victims(gpus(1), [young], wanting(), past.ended(7)) == [7]


def test_an_account_makes_others_leave_only_so_often():
    done = ask(gpus(1), [spot(1, (0, 1))], wanting())
    hour = RULES.window_ms
    past = Past().after(done, NOW - hour, RULES).after(done, NOW - hour + 1, RULES).ended(1)
    assert victims(gpus(1), [spot(2, (0, 1))], wanting(), past) == [2]
    past = past.after(done, NOW, RULES).ended(1)
    assert victims(gpus(1), [spot(2, (0, 1))], wanting(), past) is Refused.TOO_OFTEN
    assert len(past.made["mine"]) == 2


def test_while_the_notice_runs_nobody_else_takes_the_room():
    cluster = gpus(1)
    low = spot(1, (0, 1))
    found = ask(cluster, [low], wanting())
    leases = Claims()
    leases.put(1, Claim(0, GPU, 1, 0, found.notice_ends_ms))
    # The victim leaves before its notice ends.
    cluster.release(0, GPU, 1)
    leases.drop(1)
    profile = Profile(cluster, NOW, leases)
    profile.add(found.reservation().claims())
    free = Backfill(profile)
    assert free.may(0, GPU, 1, found.notice_ends_ms)
    assert not free.may(0, GPU, 1, found.notice_ends_ms + 1)
    want = found.wanting
    waiting = Waiting(want.task, want.shape, want.pods, want.longest_ms, 0)
    at_once = reserve(Profile(cluster, NOW, leases), [waiting], {want.task: found.reservation()})
    assert at_once[want.task].start_ms == NOW
