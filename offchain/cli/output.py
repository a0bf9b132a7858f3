"""Results on standard output, as text for people or one JSON object a line; progress on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import click


def emit(value: dict[str, Any]) -> None:
    """One JSON object on a line of its own."""
    sys.stdout.write(json.dumps(value, default=_plain) + "\n")
    sys.stdout.flush()


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns wide enough for what is in them."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(line[column]) for line in [list(header), *cells]) for column in range(len(header))]
    for line in [list(header), *cells]:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def details(pairs: Sequence[tuple[str, object]]) -> None:
    """Names and values below each other; values of None are left out."""
    shown = [(name, value) for name, value in pairs if value is not None]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        click.echo(f"{name.ljust(width)}  {value}")


def progress(text: str) -> None:
    """A line on standard error."""
    click.echo(text, err=True)


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return str(value)
