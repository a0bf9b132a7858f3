"""Results as rows of docs/benchmarks.md: one row per figure, the newest measurement of each."""

from __future__ import annotations

import datetime as dt
import platform
import re
import statistics
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from offchain.devnet.paths import ROOT

PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
MIB = 1024 * 1024
_LOOP = 2_000_000


@dataclass(frozen=True)
class Figure:
    """One measured number. `samples` in `unit`; `target` is the most that the median may be, or the least;
    `target_p95` the most that the 95th percentile may be. None where there is none to hold it to."""

    name: str
    unit: str
    samples: tuple[float, ...]
    target: float | None = None
    at_least: bool = False
    target_p95: float | None = None

    @property
    def value(self) -> float:
        """The median."""
        return round(statistics.median(self.samples), 2)

    @property
    def p95(self) -> float:
        """What 95 of 100 samples are at least as good as, nearest rank."""
        ordered = sorted(self.samples, reverse=self.at_least)
        return round(ordered[max(0, -(-95 * len(ordered) // 100) - 1)], 2)

    @property
    def met(self) -> bool | None:
        """Whether it holds; None where there is no target."""
        held = []
        if self.target is not None:
            held.append(self.value >= self.target if self.at_least else self.value <= self.target)
        if self.target_p95 is not None:
            held.append(self.p95 <= self.target_p95)
        return all(held) if held else None

    @property
    def aim(self) -> str:
        """The target with its sign."""
        parts = []
        if self.target is not None:
            of = "p50 " if self.target_p95 is not None else ""
            parts.append(f"{of}{'≥' if self.at_least else '≤'} {self.target:g}")
        if self.target_p95 is not None:
            parts.append(f"p95 ≤ {self.target_p95:g}")
        return ", ".join(parts)

    def row(self, where: str, commit: str, date: str) -> str:
        """The figure as a row of the table."""
        spread = f"{len(self.samples)}" + (f" (p95 {self.p95:g})" if len(self.samples) > 1 else "")
        met = {True: "yes", False: "no", None: ""}[self.met]
        cells = (self.name, f"{self.value:.10g}", self.unit, self.aim, met, spread, where, commit, date)
        return "| " + " | ".join(cells) + " |"


def machine() -> str:
    """Processor, cores and memory of this machine."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    processor = found.group(1).strip() if found else platform.machine()
    total = re.search(r"^MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text(encoding="utf-8"), re.MULTILINE)
    gib = round(int(total.group(1)) / 1024 / 1024) if total else 0
    cores = text.count("processor\t")
    return f"{processor}, {cores} cores, {gib} GiB"


def pace() -> int:
    """Milliseconds that this machine needs at present for a fixed loop of Python: the median of five."""
    took = []
    for _ in range(5):
        began = time.perf_counter()
        total = 0
        for number in range(_LOOP):
            total += number * number
        took.append(time.perf_counter() - began)
    return round(statistics.median(took) * 1000)


def record(figures: Iterable[Figure], paces: Sequence[int]) -> None:
    """Put the figures into the page, each in place of its older row. `paces`: as :func:`pace` gave them meanwhile."""
    where = f"{machine()}, pace {min(paces)}-{max(paces)} ms"
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    date = dt.datetime.now(tz=dt.UTC).date().isoformat()
    page = PAGE.read_text(encoding="utf-8")
    head, rest = page.split(BEGIN)
    table, tail = rest.split(END)
    lines = table.strip().splitlines()
    rows = {line.split("|")[1].strip(): line for line in lines[2:]}
    rows |= {figure.name: figure.row(where, commit or "?", date) for figure in figures}
    body = "\n".join([*lines[:2], *(rows[name] for name in sorted(rows))])
    PAGE.write_text(f"{head}{BEGIN}\n{body}\n{END}{tail}", encoding="utf-8")
