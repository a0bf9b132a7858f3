"""Results on standard output, as text for people or one JSON object a line; progress on standard error.

Much of what is told was written by others: hosts, tenants, pods. On its way to a terminal it is made harmless here.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click

from offchain.schema import terminal_escaping
from offchain.schema.terminal_escaping import Harmless


def emit(value: dict[str, Any]) -> None:
    """One JSON object on a line of its own."""
    # JSON writes out every control character but this one.
    sys.stdout.write(json.dumps(value, default=_plain).replace("\x7f", "\\u007f") + "\n")
    sys.stdout.flush()


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns wide enough for what is in them."""
    cells = [[terminal_escaping.line(str(cell)) for cell in row] for row in rows]
    widths = [max(len(line[column]) for line in [list(header), *cells]) for column in range(len(header))]
    for line in [list(header), *cells]:
        say("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def details(pairs: Sequence[tuple[str, object]]) -> None:
    """Print names and values below each other, without those whose value is None."""
    for line in detail_lines(pairs):
        say(line)


def detail_lines(pairs: Sequence[tuple[str, object]]) -> list[str]:
    """Return the lines that :func:`details` prints."""
    shown = [(name, value) for name, value in pairs if value is not None]
    width = max((len(name) for name, _ in shown), default=0)
    return [f"{name.ljust(width)}  {value}" for name, value in shown]


def say(line: str = "") -> None:
    """One line on standard output: line feeds in it are written out."""
    click.echo(terminal_escaping.line(line))


def progress(line: str) -> None:
    """One line on standard error: line feeds in it are written out."""
    click.echo(terminal_escaping.line(line), err=True)


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: "1 attempt", "2 attempts"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def csv_rows(columns: Sequence[str], values: Iterable[Sequence[object]]) -> None:
    """CSV on standard output: harmless on a terminal, as it is into a file or a pipe."""
    if not sys.stdout.isatty():
        csv.writer(sys.stdout).writerows(itertools.chain([columns], values))
        return
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="")
    for row in itertools.chain([columns], values):
        writer.writerow(row)
        say(made.getvalue())
        made.seek(0)
        made.truncate()


class Screen:
    """Standard output for bytes that a pod wrote: byte for byte into a file or a pipe, harmless on a terminal."""

    def __init__(self) -> None:
        self._harmless = Harmless() if sys.stdout.isatty() else None

    def show(self, data: bytes) -> None:
        """The next bytes."""
        self._write(data if self._harmless is None else self._harmless.feed(data))

    def end(self) -> None:
        """There are no more."""
        if self._harmless is not None:
            self._write(self._harmless.end())

    @staticmethod
    def _write(data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return str(value)
