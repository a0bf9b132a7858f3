"""The cluster that fills up, and capacity that is taken and given back."""

from unittest.mock import patch

import pytest

from offchain.core.scheduler.cluster import HostSpec
from offchain.core.scheduler.demand import MAX_ROWS, DemandDistribution, ExpectedDemand
from offchain.core.scheduler.pod_request import WHOLE_GPU, PodShape
from offchain.core.scheduler.sharing_demand import SharingDemand
from offchain.simulator import generated
from offchain.simulator.filling import LOAD_MARKS, arrivals, simulate_fill
from tests.support.placing_samples import BLUE, HALF, HOSTS, PAIR, PLAIN, WHOLE, cluster


class Clock:
    """A clock that advances by a second at each reading."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


def run(policy="production", seed=1, load=130.0, hosts=HOSTS, pods=(WHOLE, HALF, PAIR, PLAIN), accounts=0):
    mix = DemandDistribution.of(pods)
    return simulate_fill(hosts, mix, policy, load_percent=load, seed=seed, clock_s=Clock(), accounts=accounts)


def test_pods_arrive_until_they_have_asked_for_the_load():
    came = list(arrivals(DemandDistribution.of([WHOLE]), 10_500, 1))
    assert len(came) == 11
    assert list(arrivals(DemandDistribution.of([WHOLE, HALF]), 20_000, 1)) == list(
        arrivals(DemandDistribution.of([WHOLE, HALF]), 20_000, 1)
    )
    assert list(arrivals(DemandDistribution.of([WHOLE, HALF]), 20_000, 1)) != list(
        arrivals(DemandDistribution.of([WHOLE, HALF]), 20_000, 2)
    )


def test_each_pod_is_placed_or_failed():
    found = run(pods=(WHOLE,))
    assert found.filled.pods == 19  # 130 % of 14 GPUs, rounded up
    assert (found.filled.failed, found.filled.failed_with_gpus) == (5, 5)
    assert found.allocation_percent == 100.0
    assert found.filled.at_load == dict.fromkeys(LOAD_MARKS, 100.0)
    assert found.decisions_per_second == 19


def test_a_lower_load_leaves_the_cluster_part_empty():
    found = run(load=50, pods=(WHOLE,))
    assert found.allocation_percent == 50.0
    assert found.filled.at_load == {}


def test_a_cluster_without_gpus_is_refused():
    with pytest.raises(ValueError, match="no pod asks for a GPU"):
        run(pods=(PLAIN,))
    with pytest.raises(ValueError, match="no node has a GPU"):
        run(hosts=HOSTS[3:])


def test_the_production_policy_fills_the_generated_trace_better_than_first_fit():
    hosts, pods = generated.hosts(1, 100), generated.pods(1, 1000)
    reached = {name: run(name, hosts=hosts, pods=pods).allocation_percent for name in ("production", "first_fit")}
    assert reached["production"] > reached["first_fit"]


def test_the_production_policy_refuses_no_pod_for_its_price():
    large = HostSpec("large", 256_000, 4_194_304, 8, "red")
    assert run(hosts=(large,), pods=(PodShape(256_000, 4_194_304, 8, 1000),)).allocation_percent == 100.0


@pytest.mark.parametrize("policy", ["production", "fgd"])
def test_accounts_do_not_share_a_gpu(policy):
    # Each of a thousand accounts asks for half a GPU: nobody's other half is of use to others.
    assert run(policy, pods=(HALF,), accounts=1).allocation_percent == 100.0
    assert run(policy, pods=(HALF,), accounts=10**9).allocation_percent == 50.0


def test_released_resources_are_free_again():
    mine = cluster()
    mine.take(0, PAIR, 0b101)
    assert list(mine.free.device[0, :4]) == [0, WHOLE_GPU, 0, WHOLE_GPU]
    assert (mine.free.cpu[0], mine.free.memory[0], mine.free_milli) == (24_000, 114_688, 12_000)
    mine.release(0, PAIR, 0b101)
    assert mine.free_milli == mine.total_milli
    assert mine.free.cpu[0] == HOSTS[0].cpu_milli


@pytest.mark.parametrize(
    ("host", "shape", "devices"),
    [(0, PAIR, 0b1), (1, WHOLE, 0b100), (1, PodShape(16_001, 0), 0), (0, BLUE, 0b1), (1, PodShape(0, 65_537), 0)],
)
def test_allocation_beyond_capacity_is_refused(host, shape, devices):
    mine = cluster()
    with pytest.raises(ValueError, match="cannot take"):
        mine.take(host, shape, devices)
    assert mine.free_milli == mine.total_milli


def test_release_beyond_capacity_is_refused():
    mine = cluster()
    mine.take(0, HALF, 0b1)
    with pytest.raises(ValueError, match="can have run"):
        mine.release(0, WHOLE, 0b1)


def test_many_shapes_are_merged_to_few_rows_with_the_same_mean():
    pods = [PodShape(1000 + 7 * index, 2000 + 11 * index, 1, 100 + index) for index in range(800)]
    expected = ExpectedDemand(DemandDistribution.of(pods), cluster(HostSpec("a", 1, 1, 1, "red")))
    assert 1 < len(expected.rows.cpu) <= MAX_ROWS
    rows = expected.by_class(expected.share)[1]
    assert rows.sum() == pytest.approx(1)
    assert (rows * expected.rows.cpu).sum() == pytest.approx(sum(pod.cpu_milli for pod in pods) / len(pods), rel=1e-3)


def test_production_packs_shares_of_many_accounts_better_than_if_all_could_use_the_rest():
    hosts, pods = generated.hosts(1, 100), generated.pods(1)
    allocated = run(hosts=hosts, pods=pods, accounts=50).allocation_percent
    with patch.object(SharingDemand, "refresh", return_value=None):
        assert allocated > run(hosts=hosts, pods=pods, accounts=50).allocation_percent + 1
