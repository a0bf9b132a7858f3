"""How even sharing is measured."""

import pytest

from offchain.core.queues.amount import NOTHING, Amount
from offchain.core.queues.fairness import Fairness, jain
from tests.queue_samples import TOTALS


def gpus(count: float) -> Amount:
    return Amount(0, 0, int(1000 * count))


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
