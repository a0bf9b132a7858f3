"""What a tenant is told before it submits."""

from offchain.core.timing.claims import Claims
from offchain.core.timing.start import Never
from offchain.core.timing.wait import Ahead, Wait, expected_start
from tests.timing_samples import GPU, PAIR, gpus, lease, running


def wait(cluster, leases, ahead, mine, **more):
    return expected_start(cluster, leases, Claims(), ahead, mine, 0, **more)


def test_with_room_and_nobody_ahead_it_starts_now():
    assert wait(gpus(1), Claims(), [], Ahead(GPU, 1, 10, 5)) == Wait(0, 0, ())


def test_the_soonest_is_by_expected_times_and_the_latest_by_maxima():
    cluster = gpus(1)
    leases = running(cluster, lease(0, 100, expected_ms=40))
    told = wait(cluster, leases, [Ahead(GPU, 1, 50, 20)], Ahead(GPU, 1, 10, 5))
    assert told == Wait(60, 150, ("there is no room for it now", "tasks ahead of it: 1"))


def test_a_small_task_may_overtake_at_best_and_does_not_at_worst():
    cluster = gpus(2)
    leases = running(cluster, lease(0, 100))
    told = wait(cluster, leases, [Ahead(PAIR, 1, 50, 50)], Ahead(GPU, 1, 100, 100))
    assert told == Wait(0, 150, ("tasks ahead of it: 1",))


def test_what_can_never_start_is_told_and_does_not_count_where_it_is_ahead():
    assert isinstance(wait(gpus(1), Claims(), [], Ahead(PAIR, 1, 9, 9)), Never)
    told = wait(gpus(1), Claims(), [Ahead(PAIR, 1, 9, 9)], Ahead(GPU, 1, 9, 9))
    assert (told.soonest_ms, told.latest_ms) == (0, 0)
    assert told.reasons == ("tasks ahead that can never start, and do not count: 1",)


def test_of_a_long_queue_the_rest_counts_by_how_long_all_hosts_are_busy_with_it():
    ahead = [Ahead(GPU, 1, 20, 10)] * 100
    mine = Ahead(GPU, 1, 20, 10)
    exact = wait(gpus(1, 1), Claims(), ahead, mine)
    rough = wait(gpus(1, 1), Claims(), ahead, mine, one_by_one=10)
    assert (exact.soonest_ms, exact.latest_ms) == (500, 1000)
    assert abs(rough.soonest_ms - 500) <= 20
    assert abs(rough.latest_ms - 1000) <= 40
    assert rough.reasons[-1] == "only the first 10 were planned one by one"
