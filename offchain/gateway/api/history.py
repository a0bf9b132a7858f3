"""Answers from the index: for each resource a function from a database and parameters to models."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel
from sqlalchemy import ColumnElement, select, tuple_

from offchain.gateway.api import models
from offchain.gateway.api import parameters as ask
from offchain.gateway.api.answers import Fields, as_of, next_cursor, not_found, one_answer, page_answer, placed, plain
from offchain.indexer import meta
from offchain.indexer.database import IndexDatabase
from offchain.indexer.pages import (
    PageRequest,
    account_movements,
    block_times,
    holds_coins,
    leases_of_tenant,
    mentioned_events,
    page,
    require_kept,
    tasks_by_state,
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
)
from offchain.indexer.state_rows import DocumentationRow
from offchain.indexer.status import kept_from
from offchain.indexer.tables import columns
from offchain.schema.chain_types.ids import TASK_PALLETS

M = TypeVar("M", bound=BaseModel)

MOST_EXACT: Final = (1 << 53) - 1
"""Largest integer that every JSON parser reads exactly."""
MOST_COUNTED: Final = 10_000
"""How many tasks of a state are counted."""
_MOST_SAME_HASH: Final = 100
_LEASE_FIELDS: Final = frozenset({"lease", "from", "to"})
"""Fields of events about tasks that are numbers of leases, if they are integers."""


def network(db: IndexDatabase, _: ask.NoParameters) -> models.ResourceAnswer[models.NetworkResource]:
    found = models.NetworkResource(genesis_hash=f"0x{meta.read_meta(db)['genesis']}", events_from_block=kept_from(db))
    return models.ResourceAnswer[models.NetworkResource](as_of=as_of(db), data=found)


def blocks(db: IndexDatabase, asked: ask.BlockList) -> models.Page[models.BlockResource]:
    request = asked.page()
    return page_answer(db, models.BlockResource, request, page(db, BlockRow, request))


def block(db: IndexDatabase, asked: ask.OneBlock) -> models.ResourceAnswer[models.BlockResource]:
    return one_answer(db, models.BlockResource, _named_block(db, asked.block), f"block {asked.block}")


def extrinsics(db: IndexDatabase, asked: ask.ExtrinsicsOfBlock) -> models.Page[models.ExtrinsicResource]:
    named = _named_block(db, asked.block)
    if not named:
        raise not_found(db, f"block {asked.block}")
    number = named[0].number
    require_kept(db, number)
    request = asked.page(2)
    found = page(db, ExtrinsicRow, request, columns(ExtrinsicRow).block == number)
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
    if asked.extrinsic is not None:
        bounds.append(event.extrinsic == asked.extrinsic)
    request = asked.page(2)
    found = chosen_events(db, asked, request, *bounds)
    times = block_times(db, [row.block for row in found])
    texts = _event_texts(db, found) if asked.documented else {}
    made = [event_model(row, times[row.block], texts.get((row.pallet, row.name))) for row in found]
    return models.Page[models.EventResource](as_of=as_of(db), data=made, next=next_cursor(request, found))


def tasks(db: IndexDatabase, asked: ask.TaskList) -> models.Page[models.TaskResource]:
    task = columns(TaskRow)
    chosen = ((task.tenant, asked.tenant), (task.state, asked.state), (task.manifest_digest, asked.digest))
    return _filtered(db, models.TaskResource, TaskRow, asked.page(), chosen)


def task(db: IndexDatabase, asked: ask.OneTask) -> models.ResourceAnswer[models.TaskResource]:
    return one_answer(
        db, models.TaskResource, db.rows(TaskRow, columns(TaskRow).task == asked.task), f"task {asked.task}"
    )


def task_counts(db: IndexDatabase, _: ask.NoParameters) -> models.Page[models.TaskCountResource]:
    """Return the number of tasks in each state, up to :data:`MOST_COUNTED` of each."""
    made = [
        models.TaskCountResource(state=state, tasks=min(found, MOST_COUNTED), more=found > MOST_COUNTED)
        for state, found in tasks_by_state(db, MOST_COUNTED + 1).items()
    ]
    return models.Page[models.TaskCountResource](as_of=as_of(db), data=made, next=None)


def leases(db: IndexDatabase, asked: ask.LeaseList) -> models.Page[models.LeaseResource]:
    lease, request = columns(LeaseRow), asked.page()
    chosen = ((lease.task, asked.task), (lease.host, asked.host), (lease.result_digest, asked.digest))
    if asked.tenant is None:
        return _filtered(db, models.LeaseResource, LeaseRow, request, chosen)
    conditions = [column == value for column, value in chosen if value is not None]
    found = leases_of_tenant(db, asked.tenant, request, *conditions)
    return page_answer(db, models.LeaseResource, request, found)


def lease(db: IndexDatabase, asked: ask.OneLease) -> models.ResourceAnswer[models.LeaseResource]:
    return one_answer(
        db, models.LeaseResource, db.rows(LeaseRow, columns(LeaseRow).lease == asked.lease), f"lease {asked.lease}"
    )


def escrows(db: IndexDatabase, asked: ask.EscrowsOfAccount) -> models.Page[models.EscrowResource]:
    request = asked.page()
    found = leases_of_tenant(db, asked.account, request, holds_coins())

    def fields(row: LeaseRow) -> dict[str, Any]:
        return plain(row) | {"held": row.deposited - row.paid - row.refunded}

    return page_answer(db, models.EscrowResource, request, found, fields)


def hosts(db: IndexDatabase, asked: ask.HostList) -> models.Page[models.HostResource]:
    host = columns(HostRow)
    chosen = ((host.provider, asked.provider), (host.status, asked.status))
    return _filtered(db, models.HostResource, HostRow, asked.page(), chosen)


def host(db: IndexDatabase, asked: ask.OneHost) -> models.ResourceAnswer[models.HostResource]:
    return one_answer(
        db, models.HostResource, db.rows(HostRow, columns(HostRow).host == asked.host), f"host {asked.host}"
    )


def bills_of_task(db: IndexDatabase, asked: ask.BillsOfTask) -> models.Page[models.BillResource]:
    of_task = select(columns(LeaseRow).lease).where(columns(LeaseRow).task == asked.task)
    return _bills(db, asked.page(3), columns(BillRow).lease.in_(of_task))


def bills_of_lease(db: IndexDatabase, asked: ask.BillsOfLease) -> models.Page[models.BillResource]:
    return _bills(db, asked.page(3), columns(BillRow).lease == asked.lease)


def transfers(db: IndexDatabase, asked: ask.TransfersOfAccount) -> models.Page[models.TransferResource]:
    request = asked.page(2)
    found = [one.transfer for one in account_movements(db, asked.account, request)]
    return page_answer(db, models.TransferResource, request, found, placed(db, found))


def _extrinsics(db: IndexDatabase, rows: Sequence[ExtrinsicRow]) -> Fields:
    fields = placed(db, rows)
    return lambda row: (
        fields(row)
        | {
            "error": row.failure,
            "success": row.failure is None,
            "refused_items": row.refused,
        }
    )


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


def documentation(db: IndexDatabase, asked: ask.DocumentationList) -> models.Page[models.DocumentationResource]:
    request, item = asked.page(), columns(DocumentationRow)
    chosen = ((item.pallet, asked.pallet), (item.kind, asked.kind))
    found = page(db, DocumentationRow, request, *(column == value for column, value in chosen if value is not None))
    return page_answer(
        db, models.DocumentationResource, request, found, lambda row: plain(row) | {"fields": json.loads(row.fields)}
    )


def _named_block(db: IndexDatabase, name: str) -> list[BlockRow]:
    """Return the block with this number or hash, if there is one."""
    block = columns(BlockRow)
    return db.rows(BlockRow, block.hash == name if name.startswith("0x") else block.number == int(name))


def _event_texts(db: IndexDatabase, rows: Sequence[EventRow]) -> dict[tuple[str, str], str]:
    """Return the documentation of the rows' kinds of events, as far as it is in the index."""
    item = columns(DocumentationRow)
    kinds = sorted({(row.pallet, row.name) for row in rows})
    if not kinds:
        return {}
    found = db.rows(DocumentationRow, item.kind == "event", tuple_(item.pallet, item.name).in_(kinds))
    return {(one.pallet, one.name): one.text for one in found}


