"""Reads of the index. Run several within :meth:`IndexDatabase.snapshot`; lists are in the order of the chain."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, select, tuple_

from offchain.indexer.database import IndexDatabase
from offchain.indexer.engines import open_index
from offchain.indexer.rows import (
    BillRow,
    BlockRow,
    EventRow,
    HostRow,
    LeaseRow,
    MentionRow,
    MovementRow,
    R,
    Row,
    TaskRow,
    TransferRow,
)
from offchain.indexer.status import events_pruned, kept_from, unusable
from offchain.indexer.tables import TABLES, column_names, columns

_MOST_UNSETTLED = 256


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


def open_for_reading(address: str, read_limit_s: float | None = None) -> IndexDatabase:
    """Open an index. Raises IndexFault if there is none, it is of another release, or its chain is in doubt."""
    db = open_index(address, read_limit_s=read_limit_s)
    try:
        fault = unusable(db)
    except BaseException:
        db.close()
        raise
    if fault is not None:
        db.close()
        raise fault
    return db


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


def unsettled_leases(db: IndexDatabase, address: str) -> list[int]:
    """Return leases of a host whose tasks wait for their settlement, the oldest first; a bounded number."""
    lease, waiting = columns(LeaseRow), columns(TaskRow)
    statement = (
        select(lease.lease)
        .where(waiting.state.in_(("Reported", "Verified")), lease.task == waiting.task, lease.host == address)
        .order_by(lease.lease)
        .limit(_MOST_UNSETTLED)
    )
    return [number for (number,) in db.execute(statement)]


def tasks_of(db: IndexDatabase, tenant: str, limit: int) -> list[TaskRow]:
    return db.rows(TaskRow, columns(TaskRow).tenant == tenant, newest=limit)


def bills_of_task(db: IndexDatabase, number: int) -> list[BillRow]:
    """Return all payments for a task, grouped by lease."""
    lease = columns(LeaseRow)
    leases = select(lease.lease).where(lease.task == number)
    return sorted(db.rows(BillRow, columns(BillRow).lease.in_(leases)), key=lambda bill: bill.lease)


def mentions(db: IndexDatabase, subject: str, limit: int) -> list[TimedEvent]:
    """Return the newest events about a task (its number) or an account.

    Raises EventsPruned if there is none, and older ones were removed.
    """
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
    if not found and (oldest := kept_from(db)):
        raise events_pruned(db, oldest)
    return [TimedEvent(*one) for one in found]


def mentions_of_kinds(
    db: IndexDatabase, subjects: Sequence[str], kinds: Sequence[tuple[str, str]], limit: int
) -> list[TimedEvent]:
    """Return the newest events of these kinds (pallet and name) about any of these subjects, each once."""
    event, mention = columns(EventRow), columns(MentionRow)
    about = select(mention.block, mention.place).where(mention.subject.in_(subjects))
    found = _newest_with_times(
        db,
        EventRow,
        limit,
        tuple_(event.block, event.place).in_(about),
        tuple_(event.pallet, event.name).in_(kinds),
    )
    return [TimedEvent(*one) for one in found]


def events(db: IndexDatabase, selected: EventFilter) -> list[TimedEvent]:
    """Return the selected events.

    Raises EventsPruned if `first_block` or `last_block` was removed, or, without `first_block`, if no event is left.
    """
    event = columns(EventRow)
    bounds = [
        (operator.eq, event.pallet, selected.pallet),
        (operator.eq, event.name, selected.name),
        (operator.ge, event.block, selected.first_block),
        (operator.le, event.block, selected.last_block),
    ]
    conditions = [compare(column, value) for compare, column, value in bounds if value is not None]
    found = _newest_with_times(db, EventRow, selected.limit, *conditions)
    # After the events: whoever removes events raises it with them.
    oldest = kept_from(db)
    named = [number for number in (selected.first_block, selected.last_block) if number is not None]
    if any(number < oldest for number in named) or (oldest and selected.first_block is None and not found):
        raise events_pruned(db, oldest)
    return [TimedEvent(*one) for one in found]


def transfers(db: IndexDatabase, account: str, limit: int) -> list[TimedTransfer]:
    """Return the newest movements of an account's coins."""
    movement, transfer = columns(MovementRow), columns(TransferRow)
    found = _newest_with_times(
        db,
        TransferRow,
        limit,
        movement.account == account,
        movement.block == transfer.block,
        movement.place == transfer.place,
        order=MovementRow,
    )
    return [TimedTransfer(*one) for one in found]


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
