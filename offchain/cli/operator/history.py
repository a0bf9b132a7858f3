"""gantry history: queries of the index."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

import click

from offchain.cli.kit import network, options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import csv_rows, details, emit, progress, say, table
from offchain.cli.operator.history_tables import events_table, host_details, print_events, task_details
from offchain.cli.operator.statement import statement
from offchain.indexer import queries
from offchain.indexer.block_rows import unpack
from offchain.indexer.database import IndexDatabase
from offchain.indexer.engines import open_index
from offchain.indexer.queries import EventFilter, TimedEvent, TimedTransfer
from offchain.indexer.rows import LeaseRow
from offchain.indexer.status import EventsPruned, index_status, kept_from
from offchain.indexer.verification import replayed_digest, stored_digest
from offchain.schema.manifest.values import format_amount
from offchain.services.event_text import state_phrase, time_text

F = TypeVar("F", bound=Callable[..., Any])
_LIMIT = 1000
_MOST = 100_000
_LATER = "It may be in a later block: gantry history events --limit 1 shows how far the index has come."
_EVENT_COLUMNS = ("block", "place", "time_ms", "extrinsic", "event", "fields", "failure")
_MOVED_COLUMNS = ("block", "place", "time_ms", "kind", "sender", "receiver", "amount", "reason")


def _output(command: F) -> F:
    command = click.option("--csv", "as_csv", is_flag=True, help="The list as CSV with a header.")(command)
    command = options.as_json(command)
    return options.index(command)


_limit = click.option(
    "--limit",
    type=click.IntRange(1, _MOST),
    default=_LIMIT,
    show_default=True,
    help="Show the newest N.",
)


@click.group(
    epilog="The index is kept by gantry worker indexer. It answers in milliseconds what gantry chain inspect reads "
    "from the chain itself, as far as that worker has come."
)
def history() -> None:
    """Query the index of the chain's history: a task, a host, an account, events; write statements of accounts.

    \b
    Examples:
      gantry history task 7
      gantry history account 5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty --csv > coins.csv
      gantry history events --pallet Tasks --name Settled --json
    """


history.add_command(statement)


@history.command("task")
@click.argument("number", type=click.IntRange(0))
@_limit
@_output
def task(number: int, limit: int, index: str | None, as_json: bool, as_csv: bool) -> None:
    """Show a task: its leases, its payments and every event about it.

    \b
    Examples:
      gantry history task 7
      gantry history task 7 --json | jq .task.paid
    """
    with _open_index(index, as_json=as_json, as_csv=as_csv) as db:
        found = queries.task(db, number)
        if found is None:
            raise CliError(f"the index has no task {number}{_up_to(db)}.", _LATER, code="no_such_task")
        happened = _mentions(db, str(number), limit, found.submitted_block, refuse_none=as_csv)
        if as_csv:
            _csv(_EVENT_COLUMNS, map(_event_plain, happened))
            return
        leases, bills = queries.leases_of_task(db, number), queries.bills_of_task(db, number)
        if as_json:
            emit(
                {
                    "task": queries.as_dict(found),
                    "leases": [queries.as_dict(lease) for lease in leases],
                    "bills": [queries.as_dict(bill) for bill in bills],
                    "events": [_event_plain(one) for one in happened],
                    "events_from_block": kept_from(db),
                    "up_to_block": _reached(db),
                }
            )
            return
        print_events(happened, leases, task_details(found))


@history.command("host")
@click.argument("address")
@_limit
@_output
def host(address: str, limit: int, index: str | None, as_json: bool, as_csv: bool) -> None:
    """Show a host: its leases, what they earned, its penalties and every event about it.

    With --csv: its leases.

    \b
    Examples:
      gantry history host 5F3sa2TJAWMqDhXG6jhV4N8ko9SxwGy8TpaNS1repo5EYjQX
      gantry history host 5F3sa2TJAWMqDhXG6jhV4N8ko9SxwGy8TpaNS1repo5EYjQX --csv > leases.csv
    """
    with _open_index(index, as_json=as_json, as_csv=as_csv) as db:
        found = queries.host(db, address)
        if found is None:
            raise CliError(f"the index has no host {address}{_up_to(db)}.", _LATER, code="no_such_host")
        leases = queries.leases_of_host(db, address, limit)
        if as_csv:
            _csv(LeaseRow.__slots__, map(queries.as_dict, leases))
            return
        happened = _mentions(db, address, limit)
        if as_json:
            emit(
                {
                    "host": queries.as_dict(found),
                    "leases": [queries.as_dict(lease) for lease in leases],
                    "events": [_event_plain(one) for one in happened],
                    "events_from_block": kept_from(db),
                    "up_to_block": _reached(db),
                }
            )
            return
        print_events(happened, leases, host_details(found))


@history.command("account")
@click.argument("address")
@_limit
@_output
def account(address: str, limit: int, index: str | None, as_json: bool, as_csv: bool) -> None:
    """List the transfers and holds of an account's coins, and the tasks that it submitted.

    With --csv: the transfers, for bookkeeping.

    \b
    Examples:
      gantry history account 5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty
      gantry history account 5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty --csv > coins.csv
    """
    with _open_index(index, as_json=as_json, as_csv=as_csv) as db:
        moved = queries.transfers(db, address, limit)
        if as_csv:
            _csv(_MOVED_COLUMNS, map(_moved_plain, moved))
            return
        tasks = queries.tasks_of(db, address, limit)
        if as_json:
            emit(
                {
                    "account": address,
                    "transfers": [_moved_plain(one) for one in moved],
                    "tasks": [queries.as_dict(one) for one in tasks],
                    "up_to_block": _reached(db),
                }
            )
            return
        table(
            ("BLOCK", "TIME", "WHAT", "OUT OF", "INTO", "AMOUNT", "FOR"),
            [
                (
                    one.transfer.block,
                    time_text(one.time_ms),
                    one.transfer.kind,
                    one.transfer.sender or "",
                    one.transfer.receiver or "",
                    format_amount(one.transfer.amount),
                    one.transfer.reason or "",
                )
                for one in moved
            ],
        )
        if tasks:
            say()
            table(
                ("TASK", "STATE", "SUBMITTED", "PAID"),
                [
                    (one.task, state_phrase(one.state), time_text(one.submitted_ms), format_amount(one.paid))
                    for one in tasks
                ],
            )


@history.command("events")
@click.option("--pallet", help="Only of this pallet, as Tasks.")
@click.option("--name", help="Only of this name, as Settled.")
@click.option("--from-block", type=click.IntRange(0), metavar="N", help="From this block on.")
@click.option("--to-block", type=click.IntRange(0), metavar="N", help="Up to this block.")
@_limit
@_output
def events(  # one option a filter
    pallet: str | None,
    name: str | None,
    from_block: int | None,
    to_block: int | None,
    limit: int,
    index: str | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """List events in the order of the chain. With --json: one object a line.

    \b
    Examples:
      gantry history events --limit 20
      gantry history events --pallet Tasks --name ItemRefused --json
      gantry history events --from-block 1000 --to-block 2000 --csv > events.csv
    """
    with _open_index(index, as_json=as_json, as_csv=as_csv) as db:
        happened = queries.events(db, EventFilter(pallet, name, from_block, to_block, limit))
        if from_block is None and len(happened) < limit:
            _note_pruned(kept_from(db))
        if as_csv:
            _csv(_EVENT_COLUMNS, map(_event_plain, happened))
        elif as_json:
            for one in happened:
                emit(_event_plain(one))
        else:
            events_table(happened)


@history.command("status")
@options.index
@options.as_json
def status(index: str | None, as_json: bool) -> None:
    """Show how far the index is, which events it keeps, and the progress of a rederivation.

    \b
    Example:
      gantry history status
    """
    with contextlib.closing(open_index(network.choose_index(index))) as db:
        found = index_status(db)
    if as_json:
        emit(asdict(found))
        return
    again = found.rederived_to
    details(
        [
            ("Last block", found.last_block),
            ("Events", f"from block {found.kept_from} on" if found.kept_from else "all"),
            ("Derived up to", found.derived_to),
            ("Derived again", None if again is None else f"block {max(0, again)} of {found.last_block}"),
            ("Refused", found.halted),
        ]
    )


@history.command("verify")
@options.index
@options.as_json
def verify(index: str | None, as_json: bool) -> None:
    """Derive everything again from the stored events, and compare it with the index.

    Changes nothing, and does not stop the indexer: it reads one snapshot of the index.

    \b
    Example:
      gantry history verify
    """
    with _open_index(index, as_json=as_json, as_csv=False) as db:
        stored, replayed = stored_digest(db), replayed_digest(db, progress)
        same = stored.hex() == replayed.hex()
        if as_json:
            emit({"same": same, "rows": stored.rows, "stored": stored.hex(), "replayed": replayed.hex()})
        else:
            say(f"{stored.rows} rows, digest {stored.hex()}")
        if not same:
            raise CliError(
                f"the index does not match its events, which give {replayed.hex()}.",
                "Remove it and rebuild it with gantry worker indexer; please report it if it happens again.",
                code="index_differs",
            )
        if not as_json:
            say("The index matches its events, row by row.")


@contextlib.contextmanager
def _open_index(index: str | None, *, as_json: bool, as_csv: bool) -> Iterator[IndexDatabase]:
    if as_json and as_csv:
        raise click.UsageError("Choose one of --json and --csv.")
    with contextlib.closing(queries.open_for_reading(network.choose_index(index))) as db, db.snapshot():
        yield db


def _mentions(
    db: IndexDatabase, subject: str, limit: int, begins: int = 0, *, refuse_none: bool = False
) -> list[TimedEvent]:
    """Return the events about a subject whose first event is in block `begins`; note if older ones were removed.

    Raises EventsPruned with `refuse_none` if all were removed.
    """
    try:
        found = queries.mentions(db, subject, limit)
    except EventsPruned:
        if refuse_none:
            raise
        found = []
    oldest = kept_from(db)
    if len(found) < limit and begins < oldest:
        _note_pruned(oldest)
    return found


def _note_pruned(oldest: int) -> None:
    if oldest:
        progress(f"The events before block {oldest} were removed from this index.")


def _reached(db: IndexDatabase) -> int | None:
    return index_status(db).derived_to


def _up_to(db: IndexDatabase) -> str:
    number = _reached(db)
    return "" if number is None else f" up to block {number}"


def _event_plain(happened: TimedEvent) -> dict[str, Any]:
    event = happened.event
    return {
        "block": event.block,
        "place": event.place,
        "time_ms": happened.time_ms,
        "extrinsic": event.extrinsic,
        "event": f"{event.pallet}.{event.name}",
        "fields": unpack(event.fields),
        "failure": event.failure,
    }


def _moved_plain(moved: TimedTransfer) -> dict[str, Any]:
    return {**queries.as_dict(moved.transfer), "time_ms": moved.time_ms}


def _csv(columns: Sequence[str], rows: Iterator[Mapping[str, Any]]) -> None:
    csv_rows(columns, ([_cell(row[name]) for name in columns] for row in rows))


def _cell(value: Any) -> Any:
    """Return the value as text that a spreadsheet does not read as a formula."""
    text = str(value) if isinstance(value, dict) else value
    return f"'{text}" if isinstance(text, str) and text[:1] in ("=", "+", "-", "@") else text
