from __future__ import annotations

from dataclasses import replace

import pytest

from offchain.core.conservation import AuditInput, Balance, ExpectedHold, Hold, Reason, audit

AUDIT_INPUT = AuditInput(
    block=5,
    total_issuance=1_000,
    total_escrowed=60,
    balances=(Balance("alice", 500, 80), Balance("bob", 400, 20)),
    holds=(
        Hold("alice", Reason.ESCROW, 60),
        Hold("alice", Reason.TASK_DEPOSIT, 15),
        Hold("bob", Reason.HOST_BOND, 20),
        Hold("alice", None, 5),
    ),
    expected_holds=(
        ExpectedHold("alice", Reason.ESCROW, 25, "lease 1"),
        ExpectedHold("alice", Reason.ESCROW, 35, "lease 2"),
        ExpectedHold("alice", Reason.TASK_DEPOSIT, 15, "task 1"),
        ExpectedHold("bob", Reason.HOST_BOND, 20, "host 1"),
    ),
)


def test_sound_books_have_no_differences():
    report = audit(AUDIT_INPUT)
    assert report.sound
    assert (report.total_free, report.total_reserved) == (900, 100)
    assert report.held[Reason.ESCROW] == 60
    assert report.held[Reason.SCHEDULER_BOND] == 0


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"total_issuance": 1_001}, "total issuance"),
        ({"total_escrowed": 61}, "counter"),
        ({"expected_holds": AUDIT_INPUT.expected_holds[1:]}, "escrow holds of alice"),
        (
            {"expected_holds": (*AUDIT_INPUT.expected_holds, ExpectedHold("carol", Reason.SCHEDULER_BOND, 1, "carol"))},
            "scheduler bond holds of carol",
        ),
        ({"balances": (Balance("alice", 501, 79), Balance("bob", 400, 20))}, "coins reserved on alice"),
    ],
)
def test_one_coin_out_of_place_is_found(changes, what):
    report = audit(replace(AUDIT_INPUT, **changes))
    assert not report.sound
    assert any(what in difference.what for difference in report.differences)


def test_a_difference_reads_as_a_sentence():
    (difference,) = audit(replace(AUDIT_INPUT, total_issuance=1_001)).differences
    assert str(difference) == "sum of all accounts against total issuance: expected 1001, found 1000 (-1)"
