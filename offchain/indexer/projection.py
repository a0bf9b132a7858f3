"""The state that follows from the events so far, in memory. Pure: rows from before are read through a callback."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from offchain.indexer.derive import derive
from offchain.indexer.derive_values import IndexedEvent
from offchain.indexer.matter_rows import EvidenceRow, SchedulerPenaltyRow
from offchain.indexer.rows import BillRow, MentionRow, MovementRow, R, Row, TransferRow

APPENDED: tuple[type[Row], ...] = (BillRow, TransferRow, MovementRow, MentionRow, EvidenceRow, SchedulerPenaltyRow)
"""Derived tables whose rows never change."""


@dataclass(slots=True)
class Projection:
    """The derived rows after a sequence of events.

    `read` returns a row from before these events. `state` holds the rows that were read or changed, `changed` and
    `appended` those that :meth:`drain` has not returned yet.
    """

    read: Callable[[type[Any], tuple[Any, ...]], Any | None] = lambda _table, _key: None
    state: dict[type[Row], dict[tuple[Any, ...], Row]] = field(default_factory=dict)
    changed: dict[type[Row], dict[tuple[Any, ...], Row]] = field(default_factory=dict)
    appended: dict[type[Row], list[Row]] = field(default_factory=dict)

    def apply(self, events: Iterable[IndexedEvent]) -> None:
        for event in events:
            for row in derive(event, self._lookup):
                table = type(row)
                if table in APPENDED:
                    self.appended.setdefault(table, []).append(row)
                else:
                    key = row.key
                    self.state.setdefault(table, {})[key] = row
                    self.changed.setdefault(table, {})[key] = row

    def drain(self) -> tuple[dict[type[Row], list[Row]], dict[type[Row], list[Row]]]:
        """Return the rows that changed and the rows that are new since the previous call."""
        changed = {table: list(rows.values()) for table, rows in self.changed.items()}
        appended, self.changed, self.appended = self.appended, {}, {}
        return changed, appended

    def evict(self, kept_rows: int) -> None:
        """Keep at most `kept_rows` rows of each table in memory; the first that were added are removed first."""
        for rows in self.state.values():
            for key in list(rows)[: max(0, len(rows) - kept_rows)]:
                del rows[key]

    def _lookup(self, table: type[R], *key: Any) -> R | None:
        rows = self.state.setdefault(table, {})
        found = rows.get(key)
        if found is None:
            found = self.read(table, key)
            if found is not None:
                rows[key] = found
        return found  # type: ignore[return-value]  # `table` determines the type of its rows
