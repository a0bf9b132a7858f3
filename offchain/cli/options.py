"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def url(command: F) -> F:
    """--url."""
    return click.option(
        "--url",
        metavar="WS",
        help="The node's address. Else GANTRY_URL, else the local network of this clone, else ws://127.0.0.1:9944.",
    )(command)


def index(command: F) -> F:
    """--index."""
    return click.option(
        "--index",
        metavar="ADDRESS",
        help="The index: the path of an SQLite file, or postgresql://user@host/database. Else GANTRY_INDEX, else the "
        "one of the local network of this clone, else ~/.local/state/gantry/index.db.",
    )(command)


def as_json(command: F) -> F:
    """--json."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON object, or one a line for lists.")(command)


def account(command: F) -> F:
    """--account and --password-file."""
    command = click.option(
        "--password-file",
        type=click.Path(exists=True, dir_okay=False),
        help="File with the account's password. Else GANTRY_PASSWORD, else you are asked.",
    )(command)
    return click.option(
        "--account",
        metavar="NAME",
        help="Name of an account (gantry account list), a keystore file, or a development account like //Charlie. "
        "Else GANTRY_ACCOUNT, else your only account.",
    )(command)
