"""How even sharing is measured."""

import pytest

from offchain.core.queues.fairness import jain


def test_jains_index_is_one_where_all_got_the_same_and_one_of_n_where_one_got_all():
    assert jain([0.3, 0.3, 0.3]) == pytest.approx(1)
    assert jain([1, 0, 0, 0]) == pytest.approx(1 / 4)
    assert jain([]) == jain([0, 0]) == 1
