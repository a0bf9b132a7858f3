"""Answers with reports: pages of lines, as JSON, CSV or HTML."""

from __future__ import annotations

from aiohttp import web

from offchain.gateway.api.answers import as_of
from offchain.gateway.api.models import BlockReference, Page
from offchain.gateway.api.parameters import encode_cursor
from offchain.gateway.api.report_models import ReportLineResource, ReportOf
from offchain.indexer.database import IndexDatabase
from offchain.indexer.reports import ReportRequest, UsageReport, make_report
from offchain.services.report_text import HTML_POLICY, csv_report, html_report, line_fields


def report(db: IndexDatabase, asked: ReportOf) -> Page[ReportLineResource]:
    """Return a page of a report. Raises BadReport."""
    made = _made(db, asked)
    data = [ReportLineResource(**line_fields(line)) for line in made.lines]
    return Page[ReportLineResource](as_of=as_of(db), data=data, next=_next(made))


def report_text(db: IndexDatabase, asked: ReportOf) -> tuple[BlockReference, str, str | None]:
    """Return the block, a page as CSV or HTML, and the cursor of the next one. Raises BadReport."""
    made = _made(db, asked)
    text = csv_report(made) if asked.format == "csv" else html_report(f"Gantry report by {asked.subject}", made)
    return as_of(db), text, _next(made)


def _made(db: IndexDatabase, asked: ReportOf) -> UsageReport:
    return make_report(
        db,
        ReportRequest(
            subject=asked.subject,
            from_ms=asked.from_ms,
            to_ms=asked.to_ms,
            group=asked.group,
            name=asked.name,
            after=asked.last_name(),
            limit=asked.limit,
        ),
    )


def _next(made: UsageReport) -> str | None:
    return None if made.last_name is None else encode_cursor((made.last_name,))


def report_answer(request: web.Request, asked: ReportOf, made: tuple[BlockReference, str, str | None]) -> web.Response:
    """Return a page as CSV or HTML. The header Link has the URL of the next page."""
    block, text, following = made
    headers = {"Gantry-Block": f"{block.number} {block.hash} {block.time_ms}", "Cache-Control": "no-store"}
    if following is not None:
        headers["Link"] = f'<{request.rel_url.update_query(after=following)}>; rel="next"'
    if asked.format == "html":
        headers["Content-Security-Policy"] = HTML_POLICY
    else:
        headers["Content-Disposition"] = f'attachment; filename="report-{asked.subject}-{block.number}.csv"'
    answer = web.Response(text=text, content_type=f"text/{asked.format}", charset="utf-8", headers=headers)
    answer.enable_compression()
    return answer
