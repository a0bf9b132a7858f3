"""Evidence behind scores: the events that changed the score of a host or tenant, with what caused each change."""

from __future__ import annotations

import json
from typing import Final

from sqlalchemy import and_, select

from offchain.gateway.api import reputation_models as asked_for
from offchain.gateway.api.answers import as_of, next_cursor
from offchain.gateway.api.history import event_model
from offchain.gateway.api.models import Page
from offchain.indexer.database import IndexDatabase
from offchain.indexer.pages import block_times, mentioned_events, require_kept
from offchain.indexer.rows import EventRow, MentionRow, TaskRow
from offchain.indexer.tables import TABLES, columns
from offchain.schema.chain_types.ids import tasks_of_event

MOST_CAUSES: Final = 10
_MOST_TASK_EVENTS: Final = 100
"""Events of an extrinsic that are looked through for those about a tenant's tasks."""
_CAUSES: Final = ("Tasks", "Leases", "Hosts", "Verification")
"""Pallets that observe conduct. They write their scores at the end of an extrinsic."""
_TENANT_SCORED: Final = "TenantScored"
_NO_CONDUCT: Final = ("ItemRefused", "BatchDone", "Submitted")


def score_changes(db: IndexDatabase, asked: asked_for.ScoreChangesOf) -> Page[asked_for.ScoreChangeResource]:
    """Return a page of the changes of an account's score, as host or as tenant, that the index keeps."""
    request = asked.page(2)
    require_kept(db, None if request.after is None else int(request.after[0]))
    found = mentioned_events(db, asked.account, request, columns(EventRow).pallet == "Reputation")
    times = block_times(db, [row.block for row in found])
    made = []
    for row in found:
        is_tenant = row.name == _TENANT_SCORED
        causes = _of_tenant(db, asked.account, row) if is_tenant else _of_host(db, asked.account, row)
        made.append(
            asked_for.ScoreChangeResource(
                id=f"{row.block}.{row.place}",
                block=row.block,
                index=row.place,
                time_ms=times[row.block],
                extrinsic=row.extrinsic,
                role="tenant" if is_tenant else "host",
                score_ppm=json.loads(row.fields)["score_ppm"],
                causes=[event_model(one, times[row.block]) for one in causes],
            )
        )
    return Page[asked_for.ScoreChangeResource](as_of=as_of(db), data=made, next=next_cursor(request, found))


def _of_host(db: IndexDatabase, host: str, scored: EventRow) -> list[EventRow]:
    """Return the first events about a host in the extrinsic that changed its score."""
    event, mention = columns(EventRow), columns(MentionRow)
    statement = (
        select(TABLES[EventRow])
        .where(
            and_(mention.block == event.block, mention.place == event.place),
            mention.subject == host,
            mention.block == scored.block,
            event.extrinsic.is_not_distinct_from(scored.extrinsic),
            event.pallet.in_(_CAUSES),
        )
        .order_by(mention.place)
        .limit(MOST_CAUSES)
    )
    return [EventRow(*row) for row in db.execute(statement)]


def _of_tenant(db: IndexDatabase, tenant: str, scored: EventRow) -> list[EventRow]:
    """Return the first events about a tenant's tasks in the extrinsic that changed its score."""
    event, task = columns(EventRow), columns(TaskRow)
    rows = db.rows(
        EventRow,
        event.block == scored.block,
        event.extrinsic.is_not_distinct_from(scored.extrinsic),
        event.pallet.in_(_CAUSES),
        event.name.not_in(_NO_CONDUCT),
        limit=_MOST_TASK_EVENTS,
    )
    of_rows = [(row, tasks_of_event(json.loads(row.fields))) for row in rows]
    named = sorted({number for _, numbers in of_rows for number in numbers})
    statement = select(task.task).where(task.task.in_(named), task.tenant == tenant)
    own = {number for (number,) in db.execute(statement)}
    return [row for row, numbers in of_rows if numbers & own][:MOST_CAUSES]