def event_model(row: EventRow, time_ms: int, documentation: str | None = None) -> models.EventResource:
    """Return an event of a block with this time."""
    return models.EventResource(
        id=f"{row.block}.{row.place}",
        block=row.block,
        index=row.place,
        time_ms=time_ms,
        extrinsic=row.extrinsic,
        pallet=row.pallet,
        name=row.name,
        fields=exact(_with_lease_texts(row.pallet, json.loads(row.fields))),
        error=row.failure,
        documentation=documentation,
    )


def exact(value: Any) -> Any:
    """Return a JSON value whose integers above 2^53 - 1 are text."""
    if isinstance(value, dict):
        return {name: exact(one) for name, one in value.items()}
    if isinstance(value, list):
        return [exact(one) for one in value]
    return str(value) if isinstance(value, int) and abs(value) > MOST_EXACT else value


def _with_lease_texts(pallet: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an event with numbers of leases as text: `lease`, also of bills, `leases`, `from`, `to`."""
    if pallet not in TASK_PALLETS:
        return fields
    found: dict[str, Any] = {
        name: str(one) if name in _LEASE_FIELDS and type(one) is int else one for name, one in fields.items()
    }
    if "bill" in found:
        found["bill"] = _bill_with_text(found["bill"])
    if "bills" in found:
        found["bills"] = [_bill_with_text(bill) for bill in found["bills"]]
    if "leases" in found:
        found["leases"] = [[str(lease), *terms] for lease, *terms in found["leases"]]
    return found


def _bill_with_text(bill: dict[str, Any]) -> dict[str, Any]:
    return bill | {"lease": str(bill["lease"])}
