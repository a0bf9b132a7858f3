"""A trace in virtual time: who starts when, and what is measured, worked out by hand."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from offchain.core.placing.board import Board, Place
from offchain.core.placing.cluster import HostSpec
from offchain.core.placing.policies import make
from offchain.core.placing.shapes import Mix, Shape
from offchain.core.replay.arrival import Trace
from offchain.core.replay.clock import Clock
from offchain.core.replay.drf import Drf
from offchain.core.replay.fairness import max_min
from offchain.core.replay.fifo import Fifo
from offchain.core.replay.fragments import Fragments
from offchain.core.replay.gangs import with_gangs
from offchain.core.replay.measures import Spread
from offchain.core.replay.names import ORDERS
from offchain.core.replay.order import Run
from offchain.core.replay.orders import make_order
from offchain.core.replay.queued import Queued
from offchain.core.replay.replay import replay
from offchain.core.replay.reserved import Reserved
from offchain.core.replay.series import MOST_SAMPLES, Series, State
from offchain.core.replay.simulate import simulate
from offchain.core.scheduler.queue_definitions import parse_queues
from offchain.core.scheduler.resources import jain_fairness
from tests.support.replay_samples import BY_HAND, HALF, HOST, ONE, TWO, arrivals, cluster, first_fit, trace


def run(trace, order=lambda _: Fifo(), hosts=(HOST,), backfill=None, prices=None):
    return simulate(
        hosts, trace, first_fit(*hosts), order, seed=1, clock_s=lambda: 0.0, backfill=backfill, prices=prices
    )


def started(outcome):
    return {run.arrival.number: run.start_ms // 1000 for run in outcome.replayed.runs}


def test_first_come_first_served_starts_each_when_there_is_room_for_all_before_it():
    assert started(run(BY_HAND)) == {0: 0, 1: 10, 2: 10, 3: 16, 4: 20}


def test_drf_starts_the_account_that_has_less():
    assert started(run(BY_HAND, Drf)) == {0: 0, 1: 10, 2: 18, 3: 10, 4: 14}


def test_utilisation_waits_slowdown_and_cost_are_those_worked_out_by_hand():
    found = run(BY_HAND, prices={"red": 2.0}).measures
    assert found.window_hours == pytest.approx(12 / 3600)
    assert found.until_end_hours == pytest.approx(24 / 3600)
    assert found.gpu_percent == pytest.approx(100.0)
    assert found.cpu_percent == pytest.approx(50.0)
    assert found.gpu_percent_until_end == pytest.approx(100 * 42 / 48)
    assert found.wait_s == Spread(mean=7.6, p50=8.0, p95=13.0, p99=13.0, most=13.0)
    assert found.wait_s_by_size["part of a GPU"] == Spread(8.0, 8.0, 8.0, 8.0, 8.0)
    assert found.wait_s_by_size["one GPU"].mean == 10.0
    assert found.wait_s_by_size["no GPU"] is None
    assert found.slowdown.mean == pytest.approx((1 + 1.9 + 1.4 + 1.7 + 1.2) / 5)
    assert found.cost == pytest.approx(42 / 3600 * 2)
    assert (found.started, found.refused) == (5, 0)


def test_fairness_compares_what_each_got_with_its_max_min_share():
    fifo, drf = run(BY_HAND).measures, run(BY_HAND, Drf).measures
    assert [(part.account, part.asked * 3600, part.got * 3600, part.fair * 3600) for part in fifo.accounts] == [
        ("alice", pytest.approx(18), pytest.approx(12), pytest.approx(10)),
        ("bob", pytest.approx(2), 0, pytest.approx(2)),
    ]
    assert fifo.jain_index == pytest.approx(0.5)
    assert drf.jain_index == pytest.approx(1.6**2 / (2 * (1.1**2 + 0.5**2)))


def test_max_min_gives_nobody_more_than_asked_and_the_rest_in_equal_parts():
    assert max_min([5.0, 1.0, 9.0], 9.0) == [4.0, 1.0, 4.0]
    assert max_min([1.0, 2.0], 9.0) == [1.0, 2.0]
    assert jain_fairness([1.0, 1.0]) == 1.0
    assert jain_fairness([3.0, 0.0, 0.0]) == pytest.approx(1 / 3)
    assert jain_fairness([]) == 1.0


def test_a_gang_starts_when_there_is_room_for_all_its_pods():
    hosts = (HostSpec("a", 8_000, 65_536, 1, "red"), HostSpec("b", 8_000, 65_536, 1, "red"))
    found = run(trace((0, 5, ONE, "x"), (1, 5, ONE, "x", 2), (2, 5, ONE, "x")), hosts=hosts)
    assert started(found) == {0: 0, 1: 5, 2: 10}
    gang = found.replayed.runs[1]
    assert sorted(place.host for place in gang.places) == [0, 1]


@pytest.mark.parametrize(
    ("shape", "pods"),
    [
        (Shape(0, 0, 3, 1000), 1),
        (ONE, 3),
        (HALF, 5),
        (Shape(0, 0, 1, 1000, frozenset({"blue"})), 1),
        (Shape(17_000, 0), 1),
    ],
)
def test_what_would_not_fit_on_empty_hosts_is_refused_and_holds_up_nobody(shape, pods):
    found = run(trace((0, 5, shape, "x", pods), (0, 5, ONE, "x")))
    assert [arrival.number for arrival in found.replayed.refused] == [0]
    assert started(found) == {1: 0}
    assert found.measures.refused == 1


def test_as_many_pods_of_a_gang_as_fit_on_empty_hosts_start():
    assert started(run(trace((0, 5, HALF, "x", 4)))) == {0: 0}


@pytest.mark.parametrize("order", list(ORDERS))
@pytest.mark.parametrize(("lasts", "starts"), [(3, 2), (20, 19)])
def test_with_backfill_those_pass_who_end_before_the_blocked_one_begins(order, lasts, starts):
    lines = trace((0, 9, ONE, "x"), (1, 10, TWO, "x"), (2, lasts, ONE, "y"))
    found = run(lines, lambda cluster: make_order(order, cluster, passes=True), backfill=Reserved)
    # DRF puts the account that has nothing first; the others are in order of arrival, all of one queue.
    assert started(found) == {0: 0, 1: 9, 2: starts}


def test_without_backfill_small_tasks_pass_a_large_one_as_long_as_they_come():
    small = [(second, 3, ONE, "x") for second in range(0, 30, 2)]
    lines = trace(*sorted([*small, (1, 4, TWO, "x")], key=lambda line: line[0]))

    def large_starts(backfill):
        found = run(
            lines, lambda cluster: make_order("queues", cluster, passes=backfill is not None), backfill=backfill
        )
        return next(one.start_ms // 1000 for one in found.replayed.runs if one.arrival.shape == TWO)

    assert large_starts(None) == 31
    assert large_starts(Reserved) == 3


def test_a_gang_starts_at_the_places_that_were_kept_for_it():
    hosts = tuple(HostSpec(name, 16_000, 65_536, 2, "red") for name in "ab")
    lines = trace((0, 6, ONE, "x"), (0, 8, ONE, "x"), (1, 5, TWO, "x", 2), (2, 9, ONE, "y"), (2, 4, ONE, "y"))
    found = run(lines, lambda _: Fifo(passes=True), hosts=hosts, backfill=Reserved)
    assert started(found) == {0: 0, 1: 0, 2: 8, 3: 13, 4: 2}


def test_nothing_is_kept_for_whoever_waits_no_more():
    hosts = cluster(HOST)
    reserved = Reserved(hosts)
    hosts.take(0, ONE, 1)
    (running, large) = arrivals((0, 9, ONE, "x"), (1, 5, TWO, "x"))
    reserved.placed(Run(running, 0, (Place(0, 1),)))
    reserved.came(large)
    reserved.begin(1000, lambda _: True)
    assert reserved.blocked(large) is None
    passing = arrivals((1, 20, ONE, "y"))[0]
    assert not reserved.allowed(passing, np.array([2])).any()
    reserved.left(large)
    asked: list[int] = []
    assert list(reserved.begin(700_000, lambda one: asked.append(one.number) or True)) == []
    assert asked == []
    assert reserved.allowed(passing, np.array([2])) is None


def test_in_queues_weights_priorities_and_limits_decide():
    queues = parse_queues("queues: {big: {weight: 3}, small: {account_most: {gpus: 1}}}")
    line = trace(*[(0, 10, ONE, "x") for _ in range(6)]).arrivals
    named = [
        replace(one, queue=queue, priority=priority)
        for one, (queue, priority) in zip(
            line, [("big", 1), ("big", 9), ("small", 1), ("small", 1), ("big", 1), ("big", 1)], strict=True
        )
    ]
    hosts = (HostSpec("a", 32_000, 65_536, 4, "red"),)
    found = run(Trace(tuple(named), timed=True), lambda cluster: Queued(cluster, queues), hosts=hosts)
    assert [one.arrival.number for one in found.replayed.runs] == [1, 2, 0, 4, 5, 3]
    assert started(found) == {1: 0, 2: 0, 0: 0, 4: 0, 5: 10, 3: 10}


def test_whom_a_limit_keeps_for_ever_is_refused():
    queues = parse_queues("queues: {small: {account_most: {gpus: 1}}}")
    (two, one) = trace((0, 1, TWO, "x"), (0, 1, ONE, "x")).arrivals
    lines = Trace((replace(two, queue="small"), replace(one, queue="small")), timed=True)
    found = run(lines, lambda cluster: Queued(cluster, queues))
    assert [arrival.number for arrival in found.replayed.refused] == [0]
    assert started(found) == {1: 0}


def test_gangs_are_made_up_by_the_seed_and_only_of_tasks_with_gpus():
    lines = trace(*[(0, 1, ONE if at % 2 else Shape(100, 100), "x") for at in range(400)])
    made = with_gangs(lines, 50, 3)
    pods = [arrival.pods for arrival in made.arrivals]
    assert made == with_gangs(lines, 50, 3) != with_gangs(lines, 50, 4)
    assert set(pods[::2]) == {1}
    assert set(pods[1::2]) == {1, 2, 4, 8}
    assert 70 < sum(many > 1 for many in pods) < 130
    assert made.notes


def test_who_passes_in_a_list_is_the_first_that_asks_for_something_else():
    order = Fifo(passes=True)
    two, other_two, one, half = arrivals((0, 1, TWO, "x"), (0, 1, TWO, "x"), (0, 1, ONE, "x"), (0, 1, HALF, "x"))
    for arrival in (two, other_two, one, half):
        order.add(arrival)
    order.begin(0)
    assert order.next() is two
    order.blocked(two)
    assert order.next() is one
    order.placed(one)
    assert order.next() is half
    order.blocked(half)
    assert order.next() is None
    order.begin(1)
    assert order.next() is two
    order.dropped(two)
    assert order.next() is other_two


def test_fragmentation_is_what_the_mix_is_not_expected_to_use():
    mine = cluster()
    fragments = Fragments(mine, Mix.of([ONE, HALF]))
    assert fragments.percent() == pytest.approx(0.0)
    mine.take(0, HALF, 0b1)
    # All can be used by HALF; by ONE only the whole GPU of the 1.5 that are free.
    assert fragments.percent() == pytest.approx(100 * 0.5 * 0.5 / 1.5)
    mine.take(0, Shape(14_000, 0), 0)
    assert fragments.percent() == pytest.approx(100.0)
    mine.take(0, Shape(0, 0, 1, 500), 0b1)
    mine.take(0, Shape(0, 0, 1, 1000), 0b10)
    assert fragments.percent() == 0.0


def test_samples_are_at_even_steps_and_never_too_many():
    looks = []

    def look():
        looks.append(1)
        return State(1.0, 2.0, 3.0)

    series = Series(look, 2_000)
    for now_ms in (0, 1_000, 10_000_000):
        series.until(now_ms, 1, 2)
    times = [sample.at_ms for sample in series.samples]
    steps = {later - earlier for earlier, later in pairwise(times)}
    assert len(steps) == 1
    assert times[0] == 0
    assert MOST_SAMPLES // 2 <= len(times) < MOST_SAMPLES
    assert times[-1] < 10_000_000 <= times[-1] + steps.pop()
    assert len(looks) == 2


def test_a_sample_shows_how_it_stood_after_all_that_happened_then():
    found = run(trace((0, 4, TWO, "x"), (2, 4, ONE, "x"), (200, 1, ONE, "x")))
    shown = {
        sample.at_ms // 1000: (sample.state.gpu_percent, sample.running, sample.waiting) for sample in found.samples
    }
    assert [shown[second] for second in (0, 2, 4, 8, 200)] == [
        (100.0, 1, 0),
        (100.0, 1, 1),
        (50.0, 1, 0),
        (0.0, 0, 0),
        (50.0, 1, 0),
    ]


def test_time_does_not_go_back_and_what_ends_makes_room_first():
    clock = Clock()
    clock.at(5, 1, "comes")
    clock.at(5, 0, "ends")
    clock.at(7, 0, "later")
    assert clock.advance() == ["ends", "comes"]
    with pytest.raises(ValueError, match="4 ms is over"):
        clock.at(4, 0, "never")
    assert clock.next_ms() == 7


def test_the_board_sees_what_was_given_back():
    mine = cluster()
    board = Board(mine, make("worth", mine, Mix.of([ONE, HALF]), 1), 1)
    places = [board.put(ONE), board.put(ONE)]
    assert board.put(ONE) is None
    assert board.put(HALF) is None
    board.give(ONE, places[0])
    fresh = Board(mine, make("worth", mine, Mix.of([ONE, HALF]), 1), 1)
    for shape in (ONE, HALF):
        board.look(shape)
        fresh.look(shape)
        assert (board.scores(shape) == fresh.scores(shape)).all()
    assert board.put(HALF).devices == places[0].devices
    assert board.put(ONE) is None


def test_a_replay_of_nothing_is_nothing():
    mine = cluster()
    board = Board(mine, make("first_fit", mine, Mix(), 1), 1)
    found = replay(board, (), Fifo(), Series(lambda: State(0.0, 0.0, 0.0), 0))
    assert (found.runs, found.refused) == ([], [])
