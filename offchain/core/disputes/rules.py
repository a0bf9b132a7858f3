"""The chain's conditions for calls about an open dispute, checked before a call is sent.

Each function returns, or raises CheckFailed with the reason for which the chain would refuse the call. `now` is chain
time in ms.
"""

from __future__ import annotations

from typing import Final

from offchain.errors import CheckFailed
from offchain.schema.chain_types._generated_chain import DisputePhase, DisputeRecord, Seat, Vote

EVIDENCE_PER_HEARING: Final = 2
"""Pieces of evidence that one account may name in one hearing (`EVIDENCE_PER_HEARING` of the chain)."""
PHASE_TEXT: Final = {
    DisputePhase.HEARING: "in its hearing",
    DisputePhase.WAITING: "waiting for its jury",
    DisputePhase.COMMITTING: "before its jury, which commits its votes",
    DisputePhase.REVEALING: "before its jury, which reveals its votes",
    DisputePhase.DECIDED: "decided, and may be appealed",
    DisputePhase.CLOSED: "closed",
}


def seat_of(record: DisputeRecord, who: str) -> Seat | None:
    """Return the seat of an account on the present jury."""
    return next((seat for seat in record.ballot.seats if seat.who == who), None)


def is_party(record: DisputeRecord, who: str) -> bool:
    """Whether the account may name evidence."""
    return who in (record.opener, record.tenant, *record.providers)


def check_commit(task: int, record: DisputeRecord, who: str, now: int) -> None:
    """Check a commitment to a vote."""
    seat = _own_seat(task, record, who)
    if seat.commitment is not None:
        raise CheckFailed(
            f"{who} has already voted about task {task}, and a commitment cannot be changed.",
            f"gantry dispute show {task} shows the phase; the vote is revealed after all jurors have committed.",
            code="already_voted",
        )
    _check_phase(task, record, DisputePhase.COMMITTING, "votes are committed", now)


def check_reveal(task: int, record: DisputeRecord, who: str, now: int) -> None:
    """Check the reveal of a vote."""
    seat = _own_seat(task, record, who)
    if seat.commitment is None:
        raise CheckFailed(
            f"{who} has committed no vote about task {task} that could be revealed.",
            "The absence is penalised when the ballot closes. Run gantry juror run, or vote earlier.",
            code="not_voted",
        )
    if seat.vote is not None:
        raise CheckFailed(
            f"{who} has already revealed its vote about task {task}.", "There is nothing to do.", code="already_voted"
        )
    _check_phase(task, record, DisputePhase.REVEALING, "votes are revealed", now)


def check_appeal(task: int, record: DisputeRecord, who: str, now: int) -> int:
    """Check an appeal; return its stake in base units."""
    _check_phase(task, record, DisputePhase.DECIDED, "a verdict may be appealed", now)
    losers = record.providers if record.verdict is Vote.YES else (record.opener, record.tenant)
    if who not in losers:
        side = "a provider of an accused host" if record.verdict is Vote.YES else "its opener or its tenant"
        raise CheckFailed(
            f"the verdict about task {task} is not against {who}: only {side} may appeal it.",
            f"Sign with one of {', '.join(dict.fromkeys(losers))}.",
            code="not_losing_side",
        )
    last = record.stakes[-1]
    return appeal_stake(last.amount, last.fee_paid)


def appeal_stake(amount: int, fee_paid: int) -> int:
    """Return the stake of an appeal after a stake of `amount`, of which a fee was paid; base units."""
    return 2 * (amount + fee_paid)


def check_evidence(task: int, record: DisputeRecord, who: str, now: int) -> None:
    """Check the naming of evidence."""
    if not is_party(record, who):
        raise CheckFailed(
            f"{who} is no party of the dispute about task {task}.",
            "Its opener, its tenant and the providers of the accused hosts name evidence.",
            code="not_party",
        )
    _check_phase(task, record, DisputePhase.HEARING, "evidence is named", now)
    named = sum(1 for one in record.evidence if one.by == who and one.level == record.level)
    if named >= EVIDENCE_PER_HEARING:
        raise CheckFailed(
            f"{who} has named {named} pieces of evidence in this hearing, which is the limit.",
            "Put all files into one archive, and name that; after an appeal there is another hearing.",
            code="too_much_evidence",
        )


def _own_seat(task: int, record: DisputeRecord, who: str) -> Seat:
    seat = seat_of(record, who)
    if seat is not None:
        return seat
    jury = ", ".join(seat.who for seat in record.ballot.seats)
    raise CheckFailed(
        f"{who} is not on the jury of the dispute about task {task}"
        + (f": that is {jury}." if jury else f", which is {PHASE_TEXT[record.phase]} and has no jury now."),
        "Sign with the account of a juror. Jurors are drawn from the bonded verifiers: gantry verifier bond.",
        code="not_a_juror",
    )


def _check_phase(task: int, record: DisputeRecord, wanted: DisputePhase, what: str, now: int) -> None:
    if record.phase is not wanted:
        raise CheckFailed(
            f"the dispute about task {task} is {PHASE_TEXT[record.phase]}: {what} only while it is "
            f"{PHASE_TEXT[wanted]}.",
            f"gantry dispute show {task} shows its phase and deadline.",
            code="wrong_phase",
        )
    if now > record.until:
        raise CheckFailed(
            f"the time for it was over {(now - record.until) / 1000:.0f} s ago: {what} until {record.until} ms.",
            f"gantry dispute show {task} shows what comes next.",
            code="too_late",
        )
