"""Challenges and disputes that follow from events of the verification pallet. Pure.

An event about a matter whose opening is unknown changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from offchain.indexer.derive_values import IndexedEvent, RowLookup, text_of
from offchain.indexer.matter_rows import ChallengeRow, CommitteeRow, DisputeRow, EvidenceRow, StakeRow, VoteRow
from offchain.indexer.rows import CoinAmount, Row, TaskRow

CHALLENGE: Final = "Challenge"
DISPUTE: Final = "Dispute"
Matter = tuple[str, int]
"""Kind and number of a matter."""


def verification(seen: IndexedEvent, get: RowLookup) -> Iterator[Row]:
    """Yield the rows of challenges, disputes, committees and votes that an event changes."""
    rule = _RULES.get(seen.name)
    if rule is not None:
        yield from rule(seen, get)


def challenge_of(fields: Mapping[str, Any]) -> int | None:
    """Return the challenge that an event of the verification pallet is about; None if it is about something else."""
    matter = fields.get("matter")
    found = matter.get(CHALLENGE) if isinstance(matter, Mapping) else fields.get("challenge")
    return found if isinstance(found, int) else None


def challenge_subject(challenge: int) -> str:
    """Return the subject of mentions of a challenge."""
    return f"challenge:{challenge}"


def _matter(fields: Mapping[str, Any]) -> Matter | None:
    """Return the matter of a committee's event; None for results of replicas, which have no committee."""
    matter = fields.get("matter")
    if isinstance(matter, Mapping):
        for kind in (CHALLENGE, DISPUTE):
            if kind in matter:
                return kind, matter[kind]
    return None


def _row(matter: Matter, get: RowLookup) -> ChallengeRow | DisputeRow | None:
    kind, number = matter
    return get(ChallengeRow, number) if kind == CHALLENGE else get(DisputeRow, number)


def _changed(row: ChallengeRow | DisputeRow, seen: IndexedEvent, **values: Any) -> ChallengeRow | DisputeRow:
    return replace(row, changed_block=seen.block, changed_ms=seen.time_ms, **values)


def _challenge_opened(seen: IndexedEvent, _: RowLookup) -> Iterator[Row]:
    fields = seen.fields
    yield ChallengeRow(
        challenge=fields["challenge"],
        host=fields["host"],
        device=fields.get("device", 0),
        claim=json.dumps(fields.get("claim"), separators=(",", ":")),
        opener=fields.get("opener"),
        fee=CoinAmount(fields.get("fee", 0)),
        state="Waiting",
        until_ms=None,
        round=0,
        opened_block=seen.block,
        opened_ms=seen.time_ms,
        changed_block=seen.block,
        changed_ms=seen.time_ms,
    )


def _dispute_opened(seen: IndexedEvent, get: RowLookup) -> Iterator[Row]:
    fields = seen.fields
    task = get(TaskRow, fields["task"])
    yield DisputeRow(
        task=fields["task"],
        opener=fields["by"],
        tenant=None if task is None else task.tenant,
        accused=json.dumps(fields.get("accused", [])),
        state="Hearing",
        until_ms=fields.get("until"),
        level=0,
        round=0,
        opened_block=seen.block,
        opened_ms=seen.time_ms,
        changed_block=seen.block,
        changed_ms=seen.time_ms,
    )
    yield StakeRow(fields["task"], fields["by"], CoinAmount(fields.get("stake", 0)))
    if "evidence" in fields:
        yield _evidence(seen, fields["evidence"], 0)


def _evidence(seen: IndexedEvent, digest: str, level: int) -> EvidenceRow:
    fields = seen.fields
    return EvidenceRow(fields["task"], seen.block, seen.place, fields["by"], digest, level, seen.time_ms)


def _evidence_added(seen: IndexedEvent, get: RowLookup) -> Iterator[Row]:
    found = get(DisputeRow, seen.fields["task"])
    if found is not None:
        yield _changed(found, seen)
        yield _evidence(seen, seen.fields["digest"], found.level)


def _challenge_moves(seen: IndexedEvent, get: RowLookup) -> Iterator[Row]:
    fields = seen.fields
    found = get(ChallengeRow, fields["challenge"])
    if found is None:
        return
    match seen.name:
        case "AnswerAwaited":
            yield _changed(found, seen, state="Answering", until_ms=fields["until"])
        case "Answered":
            answer = {"answer_digest": fields["digest"], "answered_ms": seen.time_ms}
            yield _changed(found, seen, state="Committing", until_ms=fields.get("until"), **answer)
        case "ConfirmationAwaited":
            before = get(CommitteeRow, CHALLENGE, found.challenge, found.round)
            seed = (None, None) if before is None else (before.seed, before.seed_block)
            moved = _changed(found, seen, state="Committing", until_ms=fields["until"], round=fields["round"])
            yield moved
            yield from _seated(seen, moved, fields["members"], seed, confirming=True)
        case "ChallengeClosed":
            returned = fields.get("returned")
            end = {"outcome": text_of(fields["outcome"]), "returned": returned}
            yield _changed(found, seen, state="Closed", until_ms=None, **end)


