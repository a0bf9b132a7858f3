"""Reports on SQLite and PostgreSQL: sums of made histories compared with a plain computation over the tables."""

import csv
import io
import re
from itertools import pairwise

import aiohttp
import pytest
from sqlalchemy import select, text

from offchain.gateway.api.server import ApiServer, ApiSettings
from offchain.indexer import report_queries
from offchain.indexer.exact_amounts import ExactSum
from offchain.indexer.host_usage import store_usage, usage_rows
from offchain.indexer.offers import HostAtBlock, offer_rows
from offchain.indexer.reports import BadReport, ReportRequest, make_report
from offchain.indexer.rows import BillRow, BlockRow, HostRow, LeaseRow, TaskRow
from offchain.indexer.state_rows import OPEN_MS, HostUsageRow, OfferRow
from offchain.indexer.tables import columns
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.durations import DAY_MS, HOUR_MS
from offchain.services.daily_reports import DailyReports, full_report
from tests.support.api_client import Api
from tests.support.chain_records import device, host_record
from tests.support.history_blocks import PROVIDERS, TENANTS, History
from tests.support.index_rig import opened


@pytest.fixture
def made(address):
    db, index = opened(address)
    index.add(list(History(7).blocks(60)))
    yield db
    db.close()


def times(db):
    found = [row.time_ms for row in db.rows(BlockRow)]
    return found[0], found[-1] + 1


def asked(db, **changes):
    first, last = times(db)
    return ReportRequest(**{"subject": "host", "from_ms": first, "to_ms": last} | changes)


def by_name(report):
    return {line.name: line for line in report.lines}


