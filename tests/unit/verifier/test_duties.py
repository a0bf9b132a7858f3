"""Duties of a verifier, step by step."""

from dataclasses import replace

from offchain.core.verifier.duties import (
    ADVANCE_MS,
    EXAMINE_AGAIN_MS,
    RETRY_MS,
    AdvanceChallenge,
    CallEnded,
    ChallengesSeen,
    CommitVote,
    DutyKey,
    Examine,
    Examined,
    Finding,
    FindingKind,
    ForgetVote,
    RevealVote,
    StoredVote,
    StoreVote,
    VerifierState,
    VoteStored,
    handle,
)
from offchain.schema.chain_types._generated_chain import ChallengePhase, ChallengeRecord, Vote
from tests.support.challenge_records import ANOTHER, ANSWERED_AT, COMMIT_MS, ME, challenge, seat

KEY = DutyKey(7, 0)
STORED = StoredVote(Vote.YES, bytes(32), "right")
COMMITTING = challenge(ChallengePhase.COMMITTING, seat(ME), seat(ANOTHER))
REVEALING = challenge(ChallengePhase.REVEALING, seat(ME, bytes([9] * 32)), seat(ANOTHER))
NOW = ANSWERED_AT + 2_000
LATE = ANSWERED_AT + COMMIT_MS - COMMIT_MS // 3
START = VerifierState(ME)


def seen(record: ChallengeRecord | None) -> ChallengesSeen:
    return ChallengesSeen({} if record is None else {7: record}, COMMIT_MS)


def test_an_answer_is_examined_once_and_the_vote_is_stored_before_it_is_committed() -> None:
    state, found = handle(START, seen(COMMITTING), NOW)
    assert found == (Examine(KEY, COMMITTING),)
    assert handle(state, seen(COMMITTING), NOW)[1] == ()
    state, found = handle(state, Examined(KEY, Finding(FindingKind.RIGHT, "right")), NOW)
    assert found == (StoreVote(KEY, Vote.YES, "right"),)
    assert handle(state, seen(COMMITTING), NOW)[1] == ()
    state, found = handle(state, VoteStored(KEY, STORED), NOW)
    assert found == (CommitVote(KEY, STORED),)
    assert handle(state, seen(COMMITTING), NOW)[1] == ()


def test_a_restarted_verifier_commits_and_reveals_what_it_had_stored() -> None:
    restarted = VerifierState(ME, {KEY: STORED})
    assert handle(restarted, seen(COMMITTING), NOW)[1] == (CommitVote(KEY, STORED),)
    assert handle(restarted, seen(REVEALING), NOW)[1] == (RevealVote(KEY, STORED),)


def test_a_vote_that_was_lost_cannot_be_revealed() -> None:
    assert handle(START, seen(REVEALING), NOW)[1] == ()


def test_a_wrong_proof_is_voted_against() -> None:
    state, _ = handle(START, seen(COMMITTING), NOW)
    _, found = handle(state, Examined(KEY, Finding(FindingKind.WRONG, "row 3 is wrong")), NOW)
    assert found == (StoreVote(KEY, Vote.NO, "row 3 is wrong"),)


def test_a_host_that_shows_nothing_is_asked_again_and_voted_against_when_the_time_is_nearly_over() -> None:
    state, _ = handle(START, seen(COMMITTING), NOW)
    state, found = handle(state, Examined(KEY, Finding(FindingKind.NOT_SHOWN, "no answer")), NOW)
    assert found == ()
    assert handle(state, seen(COMMITTING), NOW + EXAMINE_AGAIN_MS - 1)[1] == ()
    assert handle(state, seen(COMMITTING), NOW + EXAMINE_AGAIN_MS)[1] == (Examine(KEY, COMMITTING),)
    assert handle(state, seen(COMMITTING), LATE)[1] == (StoreVote(KEY, Vote.NO, "no answer"),)


