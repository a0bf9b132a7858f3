"""A juror's duties, block by block."""

from dataclasses import replace

from offchain.core.disputes.judgement import Judgement, JudgementKind
from offchain.core.disputes.jury_duties import (
    EXECUTE_AGAIN_MS,
    LAST_WARNING_PART,
    NO_SALT,
    WARN_EVERY_MS,
    AdvanceDispute,
    CommitJuryVote,
    DisputesSeen,
    ExecuteAccused,
    ForgetJuryVote,
    Judged,
    JuryCallEnded,
    JuryKey,
    JuryState,
    JuryVoteStored,
    RevealJuryVote,
    StoreJuryVote,
    WarnJuror,
    handle_jury,
)
from offchain.core.verifier.duties import ADVANCE_MS, RETRY_MS, StoredVote
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import DisputePhase, Vote
from tests.support.dispute_records import COMMIT_MS, ME, TENANT, UNTIL, dispute, seat

TASK = 7
KEY = JuryKey(TASK, 0)
STORED = StoredVote(Vote.YES, bytes([9] * 32), "it differs")
START = JuryState(ME)
NOW = UNTIL - COMMIT_MS
COMMITTING = dispute(DisputePhase.COMMITTING, seat(ME))
COMMITTED = dispute(DisputePhase.COMMITTING, seat(ME, bytes(32)))
REVEALING = dispute(DisputePhase.REVEALING, seat(ME, bytes(32)))
PERSON = Judgement(JudgementKind.PERSON, "it needs a GPU")


def seen(record: gen.DisputeRecord | None, votes: dict[JuryKey, StoredVote] | None = None) -> DisputesSeen:
    return DisputesSeen({} if record is None else {TASK: record}, votes or {}, COMMIT_MS)


def test_a_vote_is_executed_for_stored_committed_and_revealed_once() -> None:
    state, found = handle_jury(START, seen(COMMITTING), NOW)
    assert found == (ExecuteAccused(KEY, COMMITTING),)
    assert handle_jury(state, seen(COMMITTING), NOW)[1] == ()
    state, found = handle_jury(state, Judged(KEY, Judgement(JudgementKind.UPHOLD, "it differs")), NOW)
    assert found == (StoreJuryVote(KEY, Vote.YES, "it differs"),)
    assert handle_jury(state, seen(COMMITTING), NOW)[1] == ()
    state, found = handle_jury(state, JuryVoteStored(KEY, STORED), NOW)
    assert found == ()
    on_disk = {KEY: STORED}
    state, found = handle_jury(state, seen(COMMITTING, on_disk), NOW)
    assert found == (CommitJuryVote(KEY, STORED),)
    assert handle_jury(state, seen(COMMITTING, on_disk), NOW)[1] == ()
    state, _ = handle_jury(state, JuryCallEnded(CommitJuryVote(KEY, STORED), is_refused=False), NOW)
    assert handle_jury(state, seen(COMMITTED, on_disk), NOW)[1] == ()
    state, found = handle_jury(state, seen(REVEALING, on_disk), NOW)
    assert found == (RevealJuryVote(KEY, STORED),)
    state, _ = handle_jury(state, JuryCallEnded(RevealJuryVote(KEY, STORED), is_refused=False), NOW)
    shown = dispute(DisputePhase.REVEALING, seat(ME, bytes(32), Vote.YES))
    assert handle_jury(state, seen(shown, on_disk), NOW)[1] == ()


def test_a_right_result_is_voted_for() -> None:
    state, _ = handle_jury(START, seen(COMMITTING), NOW)
    _, found = handle_jury(state, Judged(KEY, Judgement(JudgementKind.REJECT, "the same")), NOW)
    assert found == (StoreJuryVote(KEY, Vote.NO, "the same"),)


def test_a_vote_of_a_person_is_committed_and_not_replaced_by_an_execution() -> None:
    state, _ = handle_jury(START, seen(COMMITTING), NOW)
    state, found = handle_jury(state, seen(COMMITTING, {KEY: STORED}), NOW)
    assert found == (CommitJuryVote(KEY, STORED),)
    assert handle_jury(state, Judged(KEY, Judgement(JudgementKind.REJECT, "the same")), NOW)[1] == ()


