"""gantry outbox: calls that a worker or an agent has stored for the chain."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from offchain.adapters.outbox.admin import OutboxAdmin, OutboxEntry
from offchain.adapters.outbox.intent_values import IntentState
from offchain.adapters.outbox.store import Store
from offchain.cli.kit import network, options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import emit, say, table
from offchain.services.event_text import time_text

_DATABASES = ("worker.db", "agent.db")
_STATE_DIR = click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of a worker or an agent. Else those of the local network and the usual ones of this user.",
)


@click.group(
    epilog="A worker or an agent stores every call before it is sent, and sends it until a final block holds it. One "
    "that is refused again and again, or that no block takes, is given up: it becomes a dead letter, with the reason. "
    "All of this may be used while the process runs; it looks at its outbox after every final block."
)
def outbox() -> None:
    """Show the calls that a worker or an agent still has to submit, and its dead letters.

    \b
    Examples:
      gantry outbox list
      gantry outbox retry 17 --state-dir /var/lib/gantry/scheduler
      gantry outbox drop --all
    """


@outbox.command("list")
@_STATE_DIR
@click.option("--dead", is_flag=True, help="Only what was given up.")
@options.as_json
def list_(state_dir: Path | None, dead: bool, as_json: bool) -> None:
    """List the calls that wait, are submitted, or were given up.

    queued: will be signed and sent, at once or after a pause. sent: passed to a node; a block up to VALID UNTIL may
    include it. dead: given up, for the reason shown.

    \b
    Examples:
      gantry outbox list
      gantry outbox list --dead --json | jq .reason
    """
    found: list[tuple[Path, OutboxEntry]] = []
    for database in _databases(state_dir):
        with _open_outbox(database) as outbox_admin:
            found += [(database, entry) for entry in outbox_admin.entries(*([IntentState.DEAD] if dead else []))]
    if as_json:
        for database, entry in found:
            emit(_plain(database, entry))
        return
    if not found:
        say("No call was given up." if dead else "No call waits, and none was given up.")
        return
    table(
        ("NUMBER", "STATE", "CALL", "KEY", "TRIES", "SINCE", "VALID UNTIL", "WHY", "FOLDER"),
        [
            (
                entry.number,
                entry.state,
                f"{entry.call.pallet}.{entry.call.function}",
                entry.key,
                entry.attempts,
                time_text(entry.created_ms),
                entry.valid_until or "",
                entry.reason or "",
                database.parent,
            )
            for database, entry in found
        ],
    )


@outbox.command()
@click.argument("numbers", metavar="NUMBER...", nargs=-1, type=click.IntRange(1))
@click.option("--all", "everything", is_flag=True, help="All dead letters.")
@_STATE_DIR
@options.as_json
def retry(numbers: tuple[int, ...], everything: bool, state_dir: Path | None, as_json: bool) -> None:
    """Send again calls that were given up, or that pause before their next attempt.

    The chain checks each call against its present state; a call that is too late is refused and changes nothing.

    \b
    Examples:
      gantry outbox retry 17
      gantry outbox retry --all --state-dir /var/lib/gantry/scheduler
    """
    _each(numbers, state_dir, everything=everything, as_json=as_json, act=OutboxAdmin.retry, done="is sent again")


@outbox.command()
@click.argument("numbers", metavar="NUMBER...", nargs=-1, type=click.IntRange(1))
@click.option("--all", "everything", is_flag=True, help="All dead letters.")
@_STATE_DIR
@options.as_json
def drop(numbers: tuple[int, ...], everything: bool, state_dir: Path | None, as_json: bool) -> None:
    """Remove calls that were given up, and give up calls that wait. A sent call cannot be dropped.

    \b
    Examples:
      gantry outbox drop 17
      gantry outbox drop --all --state-dir ~/.local/share/gantry/agent
    """
    _each(numbers, state_dir, everything=everything, as_json=as_json, act=OutboxAdmin.drop, done="is dropped")


def _each(
    numbers: tuple[int, ...],
    state_dir: Path | None,
    *,
    everything: bool,
    as_json: bool,
    act: Callable[[OutboxAdmin, int], OutboxEntry],
    done: str,
) -> None:
    if bool(numbers) == everything:
        raise click.UsageError("Name the calls by their NUMBER in gantry outbox list, or all dead letters with --all.")
    databases = _databases(state_dir)
    if len(databases) > 1:
        folders = ", ".join(str(database.parent) for database in databases)
        raise CliError(
            f"there are outboxes in several folders: {folders}.", "Choose one with --state-dir.", code="usage"
        )
    with _open_outbox(databases[0]) as outbox_admin:
        for number in numbers or [entry.number for entry in outbox_admin.entries(IntentState.DEAD)]:
            entry = act(outbox_admin, number)
            if as_json:
                emit(_plain(databases[0], entry))
            else:
                say(f"Call {entry.number} ({entry.key}) {done}.")


def _databases(state_dir: Path | None) -> list[Path]:
    """Return the databases to read. Raises CliError if there is none."""
    folders = [state_dir] if state_dir is not None else _usual_folders()
    found = [folder / name for folder in folders for name in _DATABASES if (folder / name).is_file()]
    if not found:
        where = ", ".join(map(str, folders))
        raise CliError(
            f"there is no worker's or agent's database in {where}.",
            "Name the folder with --state-dir: the --state-dir of gantry worker, or the --state of gantry agent.",
            code="no_outbox",
        )
    return found


def _usual_folders() -> list[Path]:
    local = network.state_dir()
    workers = [network.user_state_dir() / name for name in ("all", "scheduler", "settler")]
    return [local / "workers", local / "agent", *workers, Path.home() / ".local" / "share" / "gantry" / "agent"]


@contextlib.contextmanager
def _open_outbox(database: Path) -> Iterator[OutboxAdmin]:
    with contextlib.closing(Store(database)) as store:
        yield OutboxAdmin(store)


def _plain(database: Path, entry: OutboxEntry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "state": entry.state.value,
        "account": entry.account,
        "key": entry.key,
        "call": f"{entry.call.pallet}.{entry.call.function}",
        "args": entry.call.args,
        "tries": entry.attempts,
        "since_ms": entry.created_ms,
        "valid_until": entry.valid_until,
        "tip": entry.tip,
        "reason": entry.reason,
        "folder": str(database.parent),
    }