def _dispute_moves(seen: IndexedEvent, get: RowLookup) -> Iterator[Row]:
    fields = seen.fields
    found = get(DisputeRow, fields["task"])
    if found is None:
        return
    match seen.name:
        case "JuryAwaited":
            yield _changed(found, seen, state="Waiting", until_ms=None)
        case "JuryCommits":
            yield _changed(found, seen, state="Committing", until_ms=fields["until"])
        case "DisputeDecided":
            verdict = text_of(fields["verdict"])
            yield _changed(found, seen, state="Decided", until_ms=fields.get("appeal_until"), verdict=verdict)
        case "Appealed":
            yield _changed(found, seen, state="Hearing", until_ms=fields["until"], level=fields["level"])
            stake = get(StakeRow, found.task, fields["by"]) or StakeRow(found.task, fields["by"])
            yield replace(stake, staked=CoinAmount(stake.staked + fields["stake"]))
        case "DisputeClosed":
            yield _changed(found, seen, state="Closed", until_ms=None, outcome=text_of(fields["outcome"]))


def _stakes(seen: IndexedEvent, get: RowLookup) -> Iterator[Row]:
    fields = seen.fields
    found = get(StakeRow, fields["task"], fields["who"])
    if found is None:
        return
    amount = fields["amount"]
    match seen.name:
        case "StakeReturned":
            yield replace(found, returned=CoinAmount(found.returned + amount))
        case "StakeLost":
            yield replace(found, lost=CoinAmount(found.lost + amount))
        case "FeeRefunded":
            yield replace(found, refunded=CoinAmount(found.refunded + amount))


def _seated(
    seen: IndexedEvent,
    of: ChallengeRow | DisputeRow,
    members: list[str],
    seed: tuple[str | None, int | None],
    *,
    confirming: bool = False,
) -> Iterator[Row]:
    """Yield a committee and its seats. `seed`: the seed and the block whose randomness it is of."""
    kind, level = (CHALLENGE, 0) if isinstance(of, ChallengeRow) else (DISPUTE, of.level)
    (number,) = of.key
    yield CommitteeRow(kind, number, of.round, level, int(confirming), *seed, len(members), seen.block, seen.time_ms)
    for seat, who in enumerate(members):
        yield VoteRow(kind, number, of.round, who, seat)


def _drawn(seen: IndexedEvent, get: RowLookup) -> Iterator[Row]:
    """Yield a committee that was drawn, or was not because there are too few verifiers."""
    fields = seen.fields
    matter = _matter(fields)
    found = None if matter is None else _row(matter, get)
    if found is not None:
        moved = _changed(found, seen, round=fields["round"])
        yield moved
        yield from _seated(seen, moved, fields.get("members", []), (fields["seed"], fields.get("block")))


def _reveals_opened(seen: IndexedEvent, get: RowLookup) -> Iterator[Row]:
    matter = _matter(seen.fields)
    found = None if matter is None else _row(matter, get)
    if found is not None:
        yield _changed(found, seen, state="Revealing", until_ms=seen.fields["until"])


def _votes(seen: IndexedEvent, get: RowLookup) -> Iterator[Row]:
    """Yield the seat of a member of the present committee with what the event says of it."""
    fields = seen.fields
    matter = _matter(fields)
    of = None if matter is None else _row(matter, get)
    vote = None if matter is None or of is None else get(VoteRow, *matter, of.round, fields["who"])
    if vote is None:
        return
    match seen.name:
        case "VoteCommitted":
            yield replace(vote, commitment=fields["commitment"], committed_ms=seen.time_ms)
        case "VoteRevealed":
            yield replace(vote, vote=text_of(fields["vote"]), revealed_ms=seen.time_ms)
        case "VerifierRewarded":
            yield replace(vote, rewarded=CoinAmount(vote.rewarded + fields["amount"]))
        case "VerifierPenalised":
            lost = CoinAmount(vote.penalised + fields["amount"])
            yield replace(vote, penalised=lost, reason=text_of(fields["reason"]))


def _ballot_closed(seen: IndexedEvent, get: RowLookup) -> Iterator[Row]:
    fields = seen.fields
    matter = _matter(fields)
    of = None if matter is None else _row(matter, get)
    if matter is None or of is None:
        return
    if isinstance(of, ChallengeRow):
        # A second committee is waited for, unless an event of the same extrinsic says something else.
        yield _changed(of, seen, state="Waiting", until_ms=None)
    committee = get(CommitteeRow, *matter, fields["round"])
    if committee is not None:
        verdict = fields.get("verdict")
        yield replace(committee, verdict=None if verdict is None else text_of(verdict), closed_ms=seen.time_ms)


_RULES: Final[Mapping[str, Callable[[IndexedEvent, RowLookup], Iterator[Row]]]] = {
    "ChallengeOpened": _challenge_opened,
    "DisputeOpened": _dispute_opened,
    "EvidenceAdded": _evidence_added,
    **dict.fromkeys(("AnswerAwaited", "Answered", "ConfirmationAwaited", "ChallengeClosed"), _challenge_moves),
    **dict.fromkeys(("JuryAwaited", "JuryCommits", "DisputeDecided", "Appealed", "DisputeClosed"), _dispute_moves),
    **dict.fromkeys(("StakeReturned", "StakeLost", "FeeRefunded"), _stakes),
    **dict.fromkeys(("CommitteeDrawn", "CommitteeNotDrawn"), _drawn),
    "RevealsOpened": _reveals_opened,
    **dict.fromkeys(("VoteCommitted", "VoteRevealed", "VerifierRewarded", "VerifierPenalised"), _votes),
    "BallotClosed": _ballot_closed,
}
