"""Attacks on challenges, 100 runs each, against committees of honest verifiers in simulated time."""

import math

import pytest

from offchain.core.verifier.duties import FindingKind
from offchain.core.verifier.examination import examine_proof, late_answer
from offchain.schema.chain_types._generated_chain import Ballot, ChallengeAnswer, ChallengeOutcome, ChallengePhase
from offchain.schema.challenge.models import MODELS
from tests.support import challenge_attackers as attackers
from tests.support.challenge_attackers import A100, ATTACK, H100, RUNS, AttackCount, counted
from tests.support.challenge_records import challenge
from tests.support.challenge_samples import SEED, Proof, honest
from tests.support.challenge_simulation import SMALL_WORK, ChallengeRun, LatencyModel

HONEST_RUNS = 200


def assert_caught(count: AttackCount) -> None:
    """The attack is caught as often as computed, within four standard deviations."""
    expected = count.attack.expected
    assert expected is not None
    tolerance = 4 * math.sqrt(count.runs * expected * (1 - expected))
    assert abs(count.caught - count.runs * expected) <= tolerance + 1, count
    if expected == 1:
        assert count.passed == 0, count


def test_no_honest_host_is_found_against() -> None:
    ends = [ChallengeRun(attackers.honest_plan(run), run).result() for run in range(HONEST_RUNS)]
    assert [end for end in ends if end.outcome is ChallengeOutcome.FAILED] == []
    assert sum(end.outcome is ChallengeOutcome.PASSED for end in ends) >= 0.95 * HONEST_RUNS


def test_an_honest_answer_that_waits_for_room_in_blocks_is_missed_and_not_found_against() -> None:
    slow = LatencyModel(inclusion=(100, 12_000))
    ends = [ChallengeRun(attackers.honest_plan(run), run, slow).result() for run in range(HONEST_RUNS)]
    outcomes = {end.outcome for end in ends}
    assert ChallengeOutcome.MISSED in outcomes
    assert ChallengeOutcome.FAILED not in outcomes
    assert sum(end.no_votes for end in ends) <= HONEST_RUNS // 20


@pytest.mark.parametrize("name", ["fake-model", "memory-in-host", "memory-computed-again", "precomputed"])
def test_an_attack_that_computes_too_slowly_or_too_early_is_caught(name: str) -> None:
    assert_caught(counted(ATTACK[name]))


def test_a_host_that_does_not_store_a_hundredth_of_its_pages_is_caught() -> None:
    assert_caught(counted(ATTACK["memory-pages-missing"]))


@pytest.mark.parametrize("name", ["partial-50", "partial-80", "partial-95"])
def test_a_host_that_computes_a_share_of_the_rows_is_caught_as_often_as_computed(name: str) -> None:
    assert_caught(counted(ATTACK[name]))


def test_a_challenge_that_is_forwarded_to_a_device_of_the_claimed_model_is_not_noticed() -> None:
    """The limit of the proof that docs/trust.md states: it shows access to a device, not possession."""
    count = counted(ATTACK["proxied"])
    assert count.caught == 0
    assert count.passed >= 0.95 * RUNS


def test_one_device_behind_two_hosts_is_late_for_one_of_two_challenges_at_once() -> None:
    """A device that is much faster than expected of its model may be in time for both."""
    count = counted(ATTACK["proxied-shared"])
    assert count.caught >= 0.8 * RUNS


def test_a_faster_kind_of_products_hides_a_slower_model_in_some_runs() -> None:
    """The limit that docs/trust.md states: 4-bit entries can be multiplied by 8-bit units."""
    count = counted(ATTACK["fake-model-8bit"])
    assert 0 < count.passed < RUNS


def test_a_share_of_the_pages_outside_of_the_device_is_bounded_by_the_deadline() -> None:
    assert 0.03 < attackers.unnoticed_missing_share(H100, attackers.BUS_RATE) < 0.10
    assert attackers.unnoticed_missing_share(H100, attackers.RECOMPUTE_RATE) < 0.02


def test_every_model_meets_its_own_deadline_and_the_slower_one_does_not() -> None:
    for model in MODELS:
        limit_s = attackers.terms_with(model).deadline_ms / 1000
        assert attackers.honest_seconds(model) * attackers.SLOWEST + 10 <= limit_s, model.name
    assert attackers.seconds_of(A100, H100) > attackers.terms_with(H100).deadline_ms / 1000


def test_a_finding_about_an_answer_is_by_its_time_first_and_then_by_its_proof() -> None:
    terms = attackers.terms_with(H100)
    assert late_answer(terms, terms.deadline_ms) is None
    late = late_answer(terms, terms.deadline_ms + 1)
    assert late is not None
    assert (late.kind, f"at most {terms.deadline_ms} ms" in late.reason) == (FindingKind.WRONG, True)

    proof = honest(SMALL_WORK)
    other = Proof(proof.rows[::-1].copy(), proof.chains, SMALL_WORK)
    for shown, kind in ((proof, FindingKind.RIGHT), (other, FindingKind.WRONG)):
        commitment = shown.commitment()
        answer = ChallengeAnswer(commitment.digest(), 5_000)
        record = challenge(ChallengePhase.COMMITTING, answer=answer, ballot=Ballot(0, 5, SEED, (), ()))
        documents = (commitment.to_bytes(), shown.opening(bytes(32)).to_bytes())
        assert examine_proof(record, terms, 5_000, bytes(32), documents).kind is kind
        other_draw = examine_proof(record, terms, 5_000, bytes([1] * 32), documents)
        assert other_draw.kind is FindingKind.NOT_SHOWN, "host and verifier may be on different forks"
        malformed = examine_proof(record, terms, 5_000, bytes(32), (b"{}", documents[1]))
        assert (malformed.kind, "malformed" in malformed.reason) == (FindingKind.WRONG, True)
