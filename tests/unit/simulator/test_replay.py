"""A trace in virtual time: who starts when, and what is measured, worked out by hand."""

from dataclasses import replace
from itertools import pairwise

import pytest

from offchain.core.scheduler.cluster import HostSpec
from offchain.core.scheduler.demand import DemandDistribution
from offchain.core.scheduler.packing import FragmentationScore
from offchain.core.scheduler.pod_request import PodShape, jain_fairness
from offchain.core.scheduler.queue_definitions import EQUAL_SHARES, parse_queues
from offchain.simulator.fgd import FragmentationMeter
from offchain.simulator.measures import ValueSummary, max_min, simulate_replay
from offchain.simulator.names import POLICIES
from offchain.simulator.replay import MAX_SAMPLES, ClusterState, EventClock, SampleSeries
from offchain.simulator.sim_score_cache import SimScoreCache
from offchain.simulator.trace import Trace, with_gangs
from tests.support.replay_samples import BY_HAND, HALF, HOST, ONE, TWO, cluster, trace


def run(trace, order="fifo", hosts=(HOST,), prices=None):
    return simulate_replay(hosts, trace, "first_fit", order, seed=1, clock_s=lambda: 0.0, prices=prices)


def produced(trace, hosts=(HOST,), queues=EQUAL_SHARES):
    """The replay by the scheduler of the worker."""
    return simulate_replay(hosts, trace, "production", seed=1, clock_s=lambda: 0.0, queues=queues)


