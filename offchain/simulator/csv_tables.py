"""Nodes and pods from CSV tables; every mistake is reported with its line and column."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator

from offchain.core.scheduler.cluster import HostSpec
from offchain.core.scheduler.columns import MAX_DEVICES
from offchain.core.scheduler.pod_request import WHOLE_GPU, PodShape


class CsvRecord:
    """The text of one record: a line, or several where a quoted cell contains line breaks."""

    def __init__(self, text: str, line: int) -> None:
        self._text = text
        self._line = line
        """The first line in the file."""

    def position(self, cell: int) -> str:
        """Return line and column, both from 1, of a cell; the end of the record if it has fewer cells."""
        starts = [at for at, _ in _cells(self._text)]
        return self._format_position(starts[cell] if cell < len(starts) else len(self._text.rstrip("\r\n")))

    def position_of_open_quote(self) -> str:
        """Return line and column of the last cell with an opening quote, or else of the last cell."""
        cells = list(_cells(self._text))
        quoted = [at for at, quoted in cells if quoted]
        return self._format_position(quoted[-1] if quoted else cells[-1][0])

    def _format_position(self, at: int) -> str:
        before = self._text[:at]
        return f"line {self._line + before.count(chr(10))}, column {at - before.rfind(chr(10))}"


def _cells(text: str) -> Iterator[tuple[int, bool]]:
    """Return where each cell begins, and whether with a quote, which makes commas part of the cell."""
    begin, inside = 0, text.startswith('"')
    for at, char in enumerate(text):
        # Two quotes within quotes stand for one: the first closes, the second opens again.
        if char == '"' and at > begin and text[begin] == '"':
            inside = not inside
        elif char == "," and not inside:
            yield begin, text[begin] == '"'
            begin = at + 1
            inside = text.startswith('"', begin)
    yield begin, text.startswith('"', begin)


POD_COLUMNS = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli")

_MAX_NUMBER = 10**12

_WHOLE = re.compile(r"(-?[0-9]{1,18})(?:\.0*)?")

_SHOWN = 40
"""Characters of a wrong value in a message."""


class TraceError(Exception):
    """A file that cannot be read. `code` is for programs."""

    code = "bad_trace"

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class CsvLine:
    """One line of a table, which reports wrong values with their position."""

    def __init__(self, source: str, record: CsvRecord, columns: dict[str, int], values: list[str]) -> None:
        self._source = source
        self._record = record
        self._columns = columns
        self._values = values

    def has(self, field: str) -> bool:
        """Whether the table has such a column."""
        return field in self._columns

    def text(self, field: str) -> str:
        """Return the value; "" where the table has no such column."""
        position = self._columns.get(field)
        return "" if position is None or position >= len(self._values) else self._values[position].strip()

    def number(self, field: str, minimum: int, maximum: int = _MAX_NUMBER) -> int:
        """Return a whole number; 8.0 is one, too. TraceError: not a number in this range."""
        found = _WHOLE.fullmatch(self.text(field))
        if found is None or not minimum <= int(found[1]) <= maximum:
            raise self.wrong(field, f"write a whole number from {minimum} to {maximum}")
        return int(found[1])

    def seconds(self, field: str) -> int:
        """Return milliseconds from decimal seconds. TraceError: not such a number."""
        value = self.text(field)
        whole, _, part = value.partition(".")
        if not (whole + part).isascii() or not whole.isdigit() or (part and not part.isdigit()) or len(whole) > 12:
            raise self.wrong(field, "write seconds, like 90 or 0.25")
        return int(whole) * 1000 + int(f"{part:0<3}"[:3])

    def wrong(self, field: str, hint: str) -> TraceError:
        """Return the error for this field."""
        value = self.text(field)
        shown = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"
        said = f"{field} is {shown!r}" if value else f"{field} is missing"
        position = self._record.position(self._columns[field])
        return TraceError(f"{self._source}, {position}: {said}.", f"{hint[0].upper()}{hint[1:]}.")


def read_nodes(text: str, source: str) -> list[HostSpec]:
    """Return hosts from a table with sn, cpu_milli, memory_mib, gpu and model. TraceError: line, column and hint."""
    found: list[HostSpec] = []
    names: set[str] = set()
    for line in read_lines(text, source, ("sn", "cpu_milli", "memory_mib", "gpu", "model")):
        gpus = line.number("gpu", 0, MAX_DEVICES)
        if gpus and not line.text("model"):
            raise line.wrong("model", "name the model of its GPUs")
        cpu, memory = line.number("cpu_milli", 0), line.number("memory_mib", 0)
        name = line.text("sn") or f"node-{len(found) + 1}"
        if name in names:
            raise line.wrong("sn", "give each node a name of its own, or none")
        names.add(name)
        found.append(HostSpec(name, cpu, memory, gpus, line.text("model")))
    if not any(spec.gpus for spec in found):
        raise TraceError(f"{source}: no node has a GPU.", "Give a list of nodes in which gpu is above 0 somewhere.")
    return found


def read_pods(text: str, source: str) -> list[PodShape]:
    """Return shapes from a table with cpu_milli, memory_mib, num_gpu, gpu_milli, and optionally gpu_spec."""
    found = [shape_of_line(line) for line in read_lines(text, source, POD_COLUMNS)]
    require_gpus(found, source)
    return found


def shape_of_line(line: CsvLine) -> PodShape:
    """Return what the pod of a line asks for."""
    gpus = line.number("num_gpu", 0, MAX_DEVICES)
    cpu, memory = line.number("cpu_milli", 0), line.number("memory_mib", 0)
    milli = line.number("gpu_milli", 1, WHOLE_GPU) if gpus else 0
    models = filter(None, (model.strip() for model in line.text("gpu_spec").split("|"))) if gpus else ()
    return PodShape(cpu, memory, gpus, milli, frozenset(models))


def require_gpus(shapes: Iterable[PodShape], source: str) -> None:
    """Raise TraceError where no pod asks for a GPU."""
    if not any(shape_of_line.gpus for shape_of_line in shapes):
        raise TraceError(
            f"{source}: no pod asks for a GPU.", "Give a list of pods in which num_gpu is above 0 somewhere."
        )


def read_lines(text: str, source: str, required: tuple[str, ...]) -> Iterator[CsvLine]:
    """Return the lines below the header. Other columns are ignored."""
    records = _RecordReader(text)
    columns: dict[str, int] | None = None
    width = 0
    try:
        for values in records.table:
            record = records.take_record()
            if not any(value.strip() for value in values):
                continue
            if columns is None:
                columns, width = _header(values, record, source, required), len(values)
                continue
            if len(values) > width:
                raise TraceError(
                    f"{source}, {record.position(width)}: {len(values)} values for {width} columns.",
                    "Put a value that has a comma in it between double quotes.",
                )
            yield CsvLine(source, record, columns, values)
    except csv.Error as error:
        raise TraceError(
            f"{source}, {records.take_record().position_of_open_quote()}: {error}.",
            "Write comma-separated values, with quotes in pairs.",
        ) from None
    if columns is None:
        raise TraceError(f"{source} is empty.", f"The first line names the columns: {','.join(required)}.")


def _header(values: list[str], record: CsvRecord, source: str, required: tuple[str, ...]) -> dict[str, int]:
    """Return the index of each column."""
    columns: dict[str, int] = {}
    for position, value in enumerate(values):
        name = value.strip()
        if name and name in columns:
            raise TraceError(
                f"{source}, {record.position(position)}: the header has {name} twice.", "Leave one of them out."
            )
        columns[name] = position
    missing = [name for name in required if name not in columns]
    if missing:
        raise TraceError(
            f"{source}, {record.position(len(values))}: the header has no column {', '.join(missing)}.",
            f"The first line names the columns: {','.join(required)}, in any order, others beside them.",
        )
    return columns


class _RecordReader:
    """Reads a table record by record, and keeps the text of each."""

    def __init__(self, text: str) -> None:
        self._read: list[str] = []
        self._line = 1
        self.table = csv.reader(self._lines(text), strict=True)

    def take_record(self) -> CsvRecord:
        """Return the text that was read since the last call."""
        found = CsvRecord("".join(self._read), self._line)
        self._line += len(self._read)
        self._read = []
        return found

    def _lines(self, text: str) -> Iterator[str]:
        for line in io.StringIO(text, newline=None):
            self._read.append(line)
            yield line
