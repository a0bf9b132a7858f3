"""Statements of accounts, and their PDF: sums, bounded pages, equal bytes, and text that cannot do anything."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from offchain.services import statement_pdf as module
from offchain.services.statement import AccountStatement, StatementLine, coins_text
from offchain.services.statement_pdf import StatementTooLong, statement_pdf
from tests.support.pdf_text import pdf_text

GTY = 10**12
ACCOUNT = "5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty"
NOON_MS = 1_790_812_800_000


def line(number: int, free: int, held: int = 0, **changes: object) -> StatementLine:
    made = StatementLine(
        block=100 + number,
        index=number % 3,
        time_ms=NOON_MS + number * 2_000,
        category="transfer",
        counterparty=ACCOUNT,
        amount=abs(free),
        reason=None,
        free_change=free,
        held_change=held,
        free_total=1_000 * GTY + free,
        held_total=held,
    )
    return replace(made, **changes)


def statement(*lines: StatementLine, **changes: object) -> AccountStatement:
    made = AccountStatement(ACCOUNT, "0x" + "1f" * 32, 5_000, "0x" + "ab" * 32, NOON_MS + 10**8, None, None, lines)
    return replace(made, **changes)


def test_a_statement_has_what_was_there_before_and_after_and_sums() -> None:
    first = line(0, -5 * GTY, free_total=95 * GTY)
    second = line(1, -2, 2, category="hold", free_total=95 * GTY - 2, held_total=2)
    third = line(2, 0, category="fee", free_change=None, held_change=None, free_total=None, held_total=None)
    made = statement(first, second, first)
    assert made.opening == (100 * GTY, 0)
    assert made.closing == (95 * GTY, 0)
    assert made.sums() == [("hold", 1, -2, 2), ("transfer", 2, -10 * GTY, 0)]
    assert statement(third).opening == statement().closing == (None, None)
    assert statement(third).sums() == [("fee", 1, 0, 0)]


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0"),
        (1, "+0.000000000001"),
        (-1, "-0.000000000001"),
        (GTY, "+1"),
        (-GTY * 5 // 2, "-2.5"),
        (None, "not known"),
    ],
)
def test_amounts_have_all_their_digits(amount: int | None, text: str) -> None:
    assert coins_text(amount, signed=True) == text
    assert coins_text(amount) == text.removeprefix("+")


def test_a_document_names_account_block_and_every_movement() -> None:
    lines = [line(number, number * GTY) for number in range(120)]
    data = statement_pdf(statement(*lines, first_ms=NOON_MS, last_ms=NOON_MS + 10**7))
    text = pdf_text(data)
    pages = len(re.findall(rb"/Type /Page\b", data))
    assert 3 <= pages <= 6
    assert re.search(rf"amounts in GTY Page {pages} of +{pages}\b", text)
    for one in (ACCOUNT, "block 5000", "0x" + "ab" * 32, "0x" + "1f" * 32, "2026-10-01 00:00:00 UTC"):
        assert one in text
    for one in lines:
        assert f" {one.block}.{one.index} " in text
    assert "+119" in text


def test_equal_statements_have_equal_bytes_and_others_have_not() -> None:
    lines = [line(number, GTY) for number in range(5)]
    assert statement_pdf(statement(*lines)) == statement_pdf(statement(*lines))
    assert statement_pdf(statement(*lines)) != statement_pdf(statement(*lines, block_time_ms=NOON_MS))


def test_a_document_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LINES", 3)
    assert statement_pdf(statement(*[line(0, 1)] * 3))
    with pytest.raises(StatementTooLong, match="more than 3 movements"):
        statement_pdf(statement(*[line(0, 1)] * 4))


@pytest.mark.parametrize(
    "text",
    [
        "<b>bold</b> **bold** __under__ [link](https://example.org)",
        ") Tj ET (",
        "\\) Tj (",
        "a\0b\nc\rd\x1b[31me\u202ef\ud800",
        "中文 \u00e9 \U0001f600",
        "x" * 100_000,
    ],
)
def test_text_of_strangers_is_only_text(text: str) -> None:
    data = statement_pdf(statement(line(0, GTY, reason=text, category=text, counterparty=text)))
    shown = pdf_text(data)
    assert "/URI" not in data.decode("latin-1")
    assert all(" " <= one <= "~" for one in shown)
    plain = "".join(one if " " <= one <= "~" else "?" for one in text[:40])
    assert plain in shown
    assert len(shown) < 3_000
