"""What is asked of the index. Every answer is of one moment of the index; lists are in the order of the chain."""

from __future__ import annotations

from dataclasses import dataclass

from offchain.indexer.database import Database, IndexFault, open_index
from offchain.indexer.index import DERIVED_VERSION, HALTED, SCHEMA, last_block, newer, read_meta
from offchain.indexer.rows import (
    BillRow,
    BlockRow,
    EventRow,
    HostRow,
    LeaseRow,
    Row,
    TaskRow,
    TransferRow,
    columns_of,
)


@dataclass(frozen=True, slots=True)
class Happened:
    """An event with the time of its block."""

    event: EventRow
    time_ms: int


@dataclass(frozen=True, slots=True)
class Moved:
    """A movement of coins with the time of its block."""

    transfer: TransferRow
    time_ms: int


@dataclass(frozen=True, slots=True)
class Filter:
    """Which events: of this pallet, of this name, from and up to these blocks; the newest `limit` of them."""

    pallet: str | None = None
    name: str | None = None
    first_block: int | None = None
    last_block: int | None = None
    limit: int = 1000


def open_for_reading(address: str) -> Database:
    """An index that can be asked. Raises IndexFault where there is none, or it is of another release."""
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


def _unusable(db: Database) -> IndexFault | None:
    meta = read_meta(db)
    if not meta.get("schema"):
        return IndexFault(
            f"There is no index in {db.name} yet.", "Start one with gantry worker indexer.", code="no_index"
        )
    schema, derived = int(meta["schema"]), int(meta.get("derived", 0))
    if schema > SCHEMA or derived > DERIVED_VERSION:
        return newer(db)
    if schema < SCHEMA or derived < DERIVED_VERSION:
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


def reached(db: Database) -> BlockRow | None:
    """The last block in the index."""
    last = last_block(db)
    return None if last is None else db.rows(BlockRow, "WHERE number = ?", last.number)[0]


def task(db: Database, number: int) -> TaskRow | None:
    """A task as it stands."""
    found = db.rows(TaskRow, "WHERE task = ?", number)
    return found[0] if found else None


def host(db: Database, address: str) -> HostRow | None:
    """A host as it stands."""
    found = db.rows(HostRow, "WHERE host = ?", address)
    return found[0] if found else None


def leases_of_task(db: Database, number: int) -> list[LeaseRow]:
    """All leases that a task ever had."""
    return db.rows(LeaseRow, "WHERE task = ? ORDER BY lease", number)


def leases_of_host(db: Database, address: str, limit: int) -> list[LeaseRow]:
    """The newest leases of a host, oldest first."""
    return db.rows(LeaseRow, "WHERE host = ? ORDER BY lease DESC LIMIT ?", address, limit)[::-1]


def tasks_of(db: Database, tenant: str, limit: int) -> list[TaskRow]:
    """The newest tasks of a tenant, oldest first."""
    return db.rows(TaskRow, "WHERE tenant = ? ORDER BY task DESC LIMIT ?", tenant, limit)[::-1]


def bills_of_task(db: Database, number: int) -> list[BillRow]:
    """What was paid for a task, and when."""
    leases = [lease.lease for lease in leases_of_task(db, number)]
    return [bill for lease in leases for bill in db.rows(BillRow, "WHERE lease = ? ORDER BY block, place", lease)]


def mentions(db: Database, subject: str, limit: int) -> list[Happened]:
    """The newest events about a task (its number) or an account, oldest first."""
    return _happened(
        db,
        "JOIN mentions m ON m.block = e.block AND m.place = e.place WHERE m.subject = ?"
        " ORDER BY m.block DESC, m.place DESC LIMIT ?",
        subject,
        limit,
    )


def events(db: Database, wanted: Filter) -> list[Happened]:
    """The newest events that pass a filter, oldest first."""
    bounds = [
        ("e.pallet = ?", wanted.pallet),
        ("e.name = ?", wanted.name),
        ("e.block >= ?", wanted.first_block),
        ("e.block <= ?", wanted.last_block),
    ]
    chosen = [(clause, value) for clause, value in bounds if value is not None]
    where = f"WHERE {' AND '.join(clause for clause, _ in chosen)}" if chosen else ""
    values = [value for _, value in chosen]
    return _happened(db, f"{where} ORDER BY e.block DESC, e.place DESC LIMIT ?", *values, wanted.limit)


def transfers(db: Database, account: str, limit: int) -> list[Moved]:
    """The newest movements of an account's coins, oldest first."""
    # Two questions, so that each uses its own index.
    found = [
        row
        for side in ("sender", "receiver")
        for row in db.rows(TransferRow, f"WHERE {side} = ? ORDER BY block DESC, place DESC LIMIT ?", account, limit)
    ]
    newest = sorted(dict.fromkeys(found), key=lambda row: (row.block, row.place))[-limit:]
    times = _times(db, {row.block for row in newest})
    return [Moved(row, times[row.block]) for row in newest]


def _times(db: Database, blocks: set[int]) -> dict[int, int]:
    if not blocks:
        return {}
    rows = db.rows(BlockRow, f"WHERE number IN ({', '.join('?' * len(blocks))})", *blocks)
    return {row.number: row.time_ms for row in rows}


def _happened(db: Database, rest: str, *values: object) -> list[Happened]:
    names = ", ".join(f"e.{column.name}" for column in columns_of(EventRow))
    found = db.values(
        f"SELECT {names}, b.time_ms FROM events e JOIN blocks b ON b.number = e.block {rest}",  # noqa: S608 - our own names
        *values,
    )
    return [Happened(EventRow(*row[:-1]), row[-1]) for row in found][::-1]


def as_dict(row: Row) -> dict[str, object]:
    """Names and values, for JSON and CSV."""
    return {column.name: getattr(row, column.name) for column in columns_of(type(row))}
