"""Answers from the index: for each resource a function from a database and parameters to models."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel
from sqlalchemy import ColumnElement, select

from offchain.gateway.api import models
from offchain.gateway.api import parameters as ask
from offchain.gateway.api.answers import Fields, as_of, next_cursor, not_found, one_answer, page_answer, placed
from offchain.indexer import meta
from offchain.indexer.database import IndexDatabase
from offchain.indexer.pages import (
    PageRequest,
    account_transfers,
    block_times,
    mentioned_events,
    page,
    require_kept,
)
from offchain.indexer.rows import (
    BillRow,
    BlockRow,
    EventRow,
    ExtrinsicRow,
    HostRow,
    LeaseRow,
    R,
    TaskRow,
    TransferRow,
)
from offchain.indexer.status import kept_from
from offchain.indexer.tables import columns

M = TypeVar("M", bound=BaseModel)

MOST_EXACT: Final = (1 << 53) - 1
"""Largest integer that every JSON parser reads exactly."""
_MOST_SAME_HASH: Final = 100


def network(db: IndexDatabase, _: ask.NoParameters) -> models.ResourceAnswer[models.NetworkResource]:
    found = models.NetworkResource(genesis_hash=f"0x{meta.read_meta(db)['genesis']}", events_from_block=kept_from(db))
    return models.ResourceAnswer[models.NetworkResource](as_of=as_of(db), data=found)


def blocks(db: IndexDatabase, asked: ask.BlockList) -> models.Page[models.BlockResource]:
    request = asked.page()
    return page_answer(db, models.BlockResource, request, page(db, BlockRow, request))


def block(db: IndexDatabase, asked: ask.OneBlock) -> models.ResourceAnswer[models.BlockResource]:
    return one_answer(
        db, models.BlockResource, db.rows(BlockRow, columns(BlockRow).number == asked.block), f"block {asked.block}"
    )


def extrinsics(db: IndexDatabase, asked: ask.ExtrinsicsOfBlock) -> models.Page[models.ExtrinsicResource]:
    require_kept(db, asked.block)
    request = asked.page(2)
    found = page(db, ExtrinsicRow, request, columns(ExtrinsicRow).block == asked.block)
    return page_answer(db, models.ExtrinsicResource, request, found, _extrinsics(db, found))


def extrinsic(db: IndexDatabase, asked: ask.OneExtrinsic) -> models.Page[models.ExtrinsicResource]:
    """Return all extrinsics with this hash: an account that was removed and funded again may repeat one."""
    request = PageRequest(_MOST_SAME_HASH)
    found = page(db, ExtrinsicRow, request, columns(ExtrinsicRow).hash == asked.hash)
    if not found:
        raise not_found(db, f"extrinsic {asked.hash}")
    return page_answer(db, models.ExtrinsicResource, request, found, _extrinsics(db, found))


def events(db: IndexDatabase, asked: ask.EventList) -> models.Page[models.EventResource]:
    require_kept(db, asked.first_block, asked.last_block)
    event = columns(EventRow)
    bounds = []
    if asked.first_block is not None:
        bounds.append(event.block >= asked.first_block)
    if asked.last_block is not None:
        bounds.append(event.block <= asked.last_block)
    request = asked.page(2)
    found = chosen_events(db, asked, request, *bounds)
    times = block_times(db, [row.block for row in found])
    made = [event_model(row, times[row.block]) for row in found]
    return models.Page[models.EventResource](as_of=as_of(db), data=made, next=next_cursor(request, found))


def tasks(db: IndexDatabase, asked: ask.TaskList) -> models.Page[models.TaskResource]:
    task = columns(TaskRow)
    return _filtered(
        db, models.TaskResource, TaskRow, asked.page(), ((task.tenant, asked.tenant), (task.state, asked.state))
    )


def task(db: IndexDatabase, asked: ask.OneTask) -> models.ResourceAnswer[models.TaskResource]:
    return one_answer(db, models.TaskResource, db.rows(TaskRow, columns(TaskRow).task == asked.task), f"task {asked.task}")


def leases(db: IndexDatabase, asked: ask.LeaseList) -> models.Page[models.LeaseResource]:
    lease = columns(LeaseRow)
    return _filtered(
        db, models.LeaseResource, LeaseRow, asked.page(), ((lease.task, asked.task), (lease.host, asked.host))
    )


def lease(db: IndexDatabase, asked: ask.OneLease) -> models.ResourceAnswer[models.LeaseResource]:
    return one_answer(
        db, models.LeaseResource, db.rows(LeaseRow, columns(LeaseRow).lease == asked.lease), f"lease {asked.lease}"
    )


def hosts(db: IndexDatabase, asked: ask.HostList) -> models.Page[models.HostResource]:
    host = columns(HostRow)
    chosen = ((host.provider, asked.provider), (host.status, asked.status))
    return _filtered(db, models.HostResource, HostRow, asked.page(), chosen)


def host(db: IndexDatabase, asked: ask.OneHost) -> models.ResourceAnswer[models.HostResource]:
    return one_answer(db, models.HostResource, db.rows(HostRow, columns(HostRow).host == asked.host), f"host {asked.host}")


def bills_of_task(db: IndexDatabase, asked: ask.BillsOfTask) -> models.Page[models.BillResource]:
    of_task = select(columns(LeaseRow).lease).where(columns(LeaseRow).task == asked.task)
    return _bills(db, asked.page(3), columns(BillRow).lease.in_(of_task))


def bills_of_lease(db: IndexDatabase, asked: ask.BillsOfLease) -> models.Page[models.BillResource]:
    return _bills(db, asked.page(3), columns(BillRow).lease == asked.lease)


def transfers(db: IndexDatabase, asked: ask.TransfersOfAccount) -> models.Page[models.TransferResource]:
    request = asked.page(2)
    found = account_transfers(db, asked.account, request)
    return page_answer(db, models.TransferResource, request, found, placed(db, found))


def _extrinsics(db: IndexDatabase, rows: Sequence[ExtrinsicRow]) -> Fields:
    fields = placed(db, rows)
    return lambda row: fields(row) | {"error": row.failure, "refused_items": row.refused}


def _bills(db: IndexDatabase, request: PageRequest, condition: ColumnElement[bool]) -> models.Page[models.BillResource]:
    found = page(db, BillRow, request, condition)
    return page_answer(db, models.BillResource, request, found, placed(db, found))


def _filtered(
    db: IndexDatabase,
    model: type[M],
    row_type: type[R],
    request: PageRequest,
    chosen: Iterable[tuple[ColumnElement[Any], object]],
) -> models.Page[M]:
    """Return a page of the rows that have these values; None does not restrict."""
    conditions = [column == value for column, value in chosen if value is not None]
    return page_answer(db, model, request, page(db, row_type, request, *conditions))


def chosen_events(
    db: IndexDatabase, asked: ask.EventChoice, request: PageRequest, *conditions: ColumnElement[bool]
) -> list[EventRow]:
    """Return a page of the events that a list or a stream asks for."""
    event = columns(EventRow)
    chosen = ((event.pallet, asked.pallet), (event.name, asked.name))
    conditions = (*conditions, *(column == value for column, value in chosen if value is not None))
    if asked.subject is None:
        return page(db, EventRow, request, *conditions)
    return mentioned_events(db, asked.subject, request, *conditions)


def event_model(row: EventRow, time_ms: int) -> models.EventResource:
    """Return an event of a block with this time."""
    return models.EventResource(
        id=f"{row.block}.{row.place}",
        block=row.block,
        index=row.place,
        time_ms=time_ms,
        extrinsic=row.extrinsic,
        pallet=row.pallet,
        name=row.name,
        fields=_exact(json.loads(row.fields)),
        error=row.failure,
    )


def _exact(value: Any) -> Any:
    """Return a JSON value whose integers above 2^53 - 1 are text."""
    if isinstance(value, dict):
        return {name: _exact(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_exact(one) for one in value]
    return str(value) if isinstance(value, int) and abs(value) > MOST_EXACT else value
