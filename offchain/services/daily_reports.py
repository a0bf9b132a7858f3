"""Reports of each day as files: FOLDER/2026-11-26/host.csv, host.html, host.json, and those of the other subjects."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from offchain.files import replace_file
from offchain.indexer.database import IndexDatabase
from offchain.indexer.queries import open_for_reading
from offchain.indexer.report_queries import Subject
from offchain.indexer.reports import SUBJECTS, ReportLine, ReportRequest, UsageReport, make_report
from offchain.indexer.status import last_block
from offchain.schema.durations import DAY_MS
from offchain.services import log
from offchain.services.report_text import csv_report, html_report, line_fields

REPORT_EVERY_S: Final = 600.0
_FILE_MODE: Final = 0o600
_PAGE_NAMES: Final = 100


def full_report(db: IndexDatabase, asked: ReportRequest) -> UsageReport:
    """Return all pages of a report as one."""
    lines: list[ReportLine] = []
    while True:
        page = make_report(db, asked)
        lines += page.lines
        if page.last_name is None:
            return replace(page, lines=lines)
        asked = replace(asked, after=page.last_name)


class DailyReports:
    """Writes the reports of the last complete day, by the time of the last block, unless they are there."""

    def __init__(self, address: str, folder: Path) -> None:
        self._address = address
        self._folder = folder
        self._log = log.EventLog("reports")

    def write_missing(self) -> Path | None:
        """Write the reports of the day before that of the last block; return their folder, None if it was there.

        The folder is complete if it has the file `complete`, which is written last. Raises GantryError and OSError.
        """
        with contextlib.closing(open_for_reading(self._address)) as db:
            last = last_block(db)
            if last is None:
                return None
            day_ms = last.time_ms - last.time_ms % DAY_MS - DAY_MS
            folder = self._folder / f"{datetime.fromtimestamp(day_ms / 1000, UTC):%Y-%m-%d}"
            marker = folder / "complete"
            if marker.exists():
                return None
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            for subject in SUBJECTS:
                # A snapshot for each subject: an upgrade of the tables waits for the end of a snapshot.
                with db.snapshot():
                    report = full_report(
                        db, ReportRequest(subject=subject, from_ms=day_ms, to_ms=day_ms + DAY_MS, limit=_PAGE_NAMES)
                    )
                for suffix, text in _texts(subject, report):
                    replace_file(folder / f"{subject}.{suffix}", text, mode=_FILE_MODE)
            replace_file(marker, "", mode=_FILE_MODE)
        self._log.info("written", folder=str(folder))
        return folder


def _texts(subject: Subject, report: UsageReport) -> Iterator[tuple[str, str]]:
    yield "csv", csv_report(report)
    yield "html", html_report(f"Gantry report by {subject}", report)
    yield (
        "json",
        json.dumps({"from_ms": report.from_ms, "to_ms": report.to_ms, "lines": [*map(line_fields, report.lines)]}),
    )
