"""Output and end of commands with several steps: sentences for people, or one JSON object a line, the result last."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from node_agent.drivers.port import DriverError
from offchain.cli.kit.output import emit, say
from offchain.errors import GantryError
from offchain.schema import terminal_escaping

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StepOutput:
    """Standard output of one command: text, or JSON with `as_json`."""

    as_json: bool

    def text(self, *lines: str) -> None:
        """Print lines for people; nothing with --json."""
        if not self.as_json:
            for line in lines:
                say(line)

    def step(self, step: str, **facts: Any) -> None:
        """Print a completed step for programs; nothing without --json."""
        self.result({"step": step, **facts})

    def result(self, facts: dict[str, Any]) -> None:
        """Print the result for programs; nothing without --json."""
        if self.as_json:
            emit(facts)


def run_command(work: Coroutine[Any, Any, T], *, as_json: bool = False, hint: str = "") -> T:
    """Run a command to its end; an error becomes one message and exit status 1. `hint` follows errors of files."""
    try:
        return asyncio.run(work)
    except (GantryError, DriverError) as error:
        print_error(error, as_json=as_json)
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
    except (OSError, sqlite3.Error) as error:
        click.echo(terminal_escaping.text(f"error: {error}.{hint}"), err=True)
    sys.exit(1)


def print_error(error: GantryError | DriverError, *, as_json: bool) -> None:
    """Print what happened and what to do."""
    code, hint = getattr(error, "code", "driver"), getattr(error, "hint", "")
    print_failure(str(error), code, getattr(error, "message", str(error)), hint, as_json=as_json)


def print_failure(shown: str, code: str, message: str, hint: str, *, as_json: bool) -> None:
    """Print `shown` on standard error and, with --json, its parts on standard output."""
    if as_json:
        emit({"error": {"code": code, "message": message, "hint": hint}})
    click.echo(terminal_escaping.text(f"error: {shown}"), err=True)
