"""Output of commands: results on standard output, as text or as one JSON object a line; progress on standard error.

Much of it was written by others: hosts, tenants, pods. Control sequences in it are escaped here. On a terminal, tables
and progress bars are drawn by rich; output into a pipe or file has no colours and is never truncated.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import click

from offchain.schema import terminal_escaping
from offchain.schema.terminal_escaping import StreamEscaper

if TYPE_CHECKING:
    from rich.progress import Progress

_ADDRESS: Final = re.compile(r"\b([1-9A-HJ-NP-Za-km-z]{6})[1-9A-HJ-NP-Za-km-z]{35,37}([1-9A-HJ-NP-Za-km-z]{6})\b")
"""An SS58 address: its first and last letters identify it for people."""


def emit(value: dict[str, Any]) -> None:
    """Print one JSON object on a line of its own."""
    # JSON escapes every control character but this one.
    sys.stdout.write(json.dumps(value, default=_plain).replace("\x7f", "\\u007f") + "\n")
    sys.stdout.flush()


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table: drawn by rich on a terminal, else as columns that are as wide as their widest cell."""
    lines = [list(header), *([terminal_escaping.line(str(cell)) for cell in row] for row in rows)]
    if sys.stdout.isatty():
        _draw_table(lines)
        return
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        say("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _draw_table(lines: Sequence[Sequence[str]]) -> None:
    from rich.console import Console  # noqa: PLC0415  (slow to load)
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(file=sys.stdout)
    if sum(max(map(len, column)) + 2 for column in zip(*lines, strict=True)) > console.width:
        shortened = [[_ADDRESS.sub(r"\1…\2", cell) for cell in row] for row in lines]
        if shortened != lines:
            progress("Addresses are shortened to the width of the terminal; --json and pipes have them complete.")
        lines = shortened
    header, *rows = lines
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for name in header:
        drawn.add_column(Text(name), overflow="fold")
    for row in rows:
        drawn.add_row(*map(Text, row))  # as Text, so that rich reads no markup in what others wrote
    console.print(drawn)


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
    """Print one line on standard output; line feeds in it are escaped."""
    click.echo(terminal_escaping.line(line))


def progress(line: str) -> None:
    """Print one line on standard error; line feeds in it are escaped."""
    click.echo(terminal_escaping.line(line), err=True)


def size_text(size: int) -> str:
    """Return a number of bytes with a decimal unit: "1.5 MB"."""
    value, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"


def csv_rows(columns: Sequence[str], values: Iterable[Sequence[object]]) -> None:
    """Print CSV on standard output, with control sequences escaped if that is a terminal."""
    if not sys.stdout.isatty():
        csv.writer(sys.stdout).writerows(itertools.chain([columns], values))
        return
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="")
    for row in itertools.chain([columns], values):
        writer.writerow(row)
        say(buffer.getvalue())
        buffer.seek(0)
        buffer.truncate()


@dataclass(frozen=True, slots=True)
class StepOutput:
    """Output of a command with several steps: sentences, or with `as_json` one object a line, the result last."""

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


class Screen:
    """Output of the bytes of a pod: unchanged into a file or a pipe, with escaped sequences on a terminal.

    `error`: on standard error instead of standard output.
    """

    def __init__(self, *, error: bool = False) -> None:
        self._stream = sys.stderr if error else sys.stdout
        self._escaper = StreamEscaper() if self._stream.isatty() else None

    def show(self, data: bytes) -> None:
        self._write(data if self._escaper is None else self._escaper.feed(data))

    def end(self) -> None:
        """Print what is left when the stream has ended."""
        if self._escaper is not None:
            self._write(self._escaper.end())

    def _write(self, data: bytes) -> None:
        self._stream.buffer.write(data)
        self._stream.buffer.flush()


class TransferProgress:
    """A progress bar for bytes on standard error, if that is a terminal; `with` shows and removes it."""

    def __init__(self) -> None:
        self.bytes = 0
        self.seconds = 0.0
        self._started_s = time.monotonic()
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        self._started_s = time.monotonic()
        if sys.stderr.isatty():
            from rich import progress as bars  # noqa: PLC0415  (slow to load)
            from rich.console import Console  # noqa: PLC0415

            columns = (bars.BarColumn(), bars.DownloadColumn(), bars.TransferSpeedColumn(), bars.TimeRemainingColumn())
            self._bar = bars.Progress(*columns, console=Console(file=sys.stderr), transient=True)
            self._bar.add_task("", total=None)
            self._bar.start()
        return self

    def __call__(self, done: int, whole: int | None) -> None:
        """Show that `done` bytes of `whole` (None: unknown) are transferred."""
        self.bytes = done
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, total=whole)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.seconds = time.monotonic() - self._started_s
        if self._bar is not None:
            self._bar.stop()


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return dict(value) if isinstance(value, Mapping) else str(value)
