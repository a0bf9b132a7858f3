"""Reports as fields for programs, CSV and HTML."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from html import escape
from typing import Any, Final

from offchain.indexer.report_queries import WaitStatistics
from offchain.indexer.reports import PPM, ReportLine, UsageReport
from offchain.schema import terminal_escaping
from offchain.schema.manifest.values import format_amount
from offchain.services.csv_text import Cell, csv_text
from offchain.services.event_text import time_text

_STYLE: Final = (
    "body{font-family:sans-serif;margin:2em}table{border-collapse:collapse}caption{text-align:left;padding:.5em 0}"
    "th,td{border-bottom:1px solid #ccc;padding:.3em .6em;text-align:right;white-space:nowrap}"
    "th:first-child,td:first-child{text-align:left}"
)
HTML_POLICY: Final = (
    "default-src 'none'; frame-ancestors 'none'; style-src 'sha256-"
    + base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    + "'"
)
"""Content-Security-Policy of a report: only its own style."""
_SHARES: Final = ("utilisation_ppm", "uptime_ppm", "fulfilled_ppm")
_COUNTS: Final = ("ended", "failed", "host_faults")
_WAITS: Final = ("wait_to_assign", "wait_to_start")
CSV_COLUMNS: Final = (
    "name",
    "begin",
    "end",
    "gpu_offered_ms",
    "gpu_leased_ms",
    "utilisation_ppm",
    "up_ms",
    "down_ms",
    "uptime_ppm",
    "pod_ms",
    "assigned",
    *(f"{wait}_{part}" for wait in _WAITS for part in ("median_ms", "p95_ms", "most_ms")),
    "ended",
    "failed",
    "host_faults",
    "program_failures",
    "fulfilled_ppm",
    "ends",
    "paid",
    "fee",
    "earned",
    "refunded",
)
TABLE_COLUMNS: Final = (
    "NAME", "FROM", "GPU USE", "UPTIME", "PODS", "WAIT", "START", "ENDED", "FAILED", "SLA", "PAID", "FEE",
)  # fmt: skip
"""For people: WAIT and START are the medians from submission to assignment, and from there to the start."""


def line_fields(line: ReportLine) -> dict[str, Any]:
    """Return all numbers of a line by name, those that follow from others included."""
    more = {name: getattr(line, name) for name in (*_SHARES, *_COUNTS, "earned")}
    return asdict(line) | {"ends": dict(line.ends)} | more


def csv_report(report: UsageReport) -> str:
    """Return a report as CSV with a header."""
    return csv_text([CSV_COLUMNS, *map(_csv_line, report.lines)])


def html_report(title: str, report: UsageReport) -> str:
    """Return a report as a page for people, without scripts."""
    rows = [
        "".join(f"<td>{escape(terminal_escaping.line(cell))}</td>" for cell in table_line(line))
        for line in report.lines
    ]
    head = "".join(f"<th>{escape(name.capitalize())}</th>" for name in TABLE_COLUMNS)
    failures = "".join(
        f"<tr><td>{escape(reason)}</td><td>{count}</td></tr>" for reason, count in total_ends(report.lines).items()
    )
    period = f"{time_text(report.from_ms)} to {time_text(report.to_ms)} UTC"
    return "\n".join(
        (
            f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{escape(title)}</title>",
            f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>",
            f"<table><caption>{escape(period)}</caption><tr>{head}</tr>",
            *(f"<tr>{row}</tr>" for row in rows),
            "</table><h2>Ends of leases by reason</h2>",
            f"<table><tr><th>Reason</th><th>Leases</th></tr>{failures}</table></body></html>",
        )
    )


def table_line(line: ReportLine) -> list[str]:
    """Return the cells of a line for people, as :data:`TABLE_COLUMNS` names them; "-" where nothing is known."""
    return [
        line.name,
        time_text(line.begin_ms)[:16],
        _percent(line.utilisation_ppm),
        _percent(line.uptime_ppm),
        str(line.assigned),
        _wait(line.wait_to_assign),
        _wait(line.wait_to_start),
        str(line.ended),
        str(line.failed),
        _percent(line.fulfilled_ppm),
        _short_amount(line.paid),
        _short_amount(line.fee),
    ]


def total_ends(lines: Sequence[ReportLine]) -> Mapping[str, int]:
    """Return the ends of all lines by reason, the most frequent first."""
    totals: dict[str, int] = {}
    for line in lines:
        for reason, count in line.ends.items():
            totals[reason] = totals.get(reason, 0) + count
    return dict(sorted(totals.items(), key=lambda one: (-one[1], one[0])))


def _csv_line(line: ReportLine) -> list[Cell]:
    known = line_fields(line) | {
        "begin": _iso(line.begin_ms),
        "end": _iso(line.end_ms),
        "ends": "; ".join(f"{reason}={count}" for reason, count in line.ends.items()),
    }
    for wait in _WAITS:
        for part in ("median_ms", "p95_ms", "most_ms"):
            known[f"{wait}_{part}"] = None if known[wait] is None else known[wait][part]
    return [known[name] for name in CSV_COLUMNS]


def _iso(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds")


def _percent(ppm: int | None) -> str:
    return "-" if ppm is None else f"{100 * ppm / PPM:.1f} %"


def _wait(wait: WaitStatistics | None) -> str:
    return "-" if wait is None else f"{wait.median_ms / 1000:.1f} s"


def _short_amount(amount: int) -> str:
    """Return an amount rounded down to a millionth of a coin; CSV and JSON have it exactly."""
    return format_amount(amount - amount % 1_000_000)
