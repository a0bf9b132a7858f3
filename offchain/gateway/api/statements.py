"""Statements of accounts, read from the index, and as PDF."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final

from pydantic import Field

from offchain.errors import OurError
from offchain.gateway.api.action import ApiAction, FileAnswer
from offchain.gateway.api.answers import as_of
from offchain.gateway.api.index_readers import IndexReaders
from offchain.gateway.api.models import MovementResource
from offchain.gateway.api.movements import EXPORT, movements_until
from offchain.gateway.api.parameters import MOST_CSV_ROWS, AccountId, MovementsOfAccount, Number, Parameters
from offchain.indexer import meta
from offchain.indexer.database import IndexDatabase
from offchain.indexer.pages import PageRequest
from offchain.services.csv_text import csv_text
from offchain.services.statement import AccountStatement, StatementLine
from offchain.services.statement_pdf import MOST_LINES, StatementTooLong, statement_pdf

_PART_LINES: Final = 500
MOST_WAITING: Final = 8


class StatementsBusy(OurError):  # noqa: N818
    """Too many statements wait to be written."""

    code = "busy"


class StatementOfAccount(Parameters):
    """Which movements: of a time, both ends included."""

    account: AccountId
    first_ms: Annotated[Number | None, Field(description="Only movements at this time (Unix ms) and later.")] = None
    last_ms: Annotated[Number | None, Field(description="Only movements at this time (Unix ms) and earlier.")] = None


def read_statement(db: IndexDatabase, asked: StatementOfAccount, most: int = MOST_LINES) -> AccountStatement:
    """Return the statement up to the last block of the index. Raises StatementTooLong for more than `most` lines."""
    upto = as_of(db)
    wanted = _movements(asked)
    lines: list[StatementLine] = []
    after: tuple[int, int] | None = None
    while True:
        part = movements_until(db, wanted, PageRequest(_PART_LINES, after, newest_first=False), upto.number)
        lines += map(_line, part)
        if len(lines) > most:
            raise StatementTooLong(most)
        if len(part) < _PART_LINES:
            break
        after = (part[-1].block, part[-1].index)
    return AccountStatement(
        account=asked.account,
        genesis_hash=f"0x{meta.read_meta(db)['genesis']}",
        block=upto.number,
        block_hash=upto.hash,
        block_time_ms=upto.time_ms,
        first_ms=asked.first_ms,
        last_ms=asked.last_ms,
        lines=tuple(lines),
    )


def statement_csv(db: IndexDatabase, asked: StatementOfAccount) -> tuple[bytes, int, int]:
    """Return the movements as CSV, oldest first, with their number, and the block up to which they are complete.

    Raises StatementTooLong for more than a table of the API may have.
    """
    upto, wanted = as_of(db).number, _movements(asked)
    pieces, lines, after = [csv_text([EXPORT.header])], 0, None
    while True:
        part = EXPORT.read(db, wanted, PageRequest(_PART_LINES, after, newest_first=False), upto)
        pieces.append(csv_text(part.rows))
        lines, after = lines + len(part.rows), part.last
        if lines > MOST_CSV_ROWS:
            raise StatementTooLong(MOST_CSV_ROWS)
        if len(part.rows) < _PART_LINES:
            return "".join(pieces).encode(), lines, upto


class StatementsApi:
    """Writes statements as PDF, one at a time, in a thread of its own."""

    def __init__(self, readers: IndexReaders) -> None:
        self._readers = readers
        self._turn = asyncio.Semaphore(1)
        self._asked = 0

    async def pdf(self, asked: StatementOfAccount) -> FileAnswer:
        """Return the statement as a file. Raises StatementTooLong, StatementsBusy, PdfUnavailable."""
        if self._asked >= MOST_WAITING:
            raise StatementsBusy(f"{MOST_WAITING} statements wait, which is the limit.", "Try again in a minute.")
        self._asked += 1
        try:
            async with self._turn:
                statement = await self._readers.read(lambda db: read_statement(db, asked))
                data = await asyncio.to_thread(statement_pdf, statement)
        finally:
            self._asked -= 1
        return FileAnswer(f"statement-{asked.account}-{statement.block}.pdf", data, "application/pdf")


def _movements(asked: StatementOfAccount) -> MovementsOfAccount:
    return MovementsOfAccount(account=asked.account, first_ms=asked.first_ms, last_ms=asked.last_ms, order="oldest")


def _line(one: MovementResource) -> StatementLine:
    return StatementLine(
        block=one.block,
        index=one.index,
        time_ms=one.time_ms,
        category=one.category,
        counterparty=one.counterparty,
        amount=one.amount,
        reason=one.reason,
        free_change=one.free_change,
        held_change=one.held_change,
        free_total=one.free_total,
        held_total=one.held_total,
    )


STATEMENT_ACTIONS: Final = (
    ApiAction(
        "GET",
        "/v1/accounts/{account}/statement.pdf",
        "statement_of_account",
        "The statement of an account as PDF: every movement of its coins in a time, with sums.",
        StatementOfAccount,
        FileAnswer,
        lambda api, _, asked: api.statements.pdf(asked),
        is_costly=True,
        budget="statement",
    ),
)
