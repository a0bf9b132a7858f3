"""Nodes and pods as tables of comma-separated values, and every mistake in them by line and column."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator

from offchain.core.placing.cells import Record
from offchain.core.placing.cluster import HostSpec
from offchain.core.placing.free import MOST_DEVICES
from offchain.core.placing.shapes import WHOLE_GPU, Shape

POD_COLUMNS = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli")

_MOST = 10**12

_WHOLE = re.compile(r"(-?[0-9]{1,18})(?:\.0*)?")

_SHOWN = 40
"""Characters of a value that is told as wrong."""


class TraceError(Exception):
    """A file that cannot be read as what it should be. `code` is for programs."""

    code = "bad_trace"

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class Line:
    """One line of a table; says where in the file a value is that is wrong."""

    def __init__(self, source: str, record: Record, columns: dict[str, int], values: list[str]) -> None:
        self._source = source
        self._record = record
        self._columns = columns
        self._values = values

    def has(self, field: str) -> bool:
        """Whether the table has such a column."""
        return field in self._columns

    def text(self, field: str) -> str:
        """The value, or nothing where the table has no such column."""
        place = self._columns.get(field)
        return "" if place is None or place >= len(self._values) else self._values[place].strip()

    def number(self, field: str, least: int, most: int = _MOST) -> int:
        """A whole number; 8.0 is one, too. TraceError where it is none, or is too small or too large."""
        found = _WHOLE.fullmatch(self.text(field))
        if found is None or not least <= int(found[1]) <= most:
            raise self.wrong(field, f"write a whole number from {least} to {most}")
        return int(found[1])

    def seconds(self, field: str) -> int:
        """Milliseconds, written as seconds, with a point or without. TraceError where it is no such number."""
        value = self.text(field)
        whole, _, part = value.partition(".")
        if not (whole + part).isascii() or not whole.isdigit() or (part and not part.isdigit()) or len(whole) > 12:
            raise self.wrong(field, "write seconds, like 90 or 0.25")
        return int(whole) * 1000 + int(f"{part:0<3}"[:3])

    def wrong(self, field: str, remedy: str) -> TraceError:
        """The error for this field."""
        value = self.text(field)
        shown = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"
        said = f"{field} is {shown!r}" if value else f"{field} is missing"
        place = self._record.place(self._columns[field])
        return TraceError(f"{self._source}, {place}: {said}.", f"{remedy[0].upper()}{remedy[1:]}.")


def nodes(text: str, source: str) -> list[HostSpec]:
    """Hosts from a table with sn, cpu_milli, memory_mib, gpu and model. TraceError names line, column and remedy."""
    found: list[HostSpec] = []
    names: set[str] = set()
    for line in lines(text, source, ("sn", "cpu_milli", "memory_mib", "gpu", "model")):
        gpus = line.number("gpu", 0, MOST_DEVICES)
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


def pods(text: str, source: str) -> list[Shape]:
    """Shapes from a table with cpu_milli, memory_mib, num_gpu, gpu_milli, and gpu_spec where it has that column."""
    found = [shape(line) for line in lines(text, source, POD_COLUMNS)]
    someone_wants_gpus(found, source)
    return found


def shape(line: Line) -> Shape:
    """What the pod of a line asks for. It may leave out gpu_spec."""
    gpus = line.number("num_gpu", 0, MOST_DEVICES)
    cpu, memory = line.number("cpu_milli", 0), line.number("memory_mib", 0)
    milli = line.number("gpu_milli", 1, WHOLE_GPU) if gpus else 0
    models = filter(None, (model.strip() for model in line.text("gpu_spec").split("|"))) if gpus else ()
    return Shape(cpu, memory, gpus, milli, frozenset(models))


def someone_wants_gpus(shapes: Iterable[Shape], source: str) -> None:
    """TraceError where nobody asks for a GPU."""
    if not any(shape.gpus for shape in shapes):
        raise TraceError(
            f"{source}: no pod asks for a GPU.", "Give a list of pods in which num_gpu is above 0 somewhere."
        )


def lines(text: str, source: str, wanted: tuple[str, ...]) -> Iterator[Line]:
    """The lines below the header. Columns that nobody asks for are passed over."""
    records = _Records(text)
    columns: dict[str, int] | None = None
    width = 0
    try:
        for values in records.table:
            record = records.taken()
            if not any(value.strip() for value in values):
                continue
            if columns is None:
                columns, width = _header(values, record, source, wanted), len(values)
                continue
            if len(values) > width:
                raise TraceError(
                    f"{source}, {record.place(width)}: {len(values)} values for {width} columns.",
                    "Put a value that has a comma in it between double quotes.",
                )
            yield Line(source, record, columns, values)
    except csv.Error as error:
        raise TraceError(
            f"{source}, {records.taken().broken()}: {error}.", "Write comma-separated values, with quotes in pairs."
        ) from None
    if columns is None:
        raise TraceError(f"{source} is empty.", f"The first line names the columns: {','.join(wanted)}.")


def _header(values: list[str], record: Record, source: str, wanted: tuple[str, ...]) -> dict[str, int]:
    """Where each column is."""
    columns: dict[str, int] = {}
    for place, value in enumerate(values):
        name = value.strip()
        if name and name in columns:
            raise TraceError(f"{source}, {record.place(place)}: the header has {name} twice.", "Leave one of them out.")
        columns[name] = place
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise TraceError(
            f"{source}, {record.place(len(values))}: the header has no column {', '.join(missing)}.",
            f"The first line names the columns: {','.join(wanted)}, in any order, others beside them.",
        )
    return columns


class _Records:
    """A table read record by record, with the text of each."""

    def __init__(self, text: str) -> None:
        self._read: list[str] = []
        self._line = 1
        self.table = csv.reader(self._lines(text), strict=True)

    def taken(self) -> Record:
        """What was read of the file since this was last asked."""
        found = Record("".join(self._read), self._line)
        self._line += len(self._read)
        self._read = []
        return found

    def _lines(self, text: str) -> Iterator[str]:
        for line in io.StringIO(text, newline=None):
            self._read.append(line)
            yield line
