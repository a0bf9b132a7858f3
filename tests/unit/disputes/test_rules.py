"""What the chain refuses about a dispute is refused before it is sent, with the value, the limit and what to do."""

from dataclasses import replace

import pytest

from offchain.core.disputes import rules
from offchain.errors import CheckFailed
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import DisputePhase, Vote
from tests.support.dispute_records import ME, PROVIDER, TENANT, UNTIL, dispute, seat

COMMITTED = bytes([1] * 32)
COMMITTING = dispute(DisputePhase.COMMITTING, seat(ME))
REVEALING = dispute(DisputePhase.REVEALING, seat(ME, COMMITTED))
DECIDED = dispute(DisputePhase.DECIDED, verdict=Vote.NO, stakes=(gen.Stake(TENANT, 8, 2, Vote.YES),))


def test_a_juror_commits_and_reveals_once_and_in_time() -> None:
    rules.check_commit(7, COMMITTING, ME, UNTIL)
    rules.check_reveal(7, REVEALING, ME, UNTIL)


@pytest.mark.parametrize(
    ("record", "who", "now", "code", "text"),
    [
        (COMMITTING, TENANT, 0, "not_a_juror", "5Tenant is not on the jury of the dispute about task 7: that is 5Me."),
        (dispute(DisputePhase.HEARING), ME, 0, "not_a_juror", "in its hearing and has no jury now"),
        (dispute(DisputePhase.COMMITTING, seat(ME, COMMITTED)), ME, 0, "already_voted", "has already voted"),
        (dispute(DisputePhase.REVEALING, seat(ME)), ME, 0, "wrong_phase", "which reveals its votes"),
        (COMMITTING, ME, UNTIL + 2_000, "too_late", "over 2 s ago"),
    ],
)
def test_a_vote_that_the_chain_would_refuse(
    record: gen.DisputeRecord, who: str, now: int, code: str, text: str
) -> None:
    with pytest.raises(CheckFailed) as found:
        rules.check_commit(7, record, who, now)
    assert found.value.code == code
    assert text in found.value.message


@pytest.mark.parametrize(
    ("record", "now", "code"),
    [
        (dispute(DisputePhase.REVEALING, seat(ME)), 0, "not_voted"),
        (dispute(DisputePhase.REVEALING, seat(ME, COMMITTED, Vote.NO)), 0, "already_voted"),
        (dispute(DisputePhase.COMMITTING, seat(ME, COMMITTED)), 0, "wrong_phase"),
        (REVEALING, UNTIL + 1, "too_late"),
        (dispute(DisputePhase.REVEALING), 0, "not_a_juror"),
    ],
)
def test_a_reveal_that_the_chain_would_refuse(record: gen.DisputeRecord, now: int, code: str) -> None:
    with pytest.raises(CheckFailed) as found:
        rules.check_reveal(7, record, ME, now)
    assert found.value.code == code


def test_the_losing_side_appeals_with_twice_what_was_staked() -> None:
    assert rules.check_appeal(7, DECIDED, TENANT, UNTIL) == 20
    upheld = replace(DECIDED, verdict=Vote.YES)
    assert rules.check_appeal(7, upheld, PROVIDER, UNTIL) == 20


@pytest.mark.parametrize(
    ("record", "who", "now", "code"),
    [
        (DECIDED, PROVIDER, 0, "not_losing_side"),
        (replace(DECIDED, verdict=Vote.YES), TENANT, 0, "not_losing_side"),
        (DECIDED, ME, 0, "not_losing_side"),
        (DECIDED, TENANT, UNTIL + 1, "too_late"),
        (COMMITTING, TENANT, 0, "wrong_phase"),
    ],
)
def test_an_appeal_that_the_chain_would_refuse(record: gen.DisputeRecord, who: str, now: int, code: str) -> None:
    with pytest.raises(CheckFailed) as found:
        rules.check_appeal(7, record, who, now)
    assert found.value.code == code


def test_each_party_names_two_pieces_of_evidence_in_a_hearing() -> None:
    hearing = dispute(DisputePhase.HEARING)
    for party in (TENANT, PROVIDER):
        rules.check_evidence(7, hearing, party, UNTIL)
    full = replace(hearing, evidence=(gen.Evidence(TENANT, bytes(32), 0),) * 2)
    with pytest.raises(CheckFailed, match="named 2 pieces"):
        rules.check_evidence(7, full, TENANT, UNTIL)
    rules.check_evidence(7, replace(full, level=1), TENANT, UNTIL)
    with pytest.raises(CheckFailed, match="is no party"):
        rules.check_evidence(7, hearing, ME, UNTIL)
    with pytest.raises(CheckFailed, match="evidence is named only while it is in its hearing"):
        rules.check_evidence(7, DECIDED, TENANT, UNTIL)
