"""State of the index: how far it is, what was removed from it, and whether it may be read."""

from __future__ import annotations

from dataclasses import dataclass

from offchain.indexer import meta
from offchain.indexer.database import IndexDatabase, IndexFault
from offchain.indexer.rows import BlockRow, MetaRow
from offchain.indexer.tables import MATTERS_DERIVED, READABLE_DERIVED, READABLE_SCHEMA, columns
from offchain.ports import BlockRef


class EventsPruned(IndexFault):
    """The answer needs events that retention has removed."""

    code = "events_pruned"


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """State of the index.

    `kept_from`: the first block whose events are kept. `derived_version`: the version of the derived tables; None if
    they are incomplete. `derived_to`: the last block in them. `rederived_to`: the last block in the derived tables that
    are being filled beside them, -1 before the first; None if there are none.
    """

    last_block: int | None
    kept_from: int
    derived_version: int | None
    derived_to: int | None
    rederived_to: int | None
    halted: str | None


def index_status(db: IndexDatabase) -> IndexStatus:
    """Return the state of the index. Raises IndexFault if there is none in the database yet."""
    found = meta.read_meta(db)
    if not found.get("schema"):
        raise _no_index(db)
    last = last_block(db)
    number = None if last is None else last.number
    numbers = {
        name: int(found[name]) for name in (meta.DERIVED, meta.DERIVED_TO, meta.NEXT_DERIVED_TO) if name in found
    }
    return IndexStatus(
        number,
        meta.kept_from(found),
        numbers.get(meta.DERIVED),
        numbers.get(meta.DERIVED_TO, number),
        numbers.get(meta.NEXT_DERIVED_TO),
        found.get(meta.HALTED),
    )


def last_block(db: IndexDatabase) -> BlockRow | None:
    found = db.rows(BlockRow, newest=1)
    return found[0] if found else None


def cursor(db: IndexDatabase) -> BlockRef | None:
    """Return the last block in the index as a reference."""
    last = last_block(db)
    return None if last is None else BlockRef(last.number, bytes.fromhex(last.hash[2:]))


def kept_from(db: IndexDatabase) -> int:
    """Return the first block whose events are kept; 0 if all are."""
    return meta.kept_from(meta.read_meta(db))


def events_pruned(db: IndexDatabase, oldest: int) -> EventsPruned:
    return EventsPruned(
        f"The index {db.name} has no events before block {oldest}: they were removed by its retention (--keep-days).",
        f"Ask for blocks from {oldest} on, or use an index that keeps all events.",
    )


def newer_release(db: IndexDatabase) -> IndexFault:
    return IndexFault(f"The index {db.name} is of a newer release.", "Use that release again.")


def _no_index(db: IndexDatabase) -> IndexFault:
    return IndexFault(f"There is no index in {db.name} yet.", "Start one with gantry worker indexer.", code="no_index")


def has_matters(db: IndexDatabase) -> bool:
    """Whether the derived tables of an index that may be read have challenges, disputes and schedulers."""
    found = db.rows(MetaRow, columns(MetaRow).name == meta.DERIVED)
    return bool(found) and int(found[0].value) >= MATTERS_DERIVED


def require_matters(db: IndexDatabase) -> None:
    """Raise IndexFault while the derived tables have no challenges, disputes and schedulers yet."""
    if not has_matters(db):
        raise _is_derived_again(db)


def _is_derived_again(db: IndexDatabase) -> IndexFault:
    status = index_status(db)
    done = ""
    if status.rederived_to is not None:
        done = f": block {max(0, status.rederived_to)} of {status.last_block} is done"
    return IndexFault(
        f"The index {db.name} is being brought to the form of this release{done}.",
        "Wait for gantry worker indexer; its log and gantry history status show how far it is.",
        code="index_busy",
    )


def unusable(db: IndexDatabase) -> IndexFault | None:
    """Return why the index may not be read; None if it may."""
    found = meta.read_meta(db)
    if not found.get("schema"):
        return _no_index(db)
    if meta.is_newer(found):
        return newer_release(db)
    if int(found["schema"]) < READABLE_SCHEMA or int(found.get(meta.DERIVED, 0)) < READABLE_DERIVED:
        return _is_derived_again(db)
    if meta.HALTED in found:
        return IndexFault(
            f"The index {db.name} is not answered from: its indexer found that the node serves something else. "
            f"{found[meta.HALTED]}",
            "Look into the log of gantry worker indexer; it answers again once the node has the blocks of the index.",
            code="index_halted",
        )
    return None
