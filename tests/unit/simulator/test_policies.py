"""Each policy on a cluster small enough to say where the pod belongs."""

import numpy as np
import pytest

from offchain.core.scheduler.cluster import HostSpec
from offchain.core.scheduler.columns import SharingLevels
from offchain.core.scheduler.demand import DemandDistribution
from offchain.core.scheduler.packing import MAX_SIZES, FragmentationScore, merge_rare_sizes, piece_values
from offchain.core.scheduler.pod_request import PodShape
from offchain.core.scheduler.sharing_demand import levels_of
from offchain.simulator.names import BASELINES
from offchain.simulator.policies import make_policy
from offchain.simulator.sim_score_cache import SimScoreCache
from tests.support.placing_samples import BLUE, HALF, HOSTS, MIX, PLAIN, WHOLE, cluster

FRAGMENTATION = "fragmentation"
"""The score of the production policy."""


def policy_of(name, mine, mix):
    return FragmentationScore(mine, mix) if name == FRAGMENTATION else make_policy(name, mine, mix)


def placed(name, shape, *, before=(), hosts=HOSTS, mix=MIX):
    """Where the policy puts the pod, after pods on given hosts and devices."""
    mine = cluster(*hosts)
    for host, other, devices in before:
        mine.take(host, other, devices)
    slot = SimScoreCache(mine, policy_of(name, mine, mix), 1).place(shape)
    return None if slot is None else mine.names[slot.host]


@pytest.mark.parametrize("name", [*BASELINES, FRAGMENTATION])
def test_only_a_feasible_host_with_an_accepted_model_is_chosen(name):
    assert placed(name, BLUE) == "c"
    assert placed(name, PodShape(0, 0, 8, 1000)) == "c"
    assert placed(name, PodShape(0, 0, 9, 1000)) is None
    assert placed(name, PodShape(64_000, 262_144), before=[(3, PLAIN, 0)]) == "c"
    assert placed(name, PodShape(1, 1, 1, 1, frozenset({"green"}))) is None


def test_an_unknown_policy_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="no policy 'magic': fgd, best_fit"):
        make_policy("magic", cluster(), MIX)


def test_first_fit_takes_the_first_in_the_list():
    assert placed("first_fit", WHOLE) == "a"
    assert placed("first_fit", WHOLE, before=[(0, PodShape(0, 0, 4, 1000), 0b1111)]) == "b"


def test_best_fit_leaves_the_least_free():
    assert placed("best_fit", WHOLE) == "b"
    assert placed("best_fit", HALF, before=[(0, PodShape(24_000, 0, 3, 1000), 0b111)]) == "a"


@pytest.mark.parametrize("name", ["fgd", FRAGMENTATION])
def test_half_a_gpu_goes_to_a_half_used_gpu(name):
    assert placed(name, HALF, before=[(2, HALF, 0b1000)], mix=DemandDistribution.of([WHOLE, HALF])) == "c"


def test_pods_without_gpus_keep_cores_for_gpus():
    hosts = (HostSpec("gpus", 32_000, 65_536, 4, "red"), HostSpec("taken", 32_000, 65_536, 1, "red"))
    mix = DemandDistribution.of([PodShape(8_000, 0, 1, 1000)])
    assert placed(FRAGMENTATION, PLAIN, before=[(1, PodShape(0, 0, 1, 1000), 1)], hosts=hosts, mix=mix) == "taken"


@pytest.mark.parametrize(("cores", "gib", "lost"), [(0, 0, False), (3, 0, False), (8, 0, True), (0, 4, True)])
def test_cores_count_1_4_times_for_expected_pods_and_memory_once(cores, gib, lost):
    mine = cluster(HostSpec("one", 16_000, 16_384, 4, "red"))
    policy = FragmentationScore(mine, DemandDistribution.of([PodShape(4_000, 4_096, 1, 1000)]))
    scores, devices = np.zeros(1), np.zeros(1, dtype=np.int64)
    policy.score(PodShape(1000 * cores, 1024 * gib), np.array([0]), scores, devices)
    assert bool(policy.parts(scores)["worth lost"][0] > 0) is lost


def test_a_model_is_kept_for_pods_that_accept_no_other():
    hosts = (HostSpec("common", 64_000, 65_536, 6, "red"), HostSpec("rare", 16_000, 65_536, 2, "blue"))
    assert placed(FRAGMENTATION, WHOLE, hosts=hosts, mix=DemandDistribution.of([WHOLE, WHOLE, BLUE])) == "common"


def test_a_share_is_not_placed_where_the_rest_becomes_useless():
    # 470 + 470 and 320 + 320 + 320 fill a GPU; 470 + 320 leave nothing of use.
    small, large = PodShape(1_000, 1_024, 1, 320), PodShape(1_000, 1_024, 1, 470)
    mix = DemandDistribution.of([small, small, small, large, large])
    hosts = (HostSpec("begun", 64_000, 65_536, 1, "red"), HostSpec("idle", 64_000, 65_536, 1, "red"))
    assert placed(FRAGMENTATION, small, before=[(0, large, 1)], hosts=hosts, mix=mix) == "idle"
    assert placed(FRAGMENTATION, large, before=[(0, large, 1)], hosts=hosts, mix=mix) == "begun"


@pytest.mark.parametrize(("shares", "host"), [(128, "idle"), (64, "idle"), (1, "begun"), (0, "begun")])
def test_a_share_joins_another_of_its_account_if_few_more_are_expected_of_it(shares, host):
    # The rest of a device that the account shares is worth as much as the account itself will use of it.
    small, large = (PodShape(1_000, 1_024, 1, milli, account="alice") for milli in (320, 470))
    mix = DemandDistribution.of([small, small, small, large, large])
    mine = cluster(*(HostSpec(name, 64_000, 65_536, 1, "red") for name in ("begun", "idle")))
    mine.take(0, large, 1)
    level = int(levels_of(np.array([shares]), np.zeros(1, dtype=np.int64))[0])
    mine.set_sharing_levels(SharingLevels({"alice": level}, 1))
    slot = SimScoreCache(mine, FragmentationScore(mine, mix), 1).place(small)
    assert mine.names[slot.host] == host


def test_the_value_of_a_piece_is_its_best_cut():
    values = piece_values({470: 2.0, 320: 3.0})
    assert values[1000] == pytest.approx(1)
    assert values[[319, 320, 469, 470, 640, 940]] == pytest.approx([0, 1 / 3, 1 / 3, 1 / 2, 2 / 3, 1])


def test_shares_that_fill_waste_have_no_value():
    # For each 810 there is room for a 150 beside it, and there are fewer of those.
    values = piece_values({810: 10.0, 150: 2.0})
    assert values[150] == 0
    assert values[810] == pytest.approx(1)


def test_rare_sizes_count_as_the_next_larger():
    rare = dict.fromkeys(range(2, 999), 1e-09)
    kept = merge_rare_sizes(rare | {470: 2.0, 320: 3.0})
    assert len(kept) == MAX_SIZES
    assert {320, 470, 998} < set(kept)
    assert sum(kept.values()) == pytest.approx(5 + 995e-9)
    values = piece_values(rare | {470: 2.0, 320: 3.0})
    assert values[[320, 470, 640, 940]] == pytest.approx([1 / 3, 1 / 2, 2 / 3, 1], abs=1e-3)


def test_without_demand_no_piece_has_value():
    assert not piece_values({}).any()
    assert not np.isnan(piece_values({1: 1.0})).any()