def test_what_a_person_has_to_decide_is_warned_about_and_again_when_the_time_is_nearly_over() -> None:
    state, _ = handle_jury(START, seen(COMMITTING), NOW)
    state, found = handle_jury(state, Judged(KEY, PERSON), NOW)
    assert found == ()
    state, found = handle_jury(state, seen(COMMITTING), NOW)
    assert found == (WarnJuror(KEY, UNTIL, "it needs a GPU"),)
    assert handle_jury(state, seen(COMMITTING), NOW + EXECUTE_AGAIN_MS)[1] == ()
    late = UNTIL - COMMIT_MS // LAST_WARNING_PART
    state, found = handle_jury(state, seen(COMMITTING), late)
    assert found == (WarnJuror(KEY, UNTIL, "it needs a GPU"),)
    assert handle_jury(state, seen(COMMITTING), late + 1)[1] == ()


def test_long_deadlines_are_warned_about_every_hour() -> None:
    far = replace(COMMITTING, until=UNTIL + 10 * WARN_EVERY_MS)
    state, found = handle_jury(JuryState(ME, can_execute=False), seen(far), NOW)
    assert [type(one) for one in found] == [WarnJuror]
    assert handle_jury(state, seen(far), NOW + WARN_EVERY_MS - 1)[1] == ()
    assert [type(one) for one in handle_jury(state, seen(far), NOW + WARN_EVERY_MS)[1]] == [WarnJuror]


def test_an_execution_that_failed_is_repeated_after_a_pause() -> None:
    state, _ = handle_jury(START, seen(COMMITTING), NOW)
    state, _ = handle_jury(state, Judged(KEY, Judgement(JudgementKind.NOT_YET, "no registry")), NOW)
    state, found = handle_jury(state, seen(COMMITTING), NOW + 1)
    assert found == (WarnJuror(KEY, UNTIL, "no registry"),)
    assert handle_jury(state, seen(COMMITTING), NOW + EXECUTE_AGAIN_MS)[1] == (ExecuteAccused(KEY, COMMITTING),)


def test_a_worker_without_a_driver_executes_nothing_and_reveals_what_a_person_voted() -> None:
    manual = JuryState(ME, can_execute=False)
    assert [type(one) for one in handle_jury(manual, seen(COMMITTING), NOW)[1]] == [WarnJuror]
    assert handle_jury(manual, seen(REVEALING, {KEY: STORED}), NOW)[1] == (RevealJuryVote(KEY, STORED),)


def test_a_commitment_without_its_salt_is_warned_about() -> None:
    _, found = handle_jury(START, seen(REVEALING), NOW)
    assert found == (WarnJuror(KEY, UNTIL, NO_SALT),)


def test_nothing_is_sent_after_the_deadline_but_the_advance_of_a_stuck_dispute() -> None:
    votes = {KEY: STORED}
    assert handle_jury(START, seen(REVEALING, votes), UNTIL + ADVANCE_MS)[1] == ()
    assert handle_jury(START, seen(REVEALING, votes), UNTIL + ADVANCE_MS + 1)[1] == (AdvanceDispute(KEY, UNTIL),)


def test_a_refused_call_is_repeated_after_a_pause() -> None:
    votes = {KEY: STORED}
    state, _ = handle_jury(START, seen(COMMITTING, votes), NOW)
    state, _ = handle_jury(state, JuryCallEnded(CommitJuryVote(KEY, STORED), is_refused=True), NOW)
    assert handle_jury(state, seen(COMMITTING, votes), NOW + RETRY_MS - 1)[1] == ()
    assert handle_jury(state, seen(COMMITTING, votes), NOW + RETRY_MS)[1] == (CommitJuryVote(KEY, STORED),)


def test_a_vote_is_forgotten_when_its_ballot_is_over() -> None:
    assert handle_jury(START, seen(None, {KEY: STORED}), NOW)[1] == (ForgetJuryVote(KEY),)
    second = dispute(DisputePhase.COMMITTING, seat(ME), ballot_round=1)
    state, found = handle_jury(START, seen(second, {KEY: STORED}), NOW)
    assert found == (ForgetJuryVote(KEY), ExecuteAccused(JuryKey(TASK, 1), second))
    assert state.votes == {}


def test_other_juries_and_other_phases_are_none_of_its_business() -> None:
    assert handle_jury(START, seen(dispute(DisputePhase.COMMITTING, seat(TENANT))), NOW)[1] == ()
    for phase in (DisputePhase.HEARING, DisputePhase.WAITING, DisputePhase.DECIDED):
        assert handle_jury(START, seen(dispute(phase)), UNTIL + ADVANCE_MS + 1)[1] == ()
