"""Tables as CSV (RFC 4180).

Text that a spreadsheet would take for a formula is escaped by an apostrophe. Amounts are not text: they contain digits
only, after a sign.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Final

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
Cell = str | int | None


def csv_text(rows: Iterable[Sequence[Cell]]) -> str:
    """Return rows as CSV."""
    out = io.StringIO()
    csv.writer(out).writerows([_escaped(cell) for cell in row] for row in rows)
    return out.getvalue()


def _escaped(cell: Cell) -> Cell:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
