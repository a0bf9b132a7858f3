"""gantry report: lines on a terminal, as JSON, CSV and HTML, and wrong options."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from offchain.cli import main as cli
from offchain.indexer.queries import open_for_reading
from offchain.indexer.rows import BillRow, LeaseRow
from tests.support.history_blocks import HOSTS, TENANTS

Report = Callable[..., tuple[int, str, str]]
"""Runs gantry report; returns its status, output and messages."""


@pytest.fixture
def report(index: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Report:
    monkeypatch.setenv("GANTRY_INDEX", str(index))

    def run(*arguments: object) -> tuple[int, str, str]:
        code = cli.main(["report", *map(str, arguments)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_lines_of_all_hosts_add_up_to_the_tables(report: Report, index: Path) -> None:
    code, out, _ = report("host", "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    db = open_for_reading(str(index))
    leases, bills = db.rows(LeaseRow), db.rows(BillRow)
    db.close()
    assert code == 0
    assert {line["name"] for line in lines} == {lease.host for lease in leases} <= set(HOSTS)
    assert sum(line["assigned"] for line in lines) == len(leases)
    assert sum(line["paid"] for line in lines) == sum(bill.paid for bill in bills)


def test_a_name_restricts_the_report(report: Report) -> None:
    code, out, _ = report("tenant", "--name", TENANTS[0], "--json")
    assert code == 0
    assert [json.loads(line)["name"] for line in out.splitlines()] == [TENANTS[0]]


def test_a_report_is_a_table_or_files(report: Report, tmp_path: Path) -> None:
    code, out, _ = report("host")
    assert code == 0
    assert HOSTS[0][:8] in out
    table, page = tmp_path / "hosts.csv", tmp_path / "hosts.html"
    code, out, err = report("host", "--group", "hour", "--csv", table, "--html", page)
    assert (code, out) == (0, "")
    assert str(table) in err
    rows = list(csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"))))
    assert {row["name"] for row in rows} <= set(HOSTS)
    assert HOSTS[0] in page.read_text(encoding="utf-8")


def test_wrong_options_are_refused(report: Report, tmp_path: Path) -> None:
    for wrong in (("cat",), ("host", "--from", "x"), ("host", "--from", "2026-11-26", "--last", "1h")):
        assert report(*wrong)[0] == 2
    code, _, err = report("host", "--csv", tmp_path / "no" / "folder.csv")
    assert code == 2
    assert "cannot be written" in err


def test_a_time_without_blocks_says_so(report: Report) -> None:
    code, out, err = report("host", "--from", "2026-11-26", "--to", "2026-11-27")
    assert (code, out) == (0, "")
    assert "Nothing is known of this time" in err
