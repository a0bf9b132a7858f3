"""Logs, snapshots, files and results of a pod, from a real host on loopback whose pods are in memory."""

import dataclasses
import io
import json
import re
from pathlib import Path

import cli_world
import pytest
from pod_host import CHARLIE

from offchain.adapters.keys import sealed_box
from offchain.adapters.transport.port import refused
from offchain.cli.kit import accounts
from offchain.cli.kit.output import size_text
from offchain.cli.tenant import task
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id
from offchain.schema.protocol.messages import Code
from tests.support.chain_records import Tasks, task_spec


@pytest.mark.usefixtures("host")
def test_options_of_logs_reach_the_host(world):
    status, out, _ = world.run("logs", "0", *CHARLIE, "--tail", "5", "--since", "2026-01-01T00:00+00:00", "-f")
    assert (status, json.loads(out)) == (0, [5, 1_767_225_600_000, True, None])
    assert world.run("task", "logs", "0", *CHARLIE)[:2] == (0, "[null, null, false, null]")
    assert world.run("logs", "0", *CHARLIE, "--service", "db")[:2] == (0, '[null, null, false, "db"]')


def test_a_snapshot_is_taken_shown_restored_and_removed(world, host):
    taken = world.run("task", "snapshot", "0", "--name", "before", *CHARLIE)
    assert taken[0] == 0
    assert "2.5 MB of the rental's disk" in taken[1]
    assert "gantry task restore 0 --name before" in taken[1]
    by_time = world.json("task", "snapshot", "0", *CHARLIE)["snapshots"][1]["name"]
    assert re.fullmatch(r"\d{8}-\d{6}", by_time)
    restored = world.run("task", "restore", "0", "--name", "before", *CHARLIE)
    assert "starts again as it was in before" in restored[1]
    assert host.there.current == "before"
    assert world.json("task", "restore", "0", *CHARLIE)["current"] == by_time
    _, shown, _ = world.run("task", "snapshot", "0", "--list", *CHARLIE)
    assert shown.splitlines()[1].split()[:2] == ["before", "2023-11-14"]
    assert shown.splitlines()[2].endswith("the machine is made of it")
    removed = world.run("task", "snapshot", "0", "--remove", "before", *CHARLIE)
    assert (removed[0], removed[1]) == (0, "There is no snapshot before of task 0 any more.\n")
    assert [one.name for one in host.there.snapshots] == [by_time]


def test_a_snapshot_is_fetched_to_a_file_that_is_not_there_yet(world, host, tmp_path):
    file = tmp_path / "machine.tar"
    assert "no snapshot of task 0" in world.run("task", "snapshot", "0", "--save", file, *CHARLIE)[2]
    for name in ("one", "two"):
        world.json("task", "snapshot", "0", "--name", name, *CHARLIE)
    told = world.json("task", "snapshot", "0", "--save", file, *CHARLIE)
    assert (told["name"], file.read_bytes()) == ("two", b"archive of two")
    assert "already exists" in world.run("task", "snapshot", "0", "--save", file, *CHARLIE)[2]
    world.json("task", "snapshot", "0", "--name", "one", "--save", tmp_path / "one.tar", *CHARLIE)
    assert (tmp_path / "one.tar").read_bytes() == b"archive of one"
    assert sorted(path.name for path in tmp_path.glob("*.tar")) == ["machine.tar", "one.tar"]
    assert not list(tmp_path.glob(".*"))
    assert len(host.there.snapshots) == 2


@pytest.mark.parametrize(
    "wrong", [("--list", "--remove", "x"), ("--name", "x", "--list"), ("--name", "Wrong Name"), ("--remove", "../x")]
)
def test_contradictory_options_are_refused_before_the_host_is_asked(world, host, wrong):
    assert world.run("task", "snapshot", "0", *wrong, *CHARLIE)[0] == 2
    assert host.asked == []


def test_a_followed_log_continues_with_the_next_run_of_a_preempted_pod(world, host, monkeypatch):
    tasks, asked = Tasks(world.chain), []

    async def said(request, session):
        asked.append((request.lease, request.args.tail))
        session.accept()
        await session.write(b"run %d\n" % len(asked))
        if len(asked) == 1:
            again = dataclasses.replace(tasks.get(0).leases[0], generation=1)
            tasks.change(0, leases=(again,), generation=1)
            raise refused(Code.UNKNOWN_LEASE, "Lease 0 is not one of this host any more.", "")

    monkeypatch.setattr(host, "said", said)
    status, out, err = world.run("logs", "0", *CHARLIE, "--follow", "--tail", "5")
    assert (status, out) == (0, "run 1\nrun 2\n")
    assert asked == [(lease_id(0, 0, 0), 5), (lease_id(0, 0, 1), None)]
    assert f"Pod 0 of task 0 runs on {cli_world.HOST}" in err


def test_a_log_that_breaks_off_during_its_lease_is_an_error(world, host, monkeypatch):
    async def said(_request, session):
        session.accept()
        await session.write(b"begun\n")
        raise refused(Code.INTERNAL, "The log cannot be read.", "Try again.")

    monkeypatch.setattr(host, "said", said)
    status, out, err = world.run("logs", "0", *CHARLIE, "--follow")
    assert (status, out) == (1, "begun\n")
    assert "The log cannot be read" in err