def started(outcome):
    return {run.arrival.number: run.start_ms // 1000 for run in outcome.replayed.runs}


def test_first_come_first_served_starts_each_when_there_is_room_for_all_before_it():
    assert started(run(BY_HAND)) == {0: 0, 1: 10, 2: 10, 3: 16, 4: 20}


def test_drf_starts_the_account_that_has_less():
    assert started(run(BY_HAND, "drf")) == {0: 0, 1: 10, 2: 18, 3: 10, 4: 14}


def test_utilisation_waits_slowdown_and_cost_are_those_worked_out_by_hand():
    found = run(BY_HAND, prices={"red": 2.0}).measures
    assert found.window_hours == pytest.approx(12 / 3600)
    assert found.until_end_hours == pytest.approx(24 / 3600)
    assert found.gpu_percent == pytest.approx(100.0)
    assert found.cpu_percent == pytest.approx(50.0)
    assert found.gpu_percent_until_end == pytest.approx(100 * 42 / 48)
    assert found.wait_s == ValueSummary(mean=7.6, p50=8.0, p95=13.0, p99=13.0, most=13.0)
    assert found.wait_s_by_size["part of a GPU"] == ValueSummary(8.0, 8.0, 8.0, 8.0, 8.0)
    assert found.wait_s_by_size["one GPU"].mean == 10.0
    assert found.wait_s_by_size["no GPU"] is None
    assert found.slowdown.mean == pytest.approx((1 + 1.9 + 1.4 + 1.7 + 1.2) / 5)
    assert found.cost == pytest.approx(42 / 3600 * 2)
    assert (found.started, found.refused) == (5, 0)


def test_fairness_compares_what_each_got_with_its_max_min_share():
    fifo, drf = run(BY_HAND).measures, run(BY_HAND, "drf").measures
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
    assert sorted(place.host for place in gang.slots) == [0, 1]


@pytest.mark.parametrize(
    ("shape", "pods"),
    [
        (PodShape(0, 0, 3, 1000), 1),
        (ONE, 3),
        (HALF, 5),
        (PodShape(0, 0, 1, 1000, frozenset({"blue"})), 1),
        (PodShape(17_000, 0), 1),
    ],
)
def test_tasks_beyond_the_cluster_are_refused_without_blocking_others(shape, pods):
    found = run(trace((0, 5, shape, "x", pods), (0, 5, ONE, "x")))
    assert [arrival.number for arrival in found.replayed.refused] == [0]
    assert started(found) == {1: 0}
    assert found.measures.refused == 1


def test_a_gang_that_fills_the_idle_hosts_starts():
    assert started(run(trace((0, 5, HALF, "x", 4)))) == {0: 0}


@pytest.mark.parametrize(("lasts", "starts"), [(300, 4), (2000, 1900)])
def test_production_admits_tasks_that_end_before_a_reserved_start(lasts, starts):
    lines = trace((0, 900, ONE, "x"), (2, 1000, TWO, "x"), (4, lasts, ONE, "y"))
    assert started(produced(lines)) == {0: 0, 1: 900, 2: starts}


def test_production_starts_a_large_task_that_small_ones_would_delay():
    small = [(second, 300, ONE, "x") for second in range(0, 3000, 200)]
    lines = trace(*sorted([*small, (100, 400, TWO, "x")], key=lambda line: line[0]))
    starts = {one.arrival.shape: one.start_ms // 1000 for one in produced(lines).replayed.runs}
    assert starts[TWO] == 300


def test_production_starts_a_gang_on_its_reserved_hosts():
    hosts = tuple(HostSpec(name, 16_000, 65_536, 2, "red") for name in "ab")
    lines = trace(
        (0, 6000, ONE, "x"), (0, 8000, ONE, "x"), (2, 5000, TWO, "x", 2), (4, 9000, ONE, "y"), (4, 4000, ONE, "y")
    )
    assert started(produced(lines, hosts)) == {0: 0, 1: 0, 2: 8000, 3: 13_000, 4: 4}


def test_in_production_weights_priorities_and_limits_of_queues_decide():
    queues = parse_queues("queues: {big: {weight: 3}, small: {account_most: {gpus: 1}}}")
    line = trace(*[(0, 10, ONE, "x") for _ in range(6)]).arrivals
    named = [
        replace(one, queue=queue, priority=priority)
        for one, (queue, priority) in zip(
            line, [("big", 1), ("big", 9), ("small", 1), ("small", 1), ("big", 1), ("big", 1)], strict=True
        )
    ]
    hosts = (HostSpec("a", 32_000, 65_536, 4, "red"),)
    found = produced(Trace(tuple(named), timed=True), hosts, queues)
    assert started(found) == {1: 0, 2: 0, 0: 0, 4: 0, 5: 10, 3: 10}


def test_in_production_a_task_held_by_a_limit_for_ever_is_refused():
    queues = parse_queues("queues: {small: {account_most: {gpus: 1}}}")
    (two, one) = trace((0, 1, TWO, "x"), (0, 1, ONE, "x")).arrivals
    lines = Trace((replace(two, queue="small"), replace(one, queue="small")), timed=True)
    found = produced(lines, queues=queues)
    assert [arrival.number for arrival in found.replayed.refused] == [0]
    assert started(found) == {1: 0}


def test_in_production_a_task_starts_with_the_next_block():
    assert started(produced(trace((0, 5, TWO, "x"), (1, 5, TWO, "x"), (3, 5, TWO, "x")))) == {0: 0, 1: 6, 2: 12}


def test_in_production_accounts_share_no_gpu():
    lines = trace((0, 6, HALF, "x"), (0, 6, HALF, "y"), (0, 6, HALF, "z"))
    assert sorted(started(produced(lines)).values()) == [0, 0, 6]
    assert sorted(started(run(lines)).values()) == [0, 0, 0]


def test_gangs_are_generated_by_the_seed_for_tasks_with_gpus():
    lines = trace(*[(0, 1, ONE if at % 2 else PodShape(100, 100), "x") for at in range(400)])
    made = with_gangs(lines, 50, 3)
    pods = [arrival.pods for arrival in made.arrivals]
    assert made == with_gangs(lines, 50, 3) != with_gangs(lines, 50, 4)
    assert set(pods[::2]) == {1}
    assert set(pods[1::2]) == {1, 2, 4, 8}
    assert 70 < sum(many > 1 for many in pods) < 130
    assert made.notes


def test_fragmentation_is_what_the_demand_is_not_expected_to_use():
    mine = cluster()
    fragments = FragmentationMeter(mine, DemandDistribution.of([ONE, HALF]))
    assert fragments.percent() == pytest.approx(0.0)
    mine.take(0, HALF, 0b1)
    # All can be used by HALF; by ONE only the whole GPU of the 1.5 that are free.
    assert fragments.percent() == pytest.approx(100 * 0.5 * 0.5 / 1.5)
    mine.take(0, PodShape(14_000, 0), 0)
    assert fragments.percent() == pytest.approx(100.0)
    mine.take(0, PodShape(0, 0, 1, 500), 0b1)
    mine.take(0, PodShape(0, 0, 1, 1000), 0b10)
    assert fragments.percent() == 0.0


def test_samples_are_at_even_steps_and_never_too_many():
    looks = []

    def look():
        looks.append(1)
        return ClusterState(1.0, 2.0, 3.0)

    series = SampleSeries(look, 2_000)
    for now_ms in (0, 1_000, 10_000_000):
        series.until(now_ms, 1, 2)
    times = [sample.at_ms for sample in series.samples]
    steps = {later - earlier for earlier, later in pairwise(times)}
    assert len(steps) == 1
    assert times[0] == 0
    assert MAX_SAMPLES // 2 <= len(times) < MAX_SAMPLES
    assert times[-1] < 10_000_000 <= times[-1] + steps.pop()
    assert len(looks) == 2


def test_a_sample_shows_the_state_after_all_events_of_its_moment():
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


def test_time_is_monotonic_and_ends_precede_arrivals():
    clock = EventClock()
    clock.at(5, 1, "comes")
    clock.at(5, 0, "ends")
    clock.at(7, 0, "later")
    assert clock.advance() == ["ends", "comes"]
    with pytest.raises(ValueError, match="4 ms is over"):
        clock.at(4, 0, "never")
    assert clock.next_ms() == 7


def test_the_score_cache_sees_released_resources():
    mine = cluster()
    demand = DemandDistribution.of([ONE, HALF])
    board = SimScoreCache(mine, FragmentationScore(mine, demand), 1)
    slots = [board.place(ONE), board.place(ONE)]
    assert board.place(ONE) is None
    assert board.place(HALF) is None
    board.release(ONE, slots[0])
    fresh = SimScoreCache(mine, FragmentationScore(mine, demand), 1)
    for shape in (ONE, HALF):
        board.score_all(shape)
        assert (board.score_all(shape) == fresh.score_all(shape)).all()
    assert board.place(HALF).devices == slots[0].devices
    assert board.place(ONE) is None


@pytest.mark.parametrize("policy", list(POLICIES))
def test_an_empty_trace_gives_empty_results(policy):
    found = simulate_replay((HOST,), trace(), policy, seed=1, clock_s=lambda: 0.0).replayed
    assert (found.runs, found.refused) == ([], [])
