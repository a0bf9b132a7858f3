"""Turns final blocks into rows, and events into what follows from them. No database is needed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from offchain.indexer.derive import Seen, derive
from offchain.indexer.plain import pack, unpack
from offchain.indexer.rows import (
    DERIVED,
    BillRow,
    BlockRow,
    EventRow,
    ExtrinsicRow,
    MentionRow,
    R,
    Row,
    TransferRow,
    columns_of,
)
from offchain.ports import Block, ChainEvent, DispatchFailure

APPENDED: tuple[type[Row], ...] = (BillRow, TransferRow, MentionRow)
"""Derived tables whose rows never change."""
_MODULUS = 1 << 256


@dataclass(frozen=True, slots=True)
class Reading:
    """A block as rows, and its events as the derivation takes them."""

    block: BlockRow
    extrinsics: list[ExtrinsicRow]
    events: list[EventRow]
    seen: list[Seen]


def read_block(block: Block) -> Reading:
    """The rows of a block."""
    number, time_ms = block.ref.number, block.timestamp_ms
    events, seen = [], []
    fees: dict[int, Mapping[str, Any]] = {}
    for place, event in enumerate(block.events):
        text = pack(event.fields)
        fields = unpack(text)
        events.append(
            EventRow(number, place, event.extrinsic, event.pallet, event.name, text, _failure_of(event, block))
        )
        seen.append(Seen(number, place, time_ms, event.pallet, event.name, fields, text))
        if event.name == "TransactionFeePaid" and event.extrinsic is not None:
            fees[event.extrinsic] = fields
    extrinsics = [
        ExtrinsicRow(
            number,
            inclusion.index,
            f"0x{inclusion.extrinsic_hash.hex()}",
            _named(inclusion.failure),
            len(inclusion.refused),
            (paid := fees.get(inclusion.index, {})).get("who"),
            paid.get("actual_fee"),
            paid.get("tip"),
        )
        for inclusion in block.inclusions
    ]
    row = BlockRow(
        number,
        f"0x{block.ref.hash.hex()}",
        f"0x{block.parent_hash.hex()}",
        time_ms,
        len(extrinsics),
        len(events),
    )
    return Reading(row, extrinsics, events, seen)


def seen_again(row: EventRow, time_ms: int) -> Seen:
    """An event from its row."""
    return Seen(row.block, row.place, time_ms, row.pallet, row.name, unpack(row.fields), row.fields)


def _failure_of(event: ChainEvent, block: Block) -> str | None:
    if event.extrinsic is None or event.extrinsic >= len(block.inclusions):
        return None
    inclusion = block.inclusions[event.extrinsic]
    if event.name == "ExtrinsicFailed":
        return _named(inclusion.failure)
    if event.name == "ItemRefused":
        return _named(inclusion.refused.get(event.fields["index"]))
    return None


def _named(failure: DispatchFailure | None) -> str | None:
    return None if failure is None else f"{failure.pallet}.{failure.name}"


def _nothing(table: type[R], key: tuple[Any, ...]) -> R | None:
    del table, key
    return None


@dataclass(slots=True)
class Fold:
    """What the events so far add up to. `read`: a row from before them.

    `state` holds what was read or changed; `changed` and `appended` what :meth:`drain` has not given out yet.
    """

    read: Callable[[type[Any], tuple[Any, ...]], Any | None] = _nothing
    state: dict[type[Row], dict[tuple[Any, ...], Row]] = field(default_factory=dict)
    changed: dict[type[Row], dict[tuple[Any, ...], Row]] = field(default_factory=dict)
    appended: dict[type[Row], list[Row]] = field(default_factory=dict)

    def take(self, events: Iterable[Seen]) -> None:
        """The next events."""
        for seen in events:
            for row in derive(seen, self._get):
                table = type(row)
                if table in APPENDED:
                    self.appended.setdefault(table, []).append(row)
                else:
                    key = row.key
                    self.state.setdefault(table, {})[key] = row
                    self.changed.setdefault(table, {})[key] = row

    def drain(self) -> tuple[dict[type[Row], list[Row]], dict[type[Row], list[Row]]]:
        """Rows that changed and rows that are new, since the last time."""
        changed = {table: list(rows.values()) for table, rows in self.changed.items()}
        appended, self.changed, self.appended = self.appended, {}, {}
        return changed, appended

    def forget_beyond(self, kept: int) -> None:
        """Keep about so many rows of each table in memory, those that changed or were needed first going first."""
        for rows in self.state.values():
            for key in list(rows)[: max(0, len(rows) - kept)]:
                del rows[key]

    def _get(self, table: type[R], *key: Any) -> R | None:
        rows = self.state.setdefault(table, {})
        found = rows.get(key)
        if found is None:
            found = self.read(table, key)
            if found is not None:
                rows[key] = found
        return found  # type: ignore[return-value]  # the table says which rows it has


class Digest:
    """One number for the rows of all derived tables, whatever their order: equal tables have equal digests."""

    def __init__(self) -> None:
        self._sums = dict.fromkeys((table.TABLE for table in DERIVED), 0)
        self.rows = 0

    def add(self, table: type[Row], rows: Iterable[Row]) -> None:
        """Count rows in."""
        names = [column.name for column in columns_of(table)]
        total = self._sums[table.TABLE]
        for row in rows:
            text = json.dumps([getattr(row, name) for name in names], separators=(",", ":"))
            total += int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
            self.rows += 1
        self._sums[table.TABLE] = total % _MODULUS

    def hex(self) -> str:
        """64 hex digits."""
        text = json.dumps(self._sums, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()
