"""The statement of an account: its movements of coins in a time, what it had before and after, and sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SYMBOL_UNIT = 10**12
"""Base units of one GTY."""


@dataclass(frozen=True, slots=True)
class StatementLine:
    """A change of the account's coins. Amounts in base units; totals are None where the index does not know them."""

    block: int
    index: int
    time_ms: int
    category: str
    counterparty: str | None
    amount: int
    reason: str | None
    free_change: int | None
    held_change: int | None
    free_total: int | None
    held_total: int | None


@dataclass(frozen=True, slots=True)
class AccountStatement:
    """Movements of an account, oldest first, complete up to a final block.

    `first_ms`, `last_ms`: the time that was asked for, Unix ms; None: from the first movement, or up to the block.
    """

    account: str
    genesis_hash: str
    block: int
    block_hash: str
    block_time_ms: int
    first_ms: int | None
    last_ms: int | None
    lines: tuple[StatementLine, ...]

    @property
    def opening(self) -> tuple[int | None, int | None]:
        """Free and held coins before the first line; None where they are not known."""
        if not self.lines:
            return None, None
        first = self.lines[0]
        return _before(first.free_total, first.free_change), _before(first.held_total, first.held_change)

    @property
    def closing(self) -> tuple[int | None, int | None]:
        """Free and held coins after the last line; None where they are not known."""
        return (self.lines[-1].free_total, self.lines[-1].held_total) if self.lines else (None, None)

    def sums(self) -> Sequence[tuple[str, int, int, int]]:
        """Return category, number of lines, and sums of free and held changes, by category in alphabetical order."""
        found: dict[str, tuple[int, int, int]] = {}
        for line in self.lines:
            count, free, held = found.get(line.category, (0, 0, 0))
            found[line.category] = (count + 1, free + (line.free_change or 0), held + (line.held_change or 0))
        return [(category, *found[category]) for category in sorted(found)]


def coins_text(amount: int | None, *, signed: bool = False) -> str:
    """Return base units as GTY with all digits, "not known" for None. `signed`: with + before positive amounts."""
    if amount is None:
        return "not known"
    whole, part = divmod(abs(amount), SYMBOL_UNIT)
    fraction = f"{part:012}".rstrip("0")
    sign = "-" if amount < 0 else "+" if signed and amount else ""
    return f"{sign}{whole}{'.' + fraction if fraction else ''}"


def _before(total: int | None, change: int | None) -> int | None:
    return None if total is None or change is None else total - change
