"""Withheld reveals and colluding hosts, 100 runs each, against the chance that is computed."""

import math

import pytest

from offchain.schema.chain_types._generated_chain import ChallengeOutcome
from tests.support import verdict_attackers as attackers
from tests.support.challenge_attackers import RUNS


def deviations(chance: float) -> float:
    """Four standard deviations of a count in `RUNS` runs, and one."""
    return 4 * math.sqrt(RUNS * chance * (1 - chance)) + 1


@pytest.mark.parametrize("share", attackers.SHARES)
def test_withheld_reveals_deny_an_honest_host_its_verdict_as_often_as_computed(share: float) -> None:
    count = attackers.withheld(share)
    chance = attackers.two_captured_chance(share)
    denied = count.outcomes[ChallengeOutcome.NO_VERDICT]
    # Failures of processes and transfers cost some verdicts beside.
    assert RUNS * chance - deviations(chance) <= denied <= RUNS * chance + deviations(chance) + 0.05 * RUNS, count
    assert count.outcomes[ChallengeOutcome.FAILED] == 0, "nobody is found against by silence"
    assert count.withheld > 0, "each of these votes costs the absence penalty"


def test_a_fake_host_escapes_by_withheld_reveals_only_with_many_of_the_bonds() -> None:
    few, half = attackers.withheld_fake(0.1), attackers.withheld_fake(0.5)
    assert few.outcomes[ChallengeOutcome.FAILED] >= 0.95 * RUNS
    assert half.outcomes[ChallengeOutcome.FAILED] < 0.8 * RUNS
    assert half.outcomes[ChallengeOutcome.PASSED] == 0, "it is never verified: silence is no vote for it"


@pytest.mark.parametrize("hosts", [1, 10, 33, 50])
def test_wrong_results_are_agreed_as_often_as_computed(hosts: int) -> None:
    count = attackers.colluding(hosts)
    chance = attackers.accepted_chance(hosts)
    assert count.caught + count.accepted == RUNS
    assert abs(count.accepted - RUNS * chance) <= deviations(chance), (count, chance)
    assert count.honest_slashed <= count.accepted
    if hosts == 1:
        assert count.caught == RUNS, "a host that lies alone is always found"
