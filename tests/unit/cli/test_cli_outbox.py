import contextlib
import json

import pytest

from offchain.adapters.outbox.intents import IntentTable
from offchain.adapters.outbox.store import Store
from offchain.adapters.outbox.tables import TABLES
from offchain.cli import main as cli
from offchain.ports import Call, SignedExtrinsic


@pytest.fixture
def state(tmp_path, monkeypatch):
    """A worker's folder with one call that waits, one on its way, one given up, and one done."""
    monkeypatch.setenv("GANTRY_STATE", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    folder = tmp_path / "worker"
    with contextlib.closing(Store(folder / "worker.db")) as store:
        store.migrate("outbox", TABLES)
        rows = IntentTable(store, "5Account")
        for n, key in enumerate(["settle:1", "settle:2", "assign:3", "settle:4"]):
            rows.add({key: Call("Tasks", "settle", {"task": n, "raw": b"\1\2"})}, 1_700_000_000_000, ["settle:2"])
        waiting = {intent.key: intent for intent in rows.due(0, 10)}
        assert rows.record_signed([waiting["settle:2"]], SignedExtrinsic(b"x", b"h", "5Account", 0, 46, 77), 0)
        rows.give_up(waiting["assign:3"].seq, "the account cannot pay for it", 40)
    return folder


def gantry(capsys, *arguments):
    code = cli.main(list(map(str, arguments)))
    said = capsys.readouterr()
    return code, said.out, said.err


def test_the_list_shows_queued_sent_and_dead_calls(state, capsys):
    code, out, _ = gantry(capsys, "outbox", "list", "--state-dir", state)
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split()[:3] == ["NUMBER", "STATE", "CALL"]
    assert [line.split()[:2] for line in lines[1:]] == [["1", "queued"], ["2", "sent"], ["3", "dead"], ["4", "queued"]]
    assert " 77 " in lines[2]
    assert "cannot pay" in lines[3]
    code, out, _ = gantry(capsys, "outbox", "list", "--dead", "--json", "--state-dir", state)
    (letter,) = [json.loads(line) for line in out.splitlines()]
    assert letter["reason"] == "the account cannot pay for it"
    assert letter["args"] == {"task": 2, "raw": "0x0102"}


def test_a_dead_letter_is_retried_and_a_queued_call_is_dropped(state, capsys):
    code, out, _ = gantry(capsys, "outbox", "retry", "3", "--state-dir", state)
    assert (code, out) == (0, "Call 3 (assign:3) is sent again.\n")
    code, out, _ = gantry(capsys, "outbox", "drop", "1", "4", "--state-dir", state, "--json")
    assert [json.loads(line)["number"] for line in out.splitlines()] == [1, 4]
    _, out, _ = gantry(capsys, "outbox", "list", "--json", "--state-dir", state)
    assert [json.loads(line)["state"] for line in out.splitlines()] == ["dead", "sent", "queued", "dead"]
    code, _, _ = gantry(capsys, "outbox", "drop", "--all", "--state-dir", state)
    _, out, _ = gantry(capsys, "outbox", "list", "--json", "--state-dir", state)
    assert [json.loads(line)["number"] for line in out.splitlines()] == [2, 3]


def test_a_sent_call_cannot_be_retried_or_dropped(state, capsys):
    code, _, err = gantry(capsys, "outbox", "drop", "2", "--state-dir", state)
    assert code == 1
    assert "a block up to 77 may hold it" in err


def test_wrong_arguments_are_reported(state, capsys, tmp_path):
    for arguments in (["retry"], ["retry", "1", "--all"]):
        code, _, err = gantry(capsys, "outbox", *arguments, "--state-dir", state)
        assert code == 2
        assert "--all" in err
    code, _, err = gantry(capsys, "outbox", "drop", "99", "--state-dir", state)
    assert "no call 99" in err
    code, _, err = gantry(capsys, "outbox", "list", "--state-dir", tmp_path / "none")
    assert code == 1
    assert "--state-dir" in err
    assert not (tmp_path / "none").exists()
    code, _, err = gantry(capsys, "outbox", "list")
    assert "no worker's or agent's database" in err


@pytest.mark.usefixtures("state")
def test_default_folders_are_listed_but_changes_need_a_choice(capsys, tmp_path):
    usual = tmp_path / ".local" / "state" / "gantry"
    for name in ("scheduler", "settler"):
        with contextlib.closing(Store(usual / name / "worker.db")) as store:
            store.migrate("outbox", TABLES)
            IntentTable(store, "5A").add({name: Call("Tasks", "settle", {})}, 0)
    _, out, _ = gantry(capsys, "outbox", "list", "--json")
    assert [json.loads(line)["key"] for line in out.splitlines()] == ["scheduler", "settler"]
    code, _, err = gantry(capsys, "outbox", "drop", "1")
    assert code == 2
    assert "--state-dir" in err


def test_an_empty_outbox_is_reported(capsys, tmp_path):
    with contextlib.closing(Store(tmp_path / "agent.db")):
        pass
    code, out, _ = gantry(capsys, "outbox", "list", "--state-dir", tmp_path)
    assert (code, out) == (0, "No call waits, and none was given up.\n")
