"""One timeline of a task: events of the chain, decisions of schedulers, and lines of log files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TextIO

from offchain.errors import OurError
from offchain.schema.protocol.decisions import Decision, DecisionReport, WaitRecord
from offchain.schema.value_text import counted

_LINE: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})Z ([A-Z]+) (.*)")
"""A line of a worker's or an agent's log. A prefix, as that of docker compose logs or journalctl, may precede it."""
MOST_LINES: Final = 10_000
"""Lines of one file in a timeline, the first ones."""
_LONGEST: Final = 4_096
"""Characters of a line that are read."""


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """What happened at `time_ms`, Unix ms. `source`: chain, scheduler or log; `origin`: block, account or file.

    Times of the chain are those of its blocks, those of logs are of the machines that wrote them.
    """

    time_ms: int
    source: str
    origin: str
    text: str

    def plain(self) -> dict[str, Any]:
        return asdict(self)


class LogFileError(OurError):
    """A log file cannot be read."""

    code = "log_file"


def decision_entries(report: DecisionReport) -> Iterator[TimelineEntry]:
    """Yield the placements, outcomes and waits that a scheduler has recorded."""
    for decision in report.decisions:
        yield TimelineEntry(decision.at_ms, "scheduler", report.scheduler, _placement(decision))
        answer = decision.answer
        if answer is not None:
            reason = f": {answer.reason}" if answer.reason else ""
            block = "" if answer.block is None else f" in block {answer.block}"
            text = f"generation {decision.generation}: {answer.kind}{block}{reason}"
            yield TimelineEntry(answer.at_ms, "scheduler", report.scheduler, text)
    for wait in report.waits:
        yield TimelineEntry(wait.at_ms, "scheduler", report.scheduler, _wait(wait))


def _placement(decision: Decision) -> str:
    hosts = ", ".join(f"pod {pod.pod} on {pod.host}" for pod in decision.spots)
    return f"generation {decision.generation}: placed {counted(decision.pods, 'pod')}: {hosts}"


def _wait(wait: WaitRecord) -> str:
    tried = counted(wait.times, "cycle")
    return (
        f"generation {wait.generation}: waits, {wait.pods_fitting} of {wait.pods_needed} pods feasible on "
        f"{counted(wait.hosts, 'host')}, tried in {tried}"
    )


def log_entries(path: Path, trace: str) -> Iterator[TimelineEntry]:
    """Yield the lines of a log file about the task with this trace id. Raises LogFileError."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            yield from _matching(file, trace, str(path))
    except OSError as error:
        raise LogFileError(
            f"The log {path} cannot be read: {error.strerror or error}.", "Name a file that you may read: --log FILE."
        ) from None


def _matching(file: TextIO, trace: str, name: str) -> Iterator[TimelineEntry]:
    wanted, found = f"trace={trace}", 0
    while (line := file.readline(_LONGEST)) and found < MOST_LINES:
        line = line.rstrip("\n")
        parts = _LINE.search(line) if line.endswith(wanted) else None
        if parts is None:
            continue
        try:
            at = datetime.fromisoformat(parts[1]).replace(tzinfo=UTC)
        except ValueError:
            continue
        found += 1
        text = parts[3].removesuffix(wanted).rstrip()
        yield TimelineEntry(
            round(at.timestamp() * 1000), "log", name, text if parts[2] == "INFO" else f"{parts[2]} {text}"
        )


def in_order(entries: Iterable[TimelineEntry]) -> list[TimelineEntry]:
    """Return the entries by time. Entries of one moment keep their order."""
    return sorted(entries, key=lambda entry: entry.time_ms)
