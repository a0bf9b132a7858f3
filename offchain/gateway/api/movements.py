"""Movements of an account's coins: pages, and the table for book-keeping."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import ColumnElement

from offchain.gateway.api import models
from offchain.gateway.api import parameters as ask
from offchain.gateway.api.answers import as_of, next_cursor
from offchain.gateway.api.csv_export import CsvExport, CsvPart
from offchain.indexer import meta
from offchain.indexer.database import IndexDatabase
from offchain.indexer.pages import (
    AccountMovement,
    Key,
    PageRequest,
    account_movements,
    block_times,
    first_block_at,
    page,
)
from offchain.indexer.rows import MovementRow
from offchain.indexer.state_rows import GenesisBalanceRow
from offchain.indexer.tables import columns
from offchain.services.csv_text import Cell

_CATEGORIES: Final[dict[str, models.MovementCategory]] = {
    "Transfer": "transfer",
    "TransferAndHold": "transfer",
    "ReserveRepatriated": "transfer",
    "Held": "hold",
    "Reserved": "hold",
    "Released": "release",
    "Unreserved": "release",
    "Fee": "fee",
    "Withdraw": "withdrawal",
    "Deposit": "deposit",
    "Slashed": "slash",
    "BurnedHeld": "slash",
}
_ESCROW: Final = "Billing("
"""Begin of the reasons of holds that pay leases; transfers out of other holds are losses of a bond or stake."""


def movements(db: IndexDatabase, asked: ask.MovementsOfAccount) -> models.Page[models.MovementResource]:
    request = asked.page(2)
    found = account_movements(db, asked.account, request, *_bounds(db, asked))
    after = next_cursor(request, [one.movement for one in found], _key)
    return models.Page[models.MovementResource](as_of=as_of(db), data=_models(db, asked.account, found), next=after)


def movements_until(
    db: IndexDatabase, asked: ask.MovementsOfAccount, request: PageRequest, last_block: int
) -> list[models.MovementResource]:
    """Return a page of movements up to a block. The key of a movement is its block and index."""
    return _models(db, asked.account, account_movements(db, asked.account, request, *_bounds(db, asked, last_block)))


def _export(db: IndexDatabase, asked: ask.MovementsOfAccount, request: PageRequest, last_block: int) -> CsvPart:
    found = movements_until(db, asked, request, last_block)
    return CsvPart([_cells(one) for one in found], (found[-1].block, found[-1].index) if found else None)


def _end(db: IndexDatabase, asked: ask.MovementsOfAccount, request: PageRequest, last_block: int) -> Key | None:
    last_and_next = PageRequest(2, request.after, request.newest_first)
    of_account = columns(MovementRow).account == asked.account
    bounds = _bounds(db, asked, last_block)
    order = ("block", "place")
    found = page(db, MovementRow, last_and_next, of_account, *bounds, order=order, offset=request.limit - 1)
    return _key(found[0]) if len(found) == 2 else None


def _cells(one: models.MovementResource) -> list[Cell]:
    time = datetime.fromtimestamp(one.time_ms / 1000, UTC).isoformat(timespec="milliseconds")
    return [
        one.block,
        one.index,
        time,
        one.category,
        one.kind,
        one.counterparty,
        one.amount,
        one.reason,
        one.free_change,
        one.held_change,
        one.free_total,
        one.held_total,
    ]


EXPORT: Final = CsvExport(
    (
        "block",
        "index",
        "time",
        "category",
        "kind",
        "counterparty",
        "amount",
        "reason",
        "free_change",
        "held_change",
        "free_total",
        "held_total",
    ),
    _export,
    _end,
)


def _key(row: MovementRow) -> Key:
    return (row.block, row.place)


def _bounds(db: IndexDatabase, asked: ask.MovementsOfAccount, upto: int | None = None) -> list[ColumnElement[bool]]:
    """Return the conditions on blocks; `upto`: the last block of an export."""
    block = columns(MovementRow).block
    first = [] if asked.first_block is None else [asked.first_block]
    last = [number for number in (asked.last_block, upto) if number is not None]
    if asked.first_ms is not None:
        first.append(first_block_at(db, asked.first_ms))
    if asked.last_ms is not None:
        last.append(first_block_at(db, asked.last_ms + 1) - 1)
    return [block >= number for number in first] + [block <= number for number in last]


def _models(db: IndexDatabase, account: str, found: list[AccountMovement]) -> list[models.MovementResource]:
    times = block_times(db, [one.movement.block for one in found])
    start = _genesis_balance(db, account)
    return [_model(one, account, times[one.movement.block], start) for one in found]


def _genesis_balance(db: IndexDatabase, account: str) -> GenesisBalanceRow | None:
    """Return what an account had in the genesis block; None: the index does not know it."""
    if meta.GENESIS_BALANCES not in meta.read_meta(db):
        return None
    found = db.rows(GenesisBalanceRow, columns(GenesisBalanceRow).account == account)
    return found[0] if found else GenesisBalanceRow(account, 0, 0)


def _model(
    found: AccountMovement, account: str, time_ms: int, start: GenesisBalanceRow | None
) -> models.MovementResource:
    movement, transfer = found.movement, found.transfer
    fields: dict[str, Any] = {"free_total": None, "held_total": None}
    if start is not None:
        totals = {"free_total": (start.free, movement.free_total), "held_total": (start.held, movement.held_total)}
        fields = {name: None if total is None else first + total for name, (first, total) in totals.items()}
    return models.MovementResource(
        block=movement.block,
        index=movement.place,
        time_ms=time_ms,
        category=_category(transfer.kind, transfer.reason),
        kind=transfer.kind,
        counterparty=transfer.receiver if transfer.sender == account else transfer.sender,
        amount=transfer.amount,
        reason=transfer.reason,
        free_change=movement.free_change,
        held_change=movement.held_change,
        **fields,
    )


def _category(kind: str, reason: str | None) -> models.MovementCategory:
    if kind == "TransferOnHold":
        return "payment" if (reason or "").startswith(_ESCROW) else "slash"
    return _CATEGORIES.get(kind, "other")
