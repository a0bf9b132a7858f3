"""gantry report: use, waits, failures, payments and SLA over time, from the index."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from pathlib import Path

import click

from offchain.cli.kit import network, options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import emit, progress, table
from offchain.files import replace_file
from offchain.indexer.database import IndexDatabase, IndexFault
from offchain.indexer.queries import open_for_reading
from offchain.indexer.report_queries import Subject
from offchain.indexer.reports import SUBJECTS, Grouping, ReportRequest
from offchain.indexer.status import last_block
from offchain.schema.durations import DAY_MS
from offchain.services.daily_reports import full_report
from offchain.services.report_text import TABLE_COLUMNS, csv_report, html_report, line_fields, table_line

_DEFAULT_MS = 7 * DAY_MS


def _time_ms(text: str) -> int:
    """Return a time in UTC as Unix ms. Raises ValueError."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a date or time") from None
    return round((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)


_TIME = options.Parsed("TIME", _time_ms, "; write for example 2026-11-26 or 2026-11-26T12:00, in UTC")
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(
    epilog="The numbers are derived from final blocks; docs/reports.md has the formula of each. Times are those of the "
    "chain, in UTC."
)
@click.argument("subject", type=click.Choice(SUBJECTS))
@click.option("--from", "begin_ms", type=_TIME, help="Begin.  [default: 7 days before the end]")
@click.option("--to", "end_ms", type=_TIME, help="End, not included.  [default: the last block]")
@click.option(
    "--last", "last_ms", type=options.DURATION, help="The time before the end, as 24h or 30d, instead of --from."
)
@click.option(
    "--group",
    type=click.Choice(["total", "day", "hour"]),
    default="total",
    show_default=True,
    help="One line for each name, or for each of its days or hours.",
)
@click.option("--name", metavar="NAME", help="Only this host, model, region, tenant or provider.")
@click.option("--csv", "csv_file", type=_FILE, metavar="FILE", help="Write all numbers as CSV into a file.")
@click.option("--html", "html_file", type=_FILE, metavar="FILE", help="Write a page into a file.")
@options.as_json
@options.index
def report(
    subject: Subject,
    begin_ms: int | None,
    end_ms: int | None,
    last_ms: int | None,
    group: Grouping,
    name: str | None,
    csv_file: Path | None,
    html_file: Path | None,
    as_json: bool,
    index: str | None,
) -> None:
    """Report GPU use, uptime, waits, failures by cause, payments and SLA by SUBJECT over time.

    SUBJECT is host, model, region, tenant or provider. With --json: one object a line, with all numbers.

    \b
    Examples:
      gantry report host
      gantry report model --last 24h --group hour
      gantry report provider --from 2026-11-01 --to 2026-12-01 --csv november.csv
      gantry report tenant --last 30d --html tenants.html
    """
    if begin_ms is not None and last_ms is not None:
        raise click.UsageError("Choose one of --from and --last.")
    with contextlib.closing(open_for_reading(network.choose_index(index))) as db, db.snapshot():
        until = _end_of(db) if end_ms is None else end_ms
        since = until - (last_ms or _DEFAULT_MS) if begin_ms is None else begin_ms
        made = full_report(
            db, ReportRequest(subject=subject, from_ms=max(0, since), to_ms=until, group=group, name=name)
        )
    if csv_file is not None:
        _write(csv_file, csv_report(made))
    if html_file is not None:
        _write(html_file, html_report(f"Gantry report by {subject}", made))
    if as_json:
        for line in made.lines:
            emit(line_fields(line))
    elif not made.lines:
        progress("Nothing is known of this time. gantry history status shows how far the index is.")
    elif csv_file is None and html_file is None:
        table(TABLE_COLUMNS, [table_line(line) for line in made.lines])


def _end_of(db: IndexDatabase) -> int:
    last = last_block(db)
    if last is None:
        raise IndexFault("The index has no block yet.", "Try again in a minute.", code="index_busy")
    return last.time_ms + 1


def _write(file: Path, text: str) -> None:
    try:
        replace_file(file, text)
    except OSError as error:
        raise CliError(f"{file} cannot be written: {error.strerror}.", "Name another file.", code="usage") from None
    progress(f"Written: {file}")
