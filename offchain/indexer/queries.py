"""Reads of the index. Run several within :meth:`IndexDatabase.snapshot`; lists are in the order of the chain."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, select

from offchain.indexer.database import IndexDatabase, IndexFault, open_index
from offchain.indexer.rows import (
    BillRow,
    BlockRow,
    EventRow,
    HostRow,
    LeaseRow,
    MentionRow,
    MetaRow,
    R,
    Row,
    TaskRow,
    TransferRow,
)
from offchain.indexer.tables import DERIVED_VERSION, SCHEMA_VERSION, TABLES, column_names, columns
from offchain.ports import BlockRef

HALTED = "halted"
"""Row of `meta`: why the index may not be read, while the node does not serve the chain that is in it."""


@dataclass(frozen=True, slots=True)
class TimedEvent:
    """An event with the time of its block."""

    event: EventRow
    time_ms: int


@dataclass(frozen=True, slots=True)
class TimedTransfer:
    """A movement of coins with the time of its block."""

    transfer: TransferRow
    time_ms: int


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Selects the newest `limit` events of a pallet, of a name, and from and to a block; None does not restrict."""

    pallet: str | None = None
    name: str | None = None
    first_block: int | None = None
    last_block: int | None = None
    limit: int = 1000


def open_for_reading(address: str) -> IndexDatabase:
    """Open an index. Raises IndexFault if there is none, it is of another release, or its chain is in doubt."""
    db = open_index(address)
    try:
        fault = _unusable(db)
    except BaseException:
        db.close()
        raise
    if fault is not None:
        db.close()
        raise fault
    return db


def _unusable(db: IndexDatabase) -> IndexFault | None:
    meta = read_meta(db)
    if not meta.get("schema"):
        return IndexFault(
            f"There is no index in {db.name} yet.", "Start one with gantry worker indexer.", code="no_index"
        )
    if is_newer(meta):
        return newer_release(db)
    if int(meta["schema"]) < SCHEMA_VERSION or int(meta.get("derived", 0)) < DERIVED_VERSION:
        return IndexFault(
            f"The index {db.name} is being brought to the form of this release.",
            "Wait for gantry worker indexer to say that it has started.",
            code="index_busy",
        )
    if HALTED in meta:
        return IndexFault(
            f"The index {db.name} is not answered from: its indexer found that the node serves something else. "
            f"{meta[HALTED]}",
            "Look into the log of gantry worker indexer; it answers again once the node has the blocks of the index.",
            code="index_halted",
        )
    return None


def read_meta(db: IndexDatabase) -> dict[str, str]:
    """Return the table `meta`; empty if nothing was written yet."""
    return {row.name: row.value for row in db.rows(MetaRow)} if db.has_table(MetaRow.TABLE) else {}


def is_newer(meta: Mapping[str, str]) -> bool:
    """Whether a newer release than this one has written the index."""
    return int(meta.get("schema", 0)) > SCHEMA_VERSION or int(meta.get("derived", 0)) > DERIVED_VERSION


def newer_release(db: IndexDatabase) -> IndexFault:
    return IndexFault(f"The index {db.name} is of a newer release.", "Use that release again.")


def last_block(db: IndexDatabase) -> BlockRow | None:
    found = db.rows(BlockRow, newest=1)
    return found[0] if found else None


def cursor(db: IndexDatabase) -> BlockRef | None:
    """Return the last block in the index as a reference."""
    last = last_block(db)
    return None if last is None else BlockRef(last.number, bytes.fromhex(last.hash[2:]))


def task(db: IndexDatabase, number: int) -> TaskRow | None:
    found = db.rows(TaskRow, columns(TaskRow).task == number)
    return found[0] if found else None


def host(db: IndexDatabase, address: str) -> HostRow | None:
    found = db.rows(HostRow, columns(HostRow).host == address)
    return found[0] if found else None


def leases_of_task(db: IndexDatabase, number: int) -> list[LeaseRow]:
    return db.rows(LeaseRow, columns(LeaseRow).task == number)


def leases_of_host(db: IndexDatabase, address: str, limit: int) -> list[LeaseRow]:
    return db.rows(LeaseRow, columns(LeaseRow).host == address, newest=limit)


def tasks_of(db: IndexDatabase, tenant: str, limit: int) -> list[TaskRow]:
    return db.rows(TaskRow, columns(TaskRow).tenant == tenant, newest=limit)


def bills_of_task(db: IndexDatabase, number: int) -> list[BillRow]:
    """Return all payments for a task, grouped by lease."""
    lease = columns(LeaseRow)
    leases = select(lease.lease).where(lease.task == number)
    return sorted(db.rows(BillRow, columns(BillRow).lease.in_(leases)), key=lambda bill: bill.lease)


def mentions(db: IndexDatabase, subject: str, limit: int) -> list[TimedEvent]:
    """Return the newest events about a task (its number) or an account."""
    event, mention = columns(EventRow), columns(MentionRow)
    found = _newest_with_times(
        db,
        EventRow,
        limit,
        mention.block == event.block,
        mention.place == event.place,
        mention.subject == subject,
        order=MentionRow,
    )
    return [TimedEvent(*one) for one in found]


def events(db: IndexDatabase, selected: EventFilter) -> list[TimedEvent]:
    event = columns(EventRow)
    bounds = [
        (operator.eq, event.pallet, selected.pallet),
        (operator.eq, event.name, selected.name),
        (operator.ge, event.block, selected.first_block),
        (operator.le, event.block, selected.last_block),
    ]
    conditions = [compare(column, value) for compare, column, value in bounds if value is not None]
    return [TimedEvent(*one) for one in _newest_with_times(db, EventRow, selected.limit, *conditions)]


def transfers(db: IndexDatabase, account: str, limit: int) -> list[TimedTransfer]:
    """Return the newest movements of an account's coins."""
    transfer = columns(TransferRow)
    # One query for each side, so that each uses its own index.
    found = [
        one
        for side in (transfer.sender, transfer.receiver)
        for one in _newest_with_times(db, TransferRow, limit, side == account)
    ]
    newest = sorted(dict.fromkeys(found), key=lambda one: (one[0].block, one[0].place))[-limit:]
    return [TimedTransfer(*one) for one in newest]


def _newest_with_times(
    db: IndexDatabase,
    row_type: type[R],
    limit: int,
    *conditions: ColumnElement[bool],
    order: type[Row] | None = None,
) -> list[tuple[R, int]]:
    """Return the newest rows and the times of their blocks, oldest first. `order`: the table whose index is read."""
    block, row, by = columns(BlockRow), columns(row_type), columns(order or row_type)
    statement = (
        select(TABLES[row_type], block.time_ms)
        .where(block.number == row.block, *conditions)
        .order_by(by.block.desc(), by.place.desc())
        .limit(limit)
    )
    return [(row_type(*found[:-1]), found[-1]) for found in reversed(db.execute(statement))]


def as_dict(row: Row) -> dict[str, Any]:
    """Return the columns of a row by name, for JSON and CSV."""
    return {name: getattr(row, name) for name in column_names(type(row))}
