"""Each policy on a cluster small enough to say where the pod belongs."""

import numpy as np
import pytest

from offchain.core.placing.board import Board
from offchain.core.placing.cluster import HostSpec
from offchain.core.placing.cuts import MOST_SIZES, few, piece_values
from offchain.core.placing.names import POLICIES
from offchain.core.placing.policies import make
from offchain.core.placing.shapes import Mix, Shape
from offchain.core.placing.worth import Worth
from tests.support.placing_samples import BLUE, HALF, HOSTS, MIX, PLAIN, WHOLE, cluster


def placed(name, shape, *, before=(), hosts=HOSTS, mix=MIX):
    """Where the policy puts the pod, after pods on given hosts and devices."""
    mine = cluster(*hosts)
    for host, other, devices in before:
        mine.take(host, other, devices)
    host = Board(mine, make(name, mine, mix, 1), 1).place(shape)
    return None if host is None else mine.names[host]


@pytest.mark.parametrize("name", POLICIES)
def test_only_a_host_with_room_and_an_accepted_model_is_chosen(name):
    assert placed(name, BLUE) == "c"
    assert placed(name, Shape(0, 0, 8, 1000)) == "c"
    assert placed(name, Shape(0, 0, 9, 1000)) is None
    assert placed(name, Shape(64_000, 262_144), before=[(3, PLAIN, 0)]) == "c"
    assert placed(name, Shape(1, 1, 1, 1, frozenset({"green"}))) is None


def test_an_unknown_policy_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="no policy 'magic': worth, fgd"):
        make("magic", cluster(), MIX, 1)


def test_first_fit_takes_the_first_in_the_list():
    assert placed("first_fit", WHOLE) == "a"
    assert placed("first_fit", WHOLE, before=[(0, Shape(0, 0, 4, 1000), 0b1111)]) == "b"


def test_best_fit_takes_the_host_where_the_least_is_left():
    assert placed("best_fit", WHOLE) == "b"
    assert placed("best_fit", HALF, before=[(0, Shape(24_000, 0, 3, 1000), 0b111)]) == "a"


def test_dot_product_avoids_hosts_that_have_much_of_what_is_asked_for():
    assert placed("dot_product", WHOLE) == "b"
    assert placed("dot_product", Shape(8_000, 0), before=[(3, Shape(60_000, 0), 0)]) == "b"


def test_gpu_packing_shares_a_gpu_in_use_before_it_breaks_another():
    assert placed("gpu_packing", HALF, before=[(2, HALF, 0b1)]) == "c"
    assert placed("gpu_packing", WHOLE, before=[(2, HALF, 0b1)]) == "c"
    assert placed("gpu_packing", WHOLE) == "b"


def test_random_hosts_differ_by_seed_and_not_within_one():
    def hosts(seed):
        mine = cluster()
        board = Board(mine, make("random", mine, MIX, seed), seed)
        return [board.place(HALF) for _ in range(12)]

    assert hosts(1) == hosts(1)
    assert len({tuple(hosts(seed)) for seed in range(5)}) > 1


@pytest.mark.parametrize("name", ["fgd", "worth"])
def test_half_a_gpu_goes_where_the_other_half_is_taken(name):
    assert placed(name, HALF, before=[(2, HALF, 0b1000)], mix=Mix.of([WHOLE, HALF])) == "c"


def test_pods_without_gpus_leave_the_cores_that_gpus_need():
    hosts = (HostSpec("gpus", 32_000, 65_536, 4, "red"), HostSpec("taken", 32_000, 65_536, 1, "red"))
    mix = Mix.of([Shape(8_000, 0, 1, 1000)])
    assert placed("worth", PLAIN, before=[(1, Shape(0, 0, 1, 1000), 1)], hosts=hosts, mix=mix) == "taken"


@pytest.mark.parametrize(
    ("factors", "lost"), [((1.0, 1.0), True), ((1.5, 1.0), True), ((1.0, 1.5), True), ((1.5, 1.5), False)]
)
def test_cores_and_memory_count_more_than_once_among_pods_that_are_unlike(factors, lost):
    mine = cluster(HostSpec("one", 16_000, 16_384, 4, "red"))
    policy = Worth(mine, Mix.of([Shape(4_000, 4_096, 1, 1000)]), 1.0, *factors)
    scores, devices = np.zeros(1), np.zeros(1, dtype=np.int64)
    policy.score(Shape(4_000, 4_096), np.array([0]), scores, devices)
    assert bool(policy.parts(scores)["worth lost"][0] > 0) is lost


def test_worth_keeps_a_model_for_the_pods_that_accept_no_other():
    hosts = (HostSpec("common", 64_000, 65_536, 6, "red"), HostSpec("rare", 16_000, 65_536, 2, "blue"))
    assert placed("worth", WHOLE, hosts=hosts, mix=Mix.of([WHOLE, WHOLE, BLUE])) == "common"


def test_worth_does_not_put_a_share_where_it_spoils_the_rest():
    # 470 + 470 and 320 + 320 + 320 fill a GPU; 470 + 320 leave nothing of use.
    small, large = Shape(1_000, 1_024, 1, 320), Shape(1_000, 1_024, 1, 470)
    mix = Mix.of([small, small, small, large, large])
    hosts = (HostSpec("begun", 64_000, 65_536, 1, "red"), HostSpec("idle", 64_000, 65_536, 1, "red"))
    assert placed("worth", small, before=[(0, large, 1)], hosts=hosts, mix=mix) == "idle"
    assert placed("worth", large, before=[(0, large, 1)], hosts=hosts, mix=mix) == "begun"


def test_a_piece_is_worth_the_best_that_can_be_cut_from_it():
    values = piece_values({470: 2.0, 320: 3.0})
    assert values[1000] == pytest.approx(1)
    assert values[[319, 320, 469, 470, 640, 940]] == pytest.approx([0, 1 / 3, 1 / 3, 1 / 2, 2 / 3, 1])


def test_shares_that_fill_what_others_waste_are_worth_nothing():
    # For each 810 there is room for a 150 beside it, and there are fewer of those.
    values = piece_values({810: 10.0, 150: 2.0})
    assert values[150] == 0
    assert values[810] == pytest.approx(1)


def test_of_many_sizes_the_usual_ones_count_and_others_as_the_next_larger():
    rare = dict.fromkeys(range(2, 999), 1e-09)
    kept = few(rare | {470: 2.0, 320: 3.0})
    assert len(kept) == MOST_SIZES
    assert {320, 470, 998} < set(kept)
    assert sum(kept.values()) == pytest.approx(5 + 995e-9)
    values = piece_values(rare | {470: 2.0, 320: 3.0})
    assert values[[320, 470, 640, 940]] == pytest.approx([1 / 3, 1 / 2, 2 / 3, 1], abs=1e-3)


def test_nothing_expected_makes_every_piece_worthless():
    assert not piece_values({}).any()
    assert not np.isnan(piece_values({1: 1.0})).any()
