"""What failed on a host lately."""

from __future__ import annotations

from core_builders import host
from score_cases import WANT, fleet

from offchain.core.planning.scores.failures import failures
from tests.support.chain_records import ask


def test_the_failures_of_a_host_are_those_that_were_told():
    there = fleet(host("a"), host("b"))
    there.troubled("b", 0.75)
    assert failures(WANT, there.facts).tolist() == [0, 0.75]


def test_a_new_record_of_the_host_forgets_none_of_them():
    there = fleet(host("a"), host("b"))
    there.troubled("b", 0.75)
    there.put([host("b", ask=ask(gpu_per_hour=1))])
    assert failures(WANT, there.facts).tolist() == [0, 0.75]


def test_what_was_told_last_counts():
    there = fleet(host("a"))
    there.troubled("a", 0.75)
    there.troubled("a", 0.25)
    assert failures(WANT, there.facts).tolist() == [0.25]


def test_failures_of_a_host_that_is_not_known_are_nobodys():
    there = fleet(host("a"))
    assert there.troubled("unheard-of", 1) is None
    assert failures(WANT, there.facts).tolist() == [0]
