"""What a host's score on the chain lacks of the best."""

from __future__ import annotations

import pytest
from core_builders import host
from score_cases import fleet, scored


@pytest.mark.parametrize(("ppm", "against"), [(1_000_000, 0), (750_000, 0.25), (500_000, 0.5), (0, 1)])
def test_it_counts_what_a_host_lacks_of_the_best(ppm, against):
    assert scored("reputation", host(score_ppm=ppm)) == [against]


def test_an_unknown_host_is_in_the_middle():
    good, new, bad = scored("reputation", host("a", score_ppm=1_000_000), host("b"), host("c", score_ppm=0))
    assert good < new < bad
    assert new == 0.5


def test_a_lease_more_or_less_does_not_score_a_host_anew():
    there = fleet(host(score_ppm=700_000))
    assert not there.put([host(score_ppm=701_000)]).facts
    assert there.put([host(score_ppm=740_000)]).facts


def test_steps_are_rounded_down_so_nobody_counts_as_better_than_it_is():
    assert scored("reputation", host(score_ppm=999_999)) == [1 / 32]
