"""What a command tells: text for people, or one JSON object a line for programs, the last of them the result."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from node_agent.drivers.port import DriverError
from offchain.errors import GantryError
from offchain.schema import terminal_escaping

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StepOutput:
    """Says things as text, or as JSON."""

    as_json: bool

    def text(self, *lines: str) -> None:
        """Lines for people; nothing with --json."""
        if not self.as_json:
            click.echo("\n".join(map(terminal_escaping.line, lines)))

    def step(self, step: str, **facts: Any) -> None:
        """A step on the way, for programs; nothing without --json."""
        if self.as_json:
            _emit({"step": step, **facts})

    def result(self, facts: dict[str, Any]) -> None:
        """What a program is told at the end; nothing without --json."""
        if self.as_json:
            _emit(facts)


def details(pairs: Sequence[tuple[str, object]]) -> list[str]:
    """Names and values below each other; values of None are left out."""
    shown = [(name, value) for name, value in pairs if value is not None]
    width = max((len(name) for name, _ in shown), default=0)
    return [f"{name.ljust(width)}  {value}" for name, value in shown]


def finish(work: Coroutine[Any, Any, T], *, as_json: bool = False, away: str = "") -> T:
    """Run to the end; an error becomes one message and a non-zero exit. `away`: said where a file cannot be used."""
    try:
        return asyncio.run(work)
    except (GantryError, DriverError) as error:
        tell_error(error, as_json=as_json)
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
    except (OSError, sqlite3.Error) as error:
        click.echo(terminal_escaping.text(f"error: {error}.{away}"), err=True)
    sys.exit(1)


def tell_error(error: GantryError | DriverError, *, as_json: bool) -> None:
    """One message with what happened and what to do."""
    code, remedy = getattr(error, "code", "driver"), getattr(error, "remedy", "")
    tell_failure(str(error), code, getattr(error, "message", str(error)), remedy, as_json=as_json)


def tell_failure(shown: str, code: str, message: str, remedy: str, *, as_json: bool) -> None:
    """What people are shown, and with --json its parts for programs."""
    if as_json:
        _emit({"error": {"code": code, "message": message, "remedy": remedy}})
    click.echo(terminal_escaping.text(f"error: {shown}"), err=True)


def _emit(value: dict[str, Any]) -> None:
    click.echo(json.dumps(value, default=str).replace("\x7f", "\\u007f"))
