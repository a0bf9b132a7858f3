"""Statements of accounts as PDF, with the standard fonts that every reader has. Equal statements have equal bytes.

Needs the extra `statements` (fpdf2). See docs/adr/0113-statements-as-pdf-by-fpdf2.md.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from offchain.errors import OurError
from offchain.services.statement import AccountStatement, StatementLine, coins_text

if TYPE_CHECKING:
    from fpdf import FPDF

MOST_LINES: Final = 2_000
"""Lines of a statement: some 60 pages, which take about a second."""
_MOST_TEXT: Final = 70
"""Characters of a cell."""
_COLUMNS: Final[tuple[tuple[str, float, str], ...]] = (
    ("Time (UTC)", 29, "L"),
    ("Block", 20, "R"),
    ("Category", 18, "L"),
    ("Counterparty", 66, "L"),
    ("Reason", 32, "L"),
    ("Free change", 28, "R"),
    ("Held change", 28, "R"),
    ("Free after", 28, "R"),
    ("Held after", 28, "R"),
)
"""Title, width in mm and alignment. A4 in landscape has 277 mm between its margins."""
_LINE_MM: Final = 4.2
_MARGIN_MM: Final = 10.0


class PdfUnavailable(OurError):  # noqa: N818
    """The package that writes PDF is not installed."""

    code = "no_pdf"

    def __init__(self) -> None:
        super().__init__(
            "Statements as PDF need the package fpdf2, which is not installed.",
            "Install it (pip install 'gantry[statements]'), or export the statement as CSV.",
        )


class StatementTooLong(OurError):  # noqa: N818
    """A statement with more lines than a document may have."""

    code = "too_large"

    def __init__(self, most: int) -> None:
        super().__init__(
            f"The account has more than {most} movements in this time, the limit of a statement.",
            "Choose fewer days, or export the movements as CSV.",
        )


def statement_pdf(statement: AccountStatement) -> bytes:
    """Return the statement as a PDF document. Raises PdfUnavailable, and StatementTooLong."""
    if len(statement.lines) > MOST_LINES:
        raise StatementTooLong(MOST_LINES)
    try:
        from fpdf import FPDF  # noqa: PLC0415  (an optional package)
    except ImportError:
        raise PdfUnavailable from None
    pdf = FPDF(orientation="landscape", unit="mm", format="A4")
    pdf.set_creation_date(datetime.fromtimestamp(statement.block_time_ms // 1000, UTC))
    pdf.set_producer("Gantry")
    pdf.set_title(f"Statement of {statement.account}")
    pdf.set_lang("en")
    pdf.set_margins(_MARGIN_MM, _MARGIN_MM)
    pdf.set_auto_page_break(auto=False)
    pdf.alias_nb_pages("{pages}")
    pdf.add_page()
    _head(pdf, statement)
    _table(pdf, statement)
    _foot(pdf, statement)
    return bytes(pdf.output())


def _head(pdf: FPDF, statement: AccountStatement) -> None:
    pdf.set_font("Helvetica", "B", 14)
    _row(pdf, [("Account statement", 277, "L")], 8)
    opening, closing = statement.opening, statement.closing
    last = "the block below" if statement.last_ms is None else _time(statement.last_ms)
    facts = (
        ("Account", statement.account),
        ("From", "the first movement" if statement.first_ms is None else f"{_time(statement.first_ms)} UTC"),
        ("To", last if statement.last_ms is None else f"{last} UTC"),
        ("Complete up to", f"block {statement.block} of {_time(statement.block_time_ms)} UTC, {statement.block_hash}"),
        ("Chain", f"genesis {statement.genesis_hash}"),
        ("Before", f"free {coins_text(opening[0])} GTY, on hold {coins_text(opening[1])} GTY"),
        ("After", f"free {coins_text(closing[0])} GTY, on hold {coins_text(closing[1])} GTY"),
        ("Movements", str(len(statement.lines))),
    )
    for name, text in facts:
        pdf.set_font("Helvetica", "B", 9)
        pdf.cell(32, 5, name)
        pdf.set_font("Helvetica", "", 9)
        pdf.cell(245, 5, _printable(text, 200), new_x="LMARGIN", new_y="NEXT")
    pdf.ln(2)
    _sums(pdf, statement)


def _sums(pdf: FPDF, statement: AccountStatement) -> None:
    columns = (("Category", 40, "L"), ("Movements", 25, "R"), ("Free change", 40, "R"), ("Held change", 40, "R"))
    pdf.set_font("Helvetica", "B", 8)
    _row(pdf, columns, 5)
    pdf.set_font("Helvetica", "", 8)
    for category, count, free, held in statement.sums():
        cells = (category, str(count), coins_text(free, signed=True), coins_text(held, signed=True))
        _row(pdf, _with_texts(columns, cells), 4.5)
    pdf.ln(3)


def _table(pdf: FPDF, statement: AccountStatement) -> None:
    _titles(pdf)
    for line in statement.lines:
        if pdf.get_y() + _LINE_MM > pdf.h - 2 * _MARGIN_MM:
            _foot(pdf, statement)
            pdf.add_page()
            _titles(pdf)
        _row(pdf, _with_texts(_COLUMNS, _cells(line)), _LINE_MM)


def _titles(pdf: FPDF) -> None:
    pdf.set_font("Helvetica", "B", 7)
    _row(pdf, _COLUMNS, 5, border="B")
    pdf.set_font("Helvetica", "", 6.5)


def _cells(line: StatementLine) -> tuple[str, ...]:
    return (
        _time(line.time_ms),
        f"{line.block}.{line.index}",
        line.category,
        line.counterparty or "",
        line.reason or "",
        "" if line.free_change is None else coins_text(line.free_change, signed=True),
        "" if line.held_change is None else coins_text(line.held_change, signed=True),
        "" if line.free_total is None else coins_text(line.free_total),
        "" if line.held_total is None else coins_text(line.held_total),
    )


def _foot(pdf: FPDF, statement: AccountStatement) -> None:
    pdf.set_y(pdf.h - 1.5 * _MARGIN_MM)
    pdf.set_font("Helvetica", "", 7)
    page = f"Page {pdf.page_no()} of {{pages}}"
    _row(pdf, [(f"{statement.account}, amounts in GTY", 220, "L"), (page, 57, "R")], 4)


def _row(pdf: FPDF, cells: Any, height: float, border: Any = 0) -> None:
    for text, width, align in cells:
        pdf.cell(width, height, _printable(text, _MOST_TEXT), border=border, align=align)
    pdf.ln(height)


def _with_texts(columns: tuple[tuple[str, float, str], ...], texts: tuple[str, ...]) -> list[tuple[str, float, str]]:
    return [(text, width, align) for (_, width, align), text in zip(columns, texts, strict=True)]


def _printable(text: str, most: int) -> str:
    """Return text that the standard fonts have: one line, other characters and control characters as "?"."""
    shown = "".join(one if " " <= one <= "~" else "?" for one in text[:most])
    return shown if len(text) <= most else f"{shown[:-1]}~"


def _time(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