def nearest_rank(values, percent):
    return sorted(values)[-(-percent * len(values) // 100) - 1]


@pytest.mark.parametrize("part", [(0, 1), (0.3, 0.7)])
def test_numbers_of_hosts_and_tenants_are_those_of_the_tables(made, part):
    first, last = times(made)
    begin, end = (first + round((last - first) * one) for one in part)
    tasks = {task.task: task for task in made.rows(TaskRow)}
    leases, clock = made.rows(LeaseRow), {block.number: block.time_ms for block in made.rows(BlockRow)}
    providers = {host.host: host.provider for host in made.rows(HostRow)}
    for subject, name_of in (
        ("host", lambda row: row.host),
        ("tenant", lambda row: tasks[row.task].tenant),
        ("provider", lambda row: providers[row.host]),
    ):
        lines = by_name(full_report(made, ReportRequest(subject=subject, from_ms=begin, to_ms=end, limit=3)))
        assert lines
        for name, line in lines.items():
            own = [lease for lease in leases if lease.host in providers and name_of(lease) == name]
            bills = [bill for bill in made.rows(BillRow) if bill.host in providers and name_of(bill) == name]
            bills = [bill for bill in bills if begin <= clock[bill.block] < end]
            assigned = [lease for lease in own if begin <= lease.assigned_ms < end]
            ended = [lease for lease in own if lease.ended_ms is not None and begin <= lease.ended_ms < end]
            waited = [
                lease.assigned_ms - tasks[lease.task].submitted_ms
                for lease in assigned
                if (lease.pod, lease.generation) == (0, 0)
            ]
            assert line.assigned == len(assigned)
            assert line.ended == len(ended)
            assert line.paid == sum(bill.paid for bill in bills)
            assert line.earned == sum(bill.paid - bill.fee for bill in bills)
            assert line.program_failures == sum(bool(lease.exit_code) for lease in ended)
            assert line.pod_ms == sum(
                max(0, min(lease.ended_ms or end, end) - max(lease.started_ms, begin))
                for lease in own
                if lease.started_ms is not None
            )
            if waited:
                assert line.wait_to_assign.median_ms == nearest_rank(waited, 50)
                assert line.wait_to_assign.p95_ms == nearest_rank(waited, 95)
                assert (line.wait_to_assign.count, line.wait_to_assign.sum_ms) == (len(waited), sum(waited))
            else:
                assert line.wait_to_assign is None


def test_periods_add_up_to_the_total(made):
    first, last = times(made)
    whole = by_name(make_report(made, asked(made, from_ms=first - HOUR_MS)))
    parts = make_report(made, asked(made, from_ms=first - HOUR_MS, group="hour")).lines
    for name, line in whole.items():
        own = [one for one in parts if one.name == name]
        for number in ("assigned", "ended", "paid", "fee", "pod_ms", "program_failures"):
            assert sum(getattr(one, number) for one in own) == getattr(line, number), number
        assert all(first - HOUR_MS <= one.begin_ms < one.end_ms <= last for one in own)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_times_belong_to_their_periods(made, size):
    """The number of a period in the database is that of the list of periods, also where the ends are cut off."""
    first, last = times(made)
    step = (last - first) // size
    edges = [first, *range(first + step // 2, last, step), last]
    periods = [report_queries.Period(*pair) for pair in pairwise(edges)]
    names = report_queries.next_names(made, "host", None, 100)
    found = report_queries.assigned(made, "host", names, periods)
    for place, period in enumerate(periods):
        wanted = sum(period.begin_ms <= lease.assigned_ms < period.end_ms for lease in made.rows(LeaseRow))
        assert sum(count for (_, where), count in found.items() if where == place) == wanted


def test_sums_are_exact_beyond_64_bits(made):
    with made.transaction():
        made.execute(
            text(
                "UPDATE bills SET paid = '123456789012345678901234567'"
                if not made.partitioned
                else "UPDATE bills SET paid = 123456789012345678901234567"
            )
        )
    ((total,),) = made.execute(select(ExactSum(columns(BillRow).paid)))
    assert total == len(made.rows(BillRow)) * 123456789012345678901234567
    assert made.execute(select(ExactSum(columns(BillRow).paid)).where(columns(BillRow).lease < 0)) == [(None,)]


def record(*free_milli, status=None, **changes):
    devices = tuple(device(model=b"A100", milli_free=free, **changes) for free in free_milli)
    return host_record(PROVIDERS[0], devices=devices, status=status or gen.HostStatusOnline())


def used(db, host, now_ms, found):
    """Store the state of a host at a time."""
    rows = [] if found is None else list(usage_rows(HostAtBlock(host, 1, found, None)))
    with db.transaction():
        store_usage(db, [host], rows, now_ms)


def test_use_and_uptime_of_a_host(made):
    first, last = times(made)
    host = made.rows(HostRow)[0].host
    length = last - first
    quarters = [first + length * part // 4 for part in range(4)]
    used(made, host, quarters[0], record(1000, 1000))
    used(made, host, quarters[1], record(0, 500))
    used(made, host, quarters[2], record(0, 500))  # no change: no new period
    used(made, host, quarters[3], record(0, 1000, status=gen.HostStatusOffline()))
    with made.transaction():
        made.insert(OfferRow, list(offer_rows(HostAtBlock(host, 1, record(0, 1000), None))))
    rows = made.rows(HostUsageRow, columns(HostUsageRow).model == "A100")
    assert [(row.since_ms, row.until_ms, row.offered_milli, row.leased_milli) for row in rows] == [
        (quarters[0], quarters[1], 2000, 0),
        (quarters[1], quarters[3], 2000, 1500),
        (quarters[3], OPEN_MS, 1000, 1000),
    ]
    half, quarter = quarters[3] - quarters[1], last - quarters[3]
    for subject, name in (("host", host), ("provider", None), ("model", "A100"), ("region", "eu")):
        own = made.rows(HostRow)[0].provider if name is None else name
        (line,) = make_report(made, asked(made, subject=subject, name=own)).lines
        assert line.gpu_leased_ms == (half * 1500 + quarter * 1000) // 1000, subject
        assert line.gpu_offered_ms == 2 * (quarters[3] - first) + quarter
        assert (line.up_ms, line.down_ms) == (quarters[3] - first, quarter)
        assert line.utilisation_ppm == line.gpu_leased_ms * 10**6 // line.gpu_offered_ms
    (tenant, *_) = make_report(made, asked(made, subject="tenant")).lines
    assert (tenant.utilisation_ppm, tenant.uptime_ppm) == (None, None)


def test_a_host_that_is_gone_or_changes_twice_at_one_time_has_no_overlapping_periods(made):
    host = made.rows(HostRow)[0].host
    used(made, host, 1000, record(1000))
    used(made, host, 1000, record(0))
    used(made, host, 2000, None)
    used(made, host, 3000, record(1000, healthy=False))
    rows = made.rows(HostUsageRow, columns(HostUsageRow).host == host, columns(HostUsageRow).model == "A100")
    assert [(row.since_ms, row.until_ms, row.offered_milli) for row in rows] == [(1000, 2000, 1000), (3000, OPEN_MS, 0)]


def test_faults_of_hosts_are_told_from_those_of_tenants(made):
    reasons = {
        "HostLost": (1, 1),
        "HostRefused(DriverError)": (1, 1),
        "HostRefused(ImageUnavailable)": (1, 0),
        "Reclaimed": (1, 0),
        "Completed": (0, 0),
    }
    lease = made.rows(LeaseRow)[0]
    for reason, (failed, faults) in reasons.items():
        with made.transaction():
            made.execute(text("UPDATE leases SET reason = :reason").bindparams(reason=reason))
        line = by_name(make_report(made, asked(made, name=lease.host)))[lease.host]
        assert line.ends == {reason: line.ended}
        assert (line.failed, line.host_faults) == (failed * line.ended, faults * line.ended)
        assert line.fulfilled_ppm == (0 if faults else 10**6)


def test_requests_beyond_the_limits_are_refused(made):
    for changes, field in (
        ({"from_ms": 10, "to_ms": 10}, "to"),
        ({"from_ms": 0, "to_ms": 367 * DAY_MS}, "to"),
        ({"from_ms": 0, "to_ms": 30 * DAY_MS, "group": "hour"}, "group"),
    ):
        with pytest.raises(BadReport) as refused:
            make_report(made, asked(made, **changes))
        assert refused.value.field == field


@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
def test_the_statements_use_indexes(made):
    """Hosts' leases and bills are found by host and time, those of tenants by task.

    Only SQLite shows it with few rows: the planner of PostgreSQL scans small tables whatever indexes they have.
    """
    first, last = times(made)
    seen = []
    execute = made.execute
    made.execute = lambda statement, *more: seen.append(statement) or execute(statement, *more)
    for subject in ("host", "provider", "tenant"):
        make_report(made, asked(made, subject=subject, from_ms=first, to_ms=last))
    del made.execute
    plans = []
    with made.snapshot() as connection:
        for statement in seen:
            compiled = statement.compile(connection, compile_kwargs={"literal_binds": True})
            plans += [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}")]
    assert plans
    scans = [plan for plan in plans if re.match(r"SCAN (tasks|leases|bills|blocks|hosts|host_usage)\b", plan)]
    # The last block is found by the key, which SQLite calls a scan.
    assert set(scans) <= {"SCAN blocks"}
    assert any(plan.startswith("SEARCH blocks USING PRIMARY KEY") for plan in plans)
    assert any("leases_by_host_assigned_ms" in plan for plan in plans)
    assert any("bills_by_host_block" in plan for plan in plans)


@pytest.fixture
async def api(made, address):  # noqa: ARG001  (the index that is served)
    settings = ApiSettings(host="127.0.0.1", port=0, index=address, requests_per_s=1000)
    async with ApiServer(settings).listening() as url, aiohttp.ClientSession() as session:
        yield Api(url, session)


async def test_the_api_pages_through_names(api, made):
    first, last = times(made)
    path = f"/v1/reports/host?from={first}&to={last}&limit=3"
    found = await api.all(path)
    lines = make_report(made, asked(made)).lines
    assert [(one["name"], one["assigned"], int(one["paid"])) for one in found] == [
        (line.name, line.assigned, line.paid) for line in lines
    ]
    page = await api.get(path)
    assert page["as_of"]["number"] == 59
    assert page["next"] is not None


async def test_reports_as_csv_and_html(api, made):
    first, last = times(made)
    path = f"/v1/reports/tenant?from={first}&to={last}&limit=2"
    async with api.session.get(f"{api.url}{path}&format=csv") as answer:
        rows = list(csv.DictReader(io.StringIO(await answer.text())))
        assert answer.content_type == "text/csv"
        following = answer.links["next"]["url"]
    assert [row["name"] for row in rows] == sorted({task.tenant for task in made.rows(TaskRow)})[:2]
    async with api.session.get(following) as answer:
        rows = list(csv.DictReader(io.StringIO(await answer.text())))
    assert [row["name"] for row in rows] == sorted({task.tenant for task in made.rows(TaskRow)})[2:4]
    async with api.session.get(f"{api.url}{path}&format=html") as answer:
        page = await answer.text()
        assert answer.content_type == "text/html"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert rows[0]["name"] not in page
    assert min(TENANTS) in page or page.count("<tr>") > 2


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("host?from=5&to=5", "to"),
        ("host?from=0&to=99999999999", "to"),
        ("host?from=0", "to"),
        ("cat?from=0&to=5", "subject"),
        ("host?from=0&to=5&limit=101", "limit"),
        ("host?from=0&to=5&after=WzFd", "after"),
        ("host?from=0&to=5&group=week", "group"),
    ],
)
async def test_bad_requests_name_the_parameter(api, query, field):
    problem = await api.get(f"/v1/reports/{query}", 400)
    assert (problem["code"], problem["field"]) == ("invalid_parameter", field)


@pytest.mark.usefixtures("made")
def test_daily_reports_are_written_once(address, tmp_path):
    writer = DailyReports(address, tmp_path / "reports")
    folder = writer.write_missing()
    assert sorted(file.name for file in folder.iterdir()) == sorted(
        [
            "complete",
            *(f"{s}.{k}" for s in ("host", "model", "region", "tenant", "provider") for k in ("csv", "html", "json")),
        ]
    )
    assert writer.write_missing() is None