def test_a_log_that_breaks_off_after_its_task_ended_is_complete(world, host, monkeypatch):
    async def said(_request, session):
        session.accept()
        await session.write(b"begun\n")
        Tasks(world.chain).change(0, state=gen.TaskStateCancelled(), leases=())
        raise refused(Code.UNKNOWN_LEASE, "Lease 0 is not one of this host any more.", "")

    monkeypatch.setattr(host, "said", said)
    assert world.run("logs", "0", *CHARLIE, "--follow") == (0, "begun\n", "")


class Terminal(io.TextIOWrapper):
    """A standard output that says that it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize("command", [("logs", "0"), ("task", "logs", "0")])
@pytest.mark.usefixtures("host")
def test_a_log_is_escaped_on_a_terminal_and_unchanged_in_a_file(world, host, monkeypatch, command):
    attack = b"\x1b]0;owned\x07\x1b[31mred\x1b[2J\n"

    async def hostile(_request, session):
        session.accept()
        for byte in attack:
            await session.write(bytes([byte]))

    monkeypatch.setattr(host, "said", hostile)
    shown = io.BytesIO()
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", Terminal(shown))
        world.run(*command, *CHARLIE)
        assert shown.getvalue() == b"\\x1b]0;owned\\x07\x1b[31mred\\x1b[2J\n\x1b[0m"
    assert world.run(*command, *CHARLIE)[1].encode() == attack


@pytest.mark.usefixtures("host")
def test_answers_of_a_host_are_escaped_on_a_terminal(world, host, monkeypatch):
    async def hostile(_request, _session):
        raise refused(Code.NOT_READY, "\x1b[2JIt is done.", "Type \x9b6n")

    monkeypatch.setattr(host, "said", hostile)
    status, out, err = world.run("logs", "0", *CHARLIE)
    assert (status, out) == (1, "")
    assert "\\x1b[2JIt is done." in err
    assert "Type \\x9b6n" in err


def test_files_are_copied_both_ways(world, host, tmp_path):
    source = tmp_path / "src"
    (source / "deep").mkdir(parents=True)
    (source / "deep" / "file").write_bytes(b"x" * 100_000)
    host.pod.folders.add("/data")
    assert world.run("cp", source, "0:/data/", *CHARLIE)[0] == 0
    assert host.pod.files == {"/data/src/deep/file": b"x" * 100_000}
    assert "100.0 kB copied to" in world.run("cp", source, "0:/data/again", *CHARLIE)[2]
    del host.pod.files["/data/again/deep/file"]
    told = world.json("cp", "0:/data/src/deep/file", tmp_path / "back", *CHARLIE)
    assert (told["target"], (tmp_path / "back").read_bytes()) == (str(tmp_path / "back"), b"x" * 100_000)
    assert world.run("cp", "0:/data/src", tmp_path / "tree", *CHARLIE)[0] == 0
    assert (tmp_path / "tree" / "deep" / "file").read_bytes() == b"x" * 100_000
    status, _, err = world.run("cp", "0:/data/src", tmp_path / "tree" / "deep" / "file" / "no", *CHARLIE)
    assert (status, "does not exist" in err) == (1, True)
    assert not [path.name for path in tmp_path.iterdir() if "part" in path.name]


def test_files_are_delivered_sealed(world, host, tmp_path, monkeypatch):
    secret = tmp_path / "secret"
    secret.write_bytes(b"hunter2")
    assert world.json("deliver", "0", "db_password", secret, *CHARLIE)["pods"] == [0]
    assert host.delivered == {"db_password": b"hunter2"}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"piped")))
    assert world.run("deliver", "0", "other", "-", *CHARLIE)[0] == 0
    assert host.delivered["other"] == b"piped"


def test_sizes_are_written_for_people():
    assert [size_text(n) for n in (0, 999, 1000, 1_500_000, 2 * 10**12)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "1.5 MB",
        "2.0 TB",
    ]


# --- sealed results ---------------------------------------------------------------------------------------------------


def test_a_seal_key_is_created_once_and_only_its_owner_reads_it(world):
    first = world.json("account", "seal-key", "mine")
    again = world.json("account", "seal-key", "mine")
    assert (first["made"], again["made"], first["seal_to"]) == (True, False, again["seal_to"])
    assert Path(first["file"]).stat().st_mode & 0o777 == 0o600
    sealed = sealed_box.seal(bytes.fromhex(first["seal_to"]), b"result")
    assert sealed_box.open_sealed(accounts.open_seal_key("mine"), sealed) == b"result"
    Path(first["file"]).chmod(0o644)
    assert "chmod 600" in world.run("account", "seal-key", "mine")[2]


def test_a_sealed_result_is_opened_by_its_key(world, monkeypatch):
    public = bytes.fromhex(world.json("account", "seal-key", "mine")["seal_to"])
    sealed = sealed_box.seal(public, b"the answer")

    async def fetch(*_args):
        return sealed

    monkeypatch.setattr(task, "fetch_result", fetch)
    tasks = Tasks(world.chain)
    tasks.submit(cli_world.CHARLIE, task_spec(), now=1)
    tasks.change(0, state=gen.TaskStateReported(), leases=(cli_world.the_lease(0, data=sealed),))
    assert world.run("task", "result", "0", *CHARLIE, "--seal-key", "mine")[:2] == (0, "the answer")
    assert world.json("account", "seal-key", "other")
    status, _, err = world.run("task", "result", "0", *CHARLIE, "--seal-key", "other")
    assert (status, "does not open it" in err) == (1, True)
