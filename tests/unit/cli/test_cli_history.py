import csv
import io
import json
import sys

import pytest
from sqlalchemy import text

from offchain.cli import main as cli
from offchain.indexer.engines import open_index
from tests.support.history_blocks import HOSTS, TENANTS
from tests.support.pdf_text import pdf_text


@pytest.fixture
def history(index, capsys, monkeypatch):
    monkeypatch.setenv("GANTRY_INDEX", str(index))

    def ask(*arguments):
        code = cli.main(["history", *map(str, arguments)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return ask


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_the_history_of_a_task_as_text_json_and_csv(history):
    _, out, _ = history("events", "--pallet", "Tasks", "--name", "Settled", "--limit", 1, "--json")
    number = json.loads(out)["fields"]["task"]
    code, out, _ = history("task", number, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["task"]["state"] == "Settled"
    assert sum(bill["paid"] for bill in told["bills"]) == told["task"]["paid"]
    assert told["up_to_block"] == 39
    code, out, _ = history("task", number)
    assert "Submitted by" in out
    assert "Settled." in out
    assert f"Task       {number}" in out
    code, out, _ = history("task", number, "--csv")
    assert [row["event"] for row in rows(out)] == [event["event"] for event in told["events"]]


def test_a_host_s_leases_and_earnings(history):
    _, out, _ = history("host", HOSTS[0], "--json")
    told = json.loads(out)
    assert told["host"]["earned"] == sum(lease["paid"] - lease["fee"] for lease in told["leases"])
    _, out, _ = history("host", HOSTS[0], "--csv")
    assert [int(row["lease"]) for row in rows(out)] == [lease["lease"] for lease in told["leases"]]
    code, out, _ = history("host", HOSTS[0])
    assert code == 0
    assert "Earned" in out


def test_an_account_s_coins(history):
    _, out, _ = history("account", TENANTS[0], "--json")
    told = json.loads(out)
    assert told["tasks"]
    _, out, _ = history("account", TENANTS[0], "--csv")
    assert [int(row["amount"]) for row in rows(out)] == [one["amount"] for one in told["transfers"]]
    assert "OUT OF" in history("account", TENANTS[0])[1]
    _, out, _ = history("account", "5Nobody", "--json")
    assert json.loads(out)["transfers"] == []


def test_events_are_filtered(history):
    _, out, _ = history("events", "--from-block", 3, "--to-block", 4, "--json")
    assert {json.loads(line)["block"] for line in out.splitlines()} == {3, 4}
    _, out, _ = history("events", "--name", "ItemRefused", "--limit", 2)
    assert out.count("Tasks.NotQueued") == 2
    _, out, _ = history("events", "--name", "ItemRefused", "--limit", 2, "--csv")
    assert rows(out)[0]["failure"] == "Tasks.NotQueued"


def test_the_index_follows_from_its_events(history):
    code, out, _ = history("verify")
    assert code == 0
    assert "row by row" in out


def test_a_modified_index_is_detected(tmp_path, index, history, monkeypatch):
    changed = tmp_path / "changed.db"
    changed.write_bytes(index.read_bytes())
    db = open_index(str(changed))
    db.execute(text("UPDATE tasks SET paid = '1' WHERE task = 0"))
    db.close()
    monkeypatch.setenv("GANTRY_INDEX", str(changed))
    code, out, err = history("verify", "--json")
    assert code == 1
    assert json.loads(out.splitlines()[0])["same"] is False
    assert "does not match its events" in err


def test_unknown_subjects_and_wrong_options_are_reported(history, tmp_path):
    code, _, err = history("task", 10**6)
    assert code == 1
    assert "up to block 39" in err
    assert "no host 5Nobody" in history("host", "5Nobody")[2]
    assert history("task", 1, "--json", "--csv")[0] == 2
    code, _, err = history("events", "--index", tmp_path / "none.db")
    assert code == 1
    assert "gantry worker indexer" in err
    code, _, err = history("events", "--index", "postgresql://me:secret@db/gantry")
    assert code == 2
    assert "secret" not in err


def test_a_statement_is_written_as_pdf_and_csv(history, tmp_path):
    pdf, table = tmp_path / "coins.pdf", tmp_path / "coins.csv"
    code, out, err = history("statement", TENANTS[0], "-o", pdf)
    assert code == 0, err
    assert f"of {TENANTS[0]} up to block 39" in out
    _, out, _ = history("statement", TENANTS[0], "-o", table, "--json")
    told = json.loads(out)
    found = rows(table.read_text())
    assert (told["movements"], told["block"], told["bytes"]) == (len(found), 39, table.stat().st_size)
    text = pdf_text(pdf.read_bytes())
    assert found
    assert all(f" {row['block']}.{row['index']} " in text for row in found)
    before = pdf.read_bytes()
    history("statement", TENANTS[0], "-o", pdf)
    assert pdf.read_bytes() == before
    day = found[-1]["time"][:10]
    history("statement", TENANTS[0], "--from", day, "--to", day, "-o", table)
    assert rows(table.read_text()) == [row for row in found if row["time"].startswith(day)]
    history("statement", TENANTS[0], "--from", "2001-01-01", "-o", table)
    assert rows(table.read_text()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        (TENANTS[0],),
        (TENANTS[0], "-o", "coins.xls"),
        (TENANTS[0], "-o", "coins.csv", "--from", "1.2.2026"),
        (TENANTS[0], "-o", "coins.csv", "--from", "2026-02-02", "--to", "2026-02-01"),
        ("nobody", "-o", "coins.csv"),
    ],
)
def test_malformed_arguments_of_a_statement_are_usage_errors(history, arguments):
    assert history("statement", *arguments)[0] == 2


def test_a_statement_without_the_package_says_what_to_install(history, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fpdf", None)
    code, _, err = history("statement", TENANTS[0], "-o", tmp_path / "coins.pdf")
    assert (code, "gantry[statements]" in err) == (1, True)
    assert not (tmp_path / "coins.pdf").exists()
