"""gantry history statement: the statement of an account as PDF or CSV."""

from __future__ import annotations

import contextlib
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

import click

from offchain.cli.kit import network, options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import emit, say, size_text
from offchain.files import replace_file
from offchain.indexer import queries
from offchain.schema.value_text import counted

_DAY_MS: Final = 86_400_000


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a day") from None


_DAY = options.Parsed("DAY", _day, "; write it like 2026-11-01")


@click.command()
@options.address
@click.option("--from", "first", type=_DAY, help="From this day (UTC) on. Else from the first movement.")
@click.option("--to", "last", type=_DAY, help="Up to the end of this day (UTC). Else up to now.")
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write: NAME.pdf or NAME.csv.",
)
@options.as_json
@options.index
def statement(
    address: str, first: date | None, last: date | None, output: Path, index: str | None, as_json: bool
) -> None:
    """Write the statement of an account: every movement of its coins, with what it had after each.

    A PDF has up to 2,000 movements, and sums by category; it needs the packages of gantry[statements]. A CSV has the
    columns of the HTTP API. The same statement up to the same block is the same file.

    \b
    Examples:
      gantry history statement 5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty -o coins.pdf
      gantry history statement 5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty --from 2026-10-01 -o coins.csv
    """
    from offchain.gateway.api.statements import StatementOfAccount, read_statement, statement_csv  # noqa: PLC0415  (slow)
    from offchain.services.statement_pdf import statement_pdf  # noqa: PLC0415

    kind = output.suffix.lower()
    if kind not in (".pdf", ".csv"):
        raise click.UsageError(f"{output} is neither a .pdf nor a .csv file. Give --output NAME.pdf or NAME.csv.")
    if first is not None and last is not None and last < first:
        raise click.UsageError(f"--to {last} is before --from {first}. Exchange them.")
    asked = StatementOfAccount(
        account=address,
        first_ms=None if first is None else _start_ms(first),
        last_ms=None if last is None else _start_ms(last) + _DAY_MS - 1,
    )
    with contextlib.closing(queries.open_for_reading(network.choose_index(index))) as db, db.snapshot():
        if kind == ".pdf":
            found = read_statement(db, asked)
            data, lines, block = statement_pdf(found), len(found.lines), found.block
        else:
            data, lines, block = statement_csv(db, asked)
    try:
        replace_file(output, data)
    except OSError as error:
        raise CliError(f"{output} cannot be written: {error.strerror}.", "Choose another place.") from None
    if as_json:
        emit({"file": str(output), "account": address, "movements": lines, "bytes": len(data), "block": block})
    else:
        say(f"{output} ({size_text(len(data))}) has {counted(lines, 'movement')} of {address} up to block {block}.")


def _start_ms(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000