def test_a_host_is_not_voted_against_for_what_the_verifiers_node_lacks() -> None:
    state, _ = handle(START, seen(COMMITTING), NOW)
    state, _ = handle(state, Examined(KEY, Finding(FindingKind.NOT_YET, "not there")), NOW)
    assert handle(state, seen(COMMITTING), NOW)[1] == (Examine(KEY, COMMITTING),)
    assert handle(state, seen(COMMITTING), LATE)[1] == (Examine(KEY, COMMITTING),)


def test_a_refused_call_is_repeated_after_a_pause() -> None:
    state, _ = handle(VerifierState(ME, {KEY: STORED}), seen(COMMITTING), NOW)
    state, _ = handle(state, CallEnded(CommitVote(KEY, STORED), is_refused=True), NOW)
    assert handle(state, seen(COMMITTING), NOW)[1] == ()
    assert handle(state, seen(COMMITTING), NOW + RETRY_MS)[1] == (CommitVote(KEY, STORED),)


def test_nothing_is_sent_after_the_deadline_but_the_advance_of_a_stuck_challenge() -> None:
    late = COMMITTING.until + 1
    assert handle(VerifierState(ME, {KEY: STORED}), seen(COMMITTING), late)[1] == ()
    stuck = COMMITTING.until + ADVANCE_MS + 1
    assert handle(START, seen(COMMITTING), stuck)[1] == (AdvanceChallenge(KEY, COMMITTING.until),)


def test_a_vote_is_forgotten_when_its_ballot_is_over() -> None:
    state, found = handle(VerifierState(ME, {KEY: STORED}), seen(None), NOW)
    assert (state.votes, found) == ({}, (ForgetVote(KEY),))
    second = replace(COMMITTING, ballot=replace(COMMITTING.ballot, round=1))
    state, found = handle(VerifierState(ME, {KEY: STORED}), seen(second), NOW)
    assert found == (ForgetVote(KEY), Examine(DutyKey(7, 1), second))


def test_an_answer_is_examined_and_its_vote_committed_by_the_best_block() -> None:
    waiting = challenge(ChallengePhase.ANSWERING, seat(ME), seat(ANOTHER), answer=None)
    newest = ChallengesSeen({7: waiting}, COMMIT_MS, {7: COMMITTING})
    assert handle(START, newest, NOW)[1] == (Examine(KEY, COMMITTING),)
    assert handle(START, ChallengesSeen({}, COMMIT_MS, {7: COMMITTING}), NOW)[1] == (Examine(KEY, COMMITTING),)
    assert handle(VerifierState(ME, {KEY: STORED}), newest, NOW)[1] == (CommitVote(KEY, STORED),)


def test_a_vote_is_revealed_by_a_final_block_only() -> None:
    committed = challenge(ChallengePhase.COMMITTING, seat(ME, bytes([9] * 32)), seat(ANOTHER))
    state = VerifierState(ME, {KEY: STORED})
    assert handle(state, ChallengesSeen({7: committed}, COMMIT_MS, {7: REVEALING}), NOW)[1] == ()
    assert handle(state, ChallengesSeen({7: REVEALING}, COMMIT_MS, {7: REVEALING}), NOW)[1] == (
        RevealVote(KEY, STORED),
    )


def test_a_best_block_that_is_older_than_the_final_one_asks_for_no_second_commitment() -> None:
    state = VerifierState(ME, {KEY: STORED})
    older = ChallengesSeen({7: REVEALING}, COMMIT_MS, {7: COMMITTING})
    assert handle(state, older, NOW)[1] == (RevealVote(KEY, STORED),)


def test_a_vote_is_kept_while_a_final_block_has_its_ballot() -> None:
    state, found = handle(VerifierState(ME, {KEY: STORED}), ChallengesSeen({7: REVEALING}, COMMIT_MS, {}), NOW)
    assert (KEY in state.votes, ForgetVote(KEY) in found) == (True, False)


def test_other_committees_are_none_of_its_business() -> None:
    assert handle(START, seen(challenge(ChallengePhase.COMMITTING, seat(ANOTHER))), NOW)[1] == ()
