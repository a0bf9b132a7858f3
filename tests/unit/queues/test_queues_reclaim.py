"""What is taken back of what was lent, and how even sharing is measured."""

import pytest

from offchain.core.queues.amount import NOTHING, Amount
from offchain.core.queues.fairness import Fairness, jain
from offchain.core.queues.reclaim import Reclaim, reclaims
from offchain.core.queues.tree import Part, Queue, tree
from tests.queue_samples import TOTALS, claim, holding, turn

LAB, SHOP, SPEECH = Part("lab"), Part("shop"), Part("lab/speech")
EVEN = tree((Queue("lab"), Queue("shop")))


def gpus(count: float) -> Amount:
    return Amount(0, 0, int(1000 * count))


def test_what_was_borrowed_is_taken_back_up_to_what_is_wanted():
    found = reclaims(EVEN, TOTALS, {LAB: gpus(10)}, {SHOP: gpus(2)})
    assert found == (Reclaim(LAB, gpus(2)),)


def test_no_more_is_taken_than_others_have_a_right_to():
    found = reclaims(EVEN, TOTALS, {LAB: gpus(9), SHOP: gpus(1)}, {SHOP: gpus(20)})
    assert found == (Reclaim(LAB, gpus(4)),)


def test_what_is_free_serves_first():
    assert reclaims(EVEN, TOTALS, {LAB: gpus(8)}, {SHOP: gpus(4)}, free=gpus(2)) == (Reclaim(LAB, gpus(2)),)
    assert reclaims(EVEN, TOTALS, {LAB: gpus(8)}, {SHOP: gpus(2)}, free=gpus(2)) == ()


def test_who_wants_more_than_its_right_gets_nothing_back():
    assert reclaims(EVEN, TOTALS, {LAB: gpus(5), SHOP: gpus(5)}, {SHOP: gpus(5), LAB: gpus(1)}) == ()


def test_nothing_is_taken_where_nobody_waits():
    assert reclaims(EVEN, TOTALS, {LAB: gpus(10)}, {}) == ()


def test_the_furthest_above_its_right_gives_first():
    queues = tree((Queue("lab"), Queue("shop"), Queue("night")))
    holds = {LAB: gpus(6), Part("night"): gpus(4)}
    found = reclaims(queues, TOTALS, holds, {SHOP: gpus(3), LAB: gpus(1), Part("night"): gpus(1)})
    assert [one.part for one in found] == [LAB, Part("night")]
    assert sum(one.amount.gpu_milli for one in found) == 3000


def test_a_part_pays_for_its_sibling_before_another_queue_does():
    queues = tree((Queue("lab/vision"), Queue("lab/speech"), Queue("shop")))
    vision = Part("lab/vision")
    found = reclaims(queues, TOTALS, {vision: gpus(5), SHOP: gpus(5)}, {SPEECH: gpus(2), SHOP: gpus(1)})
    assert found == (Reclaim(vision, gpus(2)),)


def test_accounts_of_the_default_have_equal_rights():
    alice, bob = Part("default", "alice"), Part("default", "bob")
    assert reclaims(tree(), TOTALS, {alice: gpus(10)}, {bob: gpus(8)}) == (Reclaim(alice, gpus(5)),)


def test_only_what_is_short_is_taken():
    found = reclaims(EVEN, TOTALS, {LAB: Amount(90_000, 50_000, 9000)}, {SHOP: Amount(10_000, 0, 0)})
    assert found == (Reclaim(LAB, Amount(10_000, 0, 0)),)


def test_a_turn_says_what_there_is_to_take_back():
    waiting = [claim(n, queue="shop") for n in range(1, 4)]
    held = [holding(claim(n, queue="lab")) for n in range(10, 20)]
    found = turn(*waiting, queues=(Queue("lab"), Queue("shop")), used=held)
    taken = reclaims(EVEN, TOTALS, found.holdings(), found.wanted())
    assert taken == (Reclaim(LAB, Amount(0, 0, 3000)),)


def test_jains_index_is_one_where_all_got_the_same_and_one_of_n_where_one_got_all():
    assert jain([0.3, 0.3, 0.3]) == pytest.approx(1)
    assert jain([1, 0, 0, 0]) == pytest.approx(1 / 4)
    assert jain([]) == jain([0, 0]) == 1


def test_fairness_compares_what_was_got_with_what_was_asked_for():
    fairness = Fairness()
    fairness.passed(1000, {"alice": gpus(4)}, {"alice": gpus(4), "bob": gpus(1)}, TOTALS)
    fairness.passed(1000, {"bob": gpus(1)}, {"carol": NOTHING}, TOTALS)
    assert fairness.got == {"alice": pytest.approx(400), "bob": pytest.approx(100), "carol": 0}
    assert fairness.asked == {"alice": pytest.approx(800), "bob": pytest.approx(200), "carol": 0}
    assert fairness.index() == pytest.approx(1)


def test_what_a_contented_queue_leaves_is_divided_among_the_others():
    queues = tree((Queue("lab"), Queue("shop"), Queue("night")))
    holds = {LAB: gpus(9), SHOP: gpus(1)}
    found = reclaims(queues, TOTALS, holds, {Part("night"): gpus(5), LAB: gpus(1)})
    assert found == (Reclaim(LAB, gpus(4.5)),)
