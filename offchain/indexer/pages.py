"""Pages of long lists of the index. A page begins after the key of the last row of the page before.

Rows that are added meanwhile neither repeat nor hide others. Run the calls within :meth:`IndexDatabase.snapshot`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Column, ColumnElement, and_, exists, func, literal, select, tuple_

from offchain.indexer.database import IndexDatabase
from offchain.indexer.exact_amounts import HasRest
from offchain.indexer.rows import BlockRow, EventRow, LeaseRow, MentionRow, MovementRow, R, TaskRow, TransferRow
from offchain.indexer.status import events_pruned, kept_from
from offchain.indexer.tables import TABLES, columns
from offchain.schema.chain_types.ids import lease_parts

Key = tuple[int | str, ...]
"""The values of the columns that order a list, usually of the primary key."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Asks for `limit` rows after the key `after`; None: from the start. `newest_first` reverses the order of keys."""

    limit: int
    after: Key | None = None
    newest_first: bool = True


def page(
    db: IndexDatabase,
    row_type: type[R],
    request: PageRequest,
    *conditions: ColumnElement[bool],
    order: Sequence[str] | None = None,
    offset: int = 0,
) -> list[R]:
    """Return the rows of a page that meet all conditions, without the first `offset` ones.

    `order`: the columns by which they are ordered; None: by the key.
    """
    table = TABLES[row_type]
    key = list(table.primary_key) if order is None else [table.c[name] for name in order]
    statement = select(table).where(*conditions, *after_key(key, request))
    found = db.execute(statement.order_by(*_order(key, request)).limit(request.limit).offset(offset or None))
    return [row_type(*row) for row in found]


def mentioned_events(
    db: IndexDatabase, subject: str, request: PageRequest, *conditions: ColumnElement[bool]
) -> list[EventRow]:
    """Return a page of the events about a task (its number) or an account (its address)."""
    event, mention = columns(EventRow), columns(MentionRow)
    key = [mention.block, mention.place]
    of_event = and_(mention.block == event.block, mention.place == event.place)
    statement = select(TABLES[EventRow]).where(
        of_event, mention.subject == subject, *conditions, *after_key(key, request)
    )
    found = db.execute(statement.order_by(*_order(key, request)).limit(request.limit))
    return [EventRow(*row) for row in found]


@dataclass(frozen=True, slots=True)
class AccountMovement:
    """A movement of an account's coins with the transfer that caused it."""

    movement: MovementRow
    transfer: TransferRow


def account_movements(
    db: IndexDatabase, account: str, request: PageRequest, *conditions: ColumnElement[bool]
) -> list[AccountMovement]:
    """Return a page of the movements of an account's coins. Its key is block and place."""
    movement, transfer = columns(MovementRow), columns(TransferRow)
    key = [movement.block, movement.place]
    statement = select(TABLES[MovementRow], TABLES[TransferRow]).where(
        movement.account == account,
        movement.block == transfer.block,
        movement.place == transfer.place,
        *conditions,
        *after_key(key, request),
    )
    found = db.execute(statement.order_by(*_order(key, request)).limit(request.limit))
    width = len(movement)
    return [AccountMovement(MovementRow(*row[:width]), TransferRow(*row[width:])) for row in found]


def block_times(db: IndexDatabase, blocks: Collection[int]) -> dict[int, int]:
    """Return the times of these blocks, in Unix ms."""
    block = columns(BlockRow)
    if not blocks:
        return {}
    found = db.execute(select(block.number, block.time_ms).where(block.number.in_(sorted(set(blocks)))))
    return {int(number): int(time_ms) for number, time_ms in found}


def leases_of_tenant(
    db: IndexDatabase, tenant: str, request: PageRequest, *conditions: ColumnElement[bool]
) -> list[LeaseRow]:
    """Return a page of the leases of a tenant's tasks, by their numbers, which are in the order of the tasks."""
    task, lease = columns(TaskRow), columns(LeaseRow)
    key = [task.task, lease.lease]
    if request.after is not None:
        (last,) = request.after
        request = replace(request, after=(lease_parts(int(last))[0], last))
    statement = select(TABLES[LeaseRow]).where(
        task.tenant == tenant, lease.task == task.task, *conditions, *after_key(key, request)
    )
    return [LeaseRow(*row) for row in db.execute(statement.order_by(*_order(key, request)).limit(request.limit))]


def holds_coins() -> ColumnElement[bool]:
    """Return the condition that coins of the tenant are on hold for a lease: what was deposited and is not paid yet.

    Where a pod goes on with another lease, this has the rest of the deposit, so only the last lease of a pod counts.
    """
    lease, later = columns(LeaseRow), TABLES[LeaseRow].alias("later_leases").c
    follows = (later.task == lease.task, later.pod == lease.pod, later.generation > lease.generation)
    return and_(HasRest(lease.deposited, lease.paid, lease.refunded), ~exists().where(*follows))


def tasks_by_state(db: IndexDatabase, most: int) -> dict[str, int]:
    """Return the number of tasks in each state that tasks are in, counted up to `most` of each."""
    task, found = columns(TaskRow), dict[str, int]()
    state = ""
    while (following := db.execute(select(func.min(task.state)).where(task.state > state))[0][0]) is not None:
        state = str(following)
        some = select(task.task).where(task.state == state).limit(most).subquery()
        found[state] = int(db.execute(select(func.count()).select_from(some))[0][0])
    return found


def first_block_at(db: IndexDatabase, time_ms: int) -> int:
    """Return the number of the first block at this time or later; that after the last block if there is none."""
    number, time = columns(BlockRow).number, columns(BlockRow).time_ms
    least, last = db.execute(select(func.min(number), func.max(number)))[0]
    if least is None:
        return 0
    low, high = int(least), int(last) + 1
    while low < high:
        middle = (low + high) // 2
        ((there, then),) = db.execute(select(number, time).where(number >= middle).order_by(number).limit(1))
        if then >= time_ms:
            high = middle
        else:
            low = int(there) + 1
    return low


def require_kept(db: IndexDatabase, *blocks: int | None) -> int:
    """Return the first block whose events are kept. Raises EventsPruned if one of `blocks` is before it."""
    oldest = kept_from(db)
    if any(number is not None and number < oldest for number in blocks):
        raise events_pruned(db, oldest)
    return oldest


def _order(key: Sequence[Column[Any]], request: PageRequest) -> list[Any]:
    return [column.desc() if request.newest_first else column for column in key]


def after_key(key: Sequence[Column[Any]], request: PageRequest) -> list[ColumnElement[bool]]:
    """Return the condition that a row comes after the page before; none on the first page."""
    if request.after is None:
        return []
    ours = tuple_(*key)
    last = tuple_(*(literal(value, column.type) for value, column in zip(request.after, key, strict=True)))
    return [ours < last if request.newest_first else ours > last]
