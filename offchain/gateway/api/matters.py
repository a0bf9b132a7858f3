"""Answers about challenges, disputes, schedulers and their queue definitions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import func, select

from offchain.gateway.api import matter_models as asked_for
from offchain.gateway.api.answers import as_of, equal, not_found, page_answer, plain
from offchain.gateway.api.models import Page, ResourceAnswer
from offchain.gateway.api.parameters import encode_cursor
from offchain.indexer.database import IndexDatabase
from offchain.indexer.matter_rows import (
    ChallengeRow,
    CommitteeRow,
    DisputeRow,
    EvidenceRow,
    SchedulerPenaltyRow,
    SchedulerRow,
    StakeRow,
    VoteRow,
)
from offchain.indexer.matters import CHALLENGE, DISPUTE
from offchain.indexer.offers import name_text
from offchain.indexer.pages import after_key, page
from offchain.indexer.status import require_matters
from offchain.indexer.tables import columns
from offchain.schema.chain_types.ids import lease_parts

MOST_PENALTIES: Final = 50
"""Penalties in the answer about one scheduler."""


def challenges(db: IndexDatabase, asked: asked_for.ChallengeList) -> Page[asked_for.ChallengeResource]:
    require_matters(db)
    request, challenge = asked.page(), columns(ChallengeRow)
    conditions = equal(
        (challenge.host, asked.host),
        (challenge.opener, asked.opener),
        (challenge.state, asked.state),
        (challenge.outcome, asked.outcome),
        (challenge.answer_digest, asked.digest),
    )
    found = page(db, ChallengeRow, request, *conditions)
    return page_answer(db, asked_for.ChallengeResource, request, found, _challenge)


def challenge(db: IndexDatabase, asked: asked_for.OneChallenge) -> ResourceAnswer[asked_for.ChallengeDetailResource]:
    require_matters(db)
    found = db.rows(ChallengeRow, columns(ChallengeRow).challenge == asked.challenge)
    if not found:
        raise not_found(db, f"challenge {asked.challenge}")
    data = asked_for.ChallengeDetailResource(
        **_challenge(found[0]), committees=_committees(db, CHALLENGE, asked.challenge)
    )
    return ResourceAnswer[asked_for.ChallengeDetailResource](as_of=as_of(db), data=data)


def disputes(db: IndexDatabase, asked: asked_for.DisputeList) -> Page[asked_for.DisputeResource]:
    require_matters(db)
    request, dispute = asked.page(), columns(DisputeRow)
    conditions = equal(
        (dispute.task, asked.task),
        (dispute.opener, asked.opener),
        (dispute.state, asked.state),
        (dispute.outcome, asked.outcome),
    )
    if asked.lease is not None:
        # A task has one dispute at most.
        conditions.append(dispute.task == lease_parts(asked.lease)[0])
    found = page(db, DisputeRow, request, *conditions)
    if asked.lease is not None:
        found = [row for row in found if asked.lease in json.loads(row.accused)]
    return page_answer(db, asked_for.DisputeResource, request, found, _dispute)


def dispute(db: IndexDatabase, asked: asked_for.OneDispute) -> ResourceAnswer[asked_for.DisputeDetailResource]:
    require_matters(db)
    found = db.rows(DisputeRow, columns(DisputeRow).task == asked.task)
    if not found:
        raise not_found(db, f"dispute about task {asked.task}")
    evidence = db.rows(EvidenceRow, columns(EvidenceRow).task == asked.task)
    stakes = db.rows(StakeRow, columns(StakeRow).task == asked.task)
    data = asked_for.DisputeDetailResource(
        **_dispute(found[0]),
        committees=_committees(db, DISPUTE, asked.task),
        evidence=[asked_for.DisputeEvidenceResource(**_placed(row)) for row in evidence],
        stakes=[asked_for.StakeResource(**plain(row)) for row in stakes],
    )
    return ResourceAnswer[asked_for.DisputeDetailResource](as_of=as_of(db), data=data)


def schedulers(db: IndexDatabase, asked: asked_for.SchedulerList) -> Page[asked_for.SchedulerResource]:
    require_matters(db)
    request, scheduler = asked.page(), columns(SchedulerRow)
    conditions = equal((scheduler.state, asked.state), (scheduler.queues, asked.queues))
    return page_answer(db, asked_for.SchedulerResource, request, page(db, SchedulerRow, request, *conditions))


def scheduler(db: IndexDatabase, asked: asked_for.OneScheduler) -> ResourceAnswer[asked_for.SchedulerDetailResource]:
    require_matters(db)
    found = db.rows(SchedulerRow, columns(SchedulerRow).account == asked.account)
    if not found:
        raise not_found(db, f"scheduler {asked.account}")
    of_account = columns(SchedulerPenaltyRow).account == asked.account
    penalties = db.rows(SchedulerPenaltyRow, of_account, newest=MOST_PENALTIES)
    data = asked_for.SchedulerDetailResource(
        **plain(found[0]),
        last_penalties=[asked_for.SchedulerPenaltyResource(**_placed(row)) for row in reversed(penalties)],
    )
    return ResourceAnswer[asked_for.SchedulerDetailResource](as_of=as_of(db), data=data)


def queues(db: IndexDatabase, asked: asked_for.QueueList) -> Page[asked_for.QueueDefinitionsResource]:
    """Return a page of the queue definitions that bonded schedulers have published."""
    require_matters(db)
    request, scheduler = asked.page(), columns(SchedulerRow)
    statement = (
        select(scheduler.queues, func.count(), func.min(scheduler.queues_ms), func.sum(scheduler.placed))
        .where(scheduler.queues.is_not(None), *after_key([scheduler.queues], request))
        .group_by(scheduler.queues)
        .order_by(scheduler.queues)
        .limit(request.limit)
    )
    found = db.execute(statement)
    made = [
        asked_for.QueueDefinitionsResource(digest=digest, schedulers=users, published_ms=first_ms, placed=int(placed))
        for digest, users, first_ms, placed in found
    ]
    after = encode_cursor((found[-1][0],)) if len(found) == request.limit else None
    return Page[asked_for.QueueDefinitionsResource](as_of=as_of(db), data=made, next=after)


def _challenge(row: ChallengeRow) -> dict[str, Any]:
    claim = json.loads(row.claim)
    if claim is not None:
        model = name_text(bytes.fromhex(claim["model"][2:]))
        claim = asked_for.DeviceClaimResource(**(claim | {"model": model}))
    return plain(row) | {"claim": claim}


def _dispute(row: DisputeRow) -> dict[str, Any]:
    return plain(row) | {"accused": json.loads(row.accused)}


def _placed(row: EvidenceRow | SchedulerPenaltyRow) -> dict[str, Any]:
    return plain(row) | {"index": row.place}


def _committees(db: IndexDatabase, kind: str, number: int) -> list[asked_for.CommitteeResource]:
    """Return the committees of a matter with their votes: at most six of seven members."""
    committee, vote = columns(CommitteeRow), columns(VoteRow)
    votes = db.rows(VoteRow, vote.kind == kind, vote.number == number)
    return [
        asked_for.CommitteeResource(
            **plain(row)
            | {
                "confirming": bool(row.confirming),
                "drawn": row.seats > 0,
                "votes": _votes([one for one in votes if one.round == row.round]),
            }
        )
        for row in db.rows(CommitteeRow, committee.kind == kind, committee.number == number)
    ]


def _votes(rows: Sequence[VoteRow]) -> list[asked_for.VoteResource]:
    return [asked_for.VoteResource(**plain(row)) for row in sorted(rows, key=lambda row: row.seat)]
