"""Commands that go to a pod, against a real host on loopback whose pods are in memory."""

import asyncio
import contextlib
import dataclasses
import io
import json
import os
import re
import socket
import threading
import time
from pathlib import Path

import cli_world
import pytest

from node_agent.drivers.fake.access import FakeAccess, FakePod
from node_agent.handlers.pod_requests import PodRequests
from node_agent.handlers.resumable import send_from
from offchain.adapters.keys import sealed_box, ss58
from offchain.adapters.keys.signer import from_uri, verify
from offchain.adapters.transport.host_server import HostServer
from offchain.adapters.transport.multi_transport import MultiTransport
from offchain.adapters.transport.port import refused
from offchain.cli.kit import accounts, terminal
from offchain.cli.kit.output import size_text
from offchain.cli.kit.terminal import DisconnectKeys
from offchain.cli.tenant import forward, task
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id
from offchain.schema.protocol.messages import Code, Op, endpoint_text
from offchain.schema.protocol.snapshots import RentalSnapshot, SnapshotAction, Snapshots
from tests.support.chain_records import Tasks, task_spec

HOST = from_uri("//Host", "ed25519")
CHARLIE = ("--account", "//Charlie")


async def cat(_argv, io_):
    while data := await io_.read():
        await io_.write(data)
    return 0


async def sh(argv, io_):
    await io_.write(b"out " + argv[-1].encode(), 1)
    await io_.write(b"err\n", 2)
    return 3


async def shell(_argv, io_):
    """Says what it is told, and its size, until exit."""
    await io_.write(b"%d x %d\r\n" % io_.size)
    while (typed := await io_.read()) and b"exit" not in typed:
        await io_.write(b"<" + typed + b">")
    return 5


async def upper(reader, send):
    while data := await reader.read(1 << 16):
        send(data.upper())


class RealHost:
    """A host's server in a thread of its own, for commands that bring their own loop."""

    def __init__(self, folder, chain_genesis):
        self.pod = FakePod({"cat": cat, "sh": sh, "top": shell}, {80: upper})
        self.delivered, self.asked = {}, []
        self.ended = False
        self.said = None
        self.there = Snapshots((), None)
        self._folder, self._genesis = folder, chain_genesis
        self._ready, self._thread = threading.Event(), threading.Thread(target=lambda: asyncio.run(self._main()))
        self.addresses = ()

    async def _main(self):
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        transport = await self._listen()
        access = PodRequests(FakeAccess({cli_world.LEASE: self.pod}), self._folder, HOST, self._deliver)
        server = HostServer(
            transport,
            genesis_hash=self._genesis,
            authorise=self._authorise,
            handlers={**access.handlers(), Op.LOGS: self._logs, Op.SNAPSHOT: self._snapshot, Op.IMAGE: self._image},
            verify=lambda account, crypto, payload, signature: verify(ss58.decode(account), crypto, payload, signature),
            now_ms=lambda: time.time_ns() // 1_000_000,
            recheck_s=0.05,
        )
        serving = asyncio.create_task(server.serve())
        self.addresses = transport.addresses
        self._ready.set()
        await self._stop.wait()
        await server.close()
        await serving
        await access.close()

    async def _listen(self):
        return await MultiTransport.bind(HOST.seed(), "127.0.0.1:0")

    async def _authorise(self, request):
        self.asked.append(request)
        if request.account != cli_world.CHARLIE:
            raise refused(Code.NOT_YOUR_LEASE, "Not your lease.", "Sign as its tenant.")
        if self.ended:
            raise refused(Code.LEASE_ENDED, "The lease has ended.", "Its log is still there.")

    async def _logs(self, request, session):
        if self.said is not None:
            await self.said(request, session)
            return
        session.accept()
        args = request.args
        await session.write(json.dumps([args.tail, args.since_ms, args.follow, args.service]).encode())

    async def _snapshot(self, request, session):
        """A host that does what it is asked, without a machine behind it."""
        args, now = request.args, {one.name: one for one in self.there.snapshots}
        match args.act:
            case SnapshotAction.TAKE:
                now[args.name] = RentalSnapshot(
                    args.name, 1_700_000_000_000 + len(now), 2_500_000, f"sha256:{'ab' * 32}"
                )
            case SnapshotAction.REMOVE:
                now.pop(args.name)
        current = args.name if args.act is SnapshotAction.RESTORE else self.there.current
        self.there = Snapshots(tuple(now.values()), current)
        session.accept()
        await session.write(self.there.encode())

    async def _image(self, request, session):
        async def archive():
            yield f"archive of {request.args.name}".encode()

        await send_from(session, archive(), request.args.offset, request.args.digest, "it")

    async def _deliver(self, _lease, name, data):
        self.delivered[name] = data

    @contextlib.contextmanager
    def running(self):
        self._thread.start()
        assert self._ready.wait(30)
        try:
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(30)


@pytest.fixture
def host(world, tmp_path):
    with RealHost(tmp_path / "uploads", world.chain.genesis).running() as made:
        world.put("Hosts", "Hosts", cli_world.HOST, cli_world.the_host(endpoint=endpoint_text(made.addresses)))
        tasks = Tasks(world.chain)
        tasks.submit(cli_world.CHARLIE, task_spec(), now=1)
        running = dataclasses.replace(cli_world.the_lease(0), state=gen.LeaseStateActive(), ended_at=None, result=None)
        tasks.change(0, state=gen.TaskStateRunning(), leases=(running,))
        yield made


@pytest.fixture
def stdin(monkeypatch):
    """What is piped into a command."""
    made = []

    def feed(data):
        reading, writing = os.pipe()
        os.write(writing, data)
        os.close(writing)
        monkeypatch.setattr(terminal, "_STDIN", reading)
        made.append(reading)

    yield feed
    for end in made:
        os.close(end)


@pytest.mark.usefixtures("host")
def test_exec_passes_input_outputs_and_the_exit_code(world, stdin):
    stdin(b"")
    assert world.run("exec", "0", *CHARLIE, "--", "sh", "-c", "$HOME; x") == (3, "out $HOME; x", "err\n")
    stdin(b"typed")
    assert world.run("exec", "0", *CHARLIE, "cat") == (0, "typed", "")
    stdin(b"")
    status, out, _ = world.run("exec", "0", *CHARLIE, "--json", "--", "sh", "x")
    assert (status, json.loads(out)) == (
        3,
        {"task": 0, "pod": 0, "exit_code": 3, "stdout": "out x", "stderr": "err\n"},
    )


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("exec", "0", "--account", "//Bob", "--", "cat"), "Not your lease"),
        (("exec", "0", *CHARLIE, "--service", "nope", "--", "cat"), "nope"),
        (("exec", "0", *CHARLIE, "--pod", "3", "--", "cat"), "pod 3"),
        (("exec", "5", *CHARLIE, "--", "cat"), "no task 5"),
        (("shell", "0", *CHARLIE), "gantry exec 0"),
        (("forward", "0", "http", *CHARLIE), "8080:80"),
        (("forward", "0", "99999", *CHARLIE), "99999 is out of range: a port is a number from 1 to 65535"),
        (("cp", "a", "b", *CHARLIE), "7:/data/file"),
        (("cp", "a", "0:relative", *CHARLIE), "absolute"),
        (("cp", "/nowhere/x", "0:/", *CHARLIE), "/nowhere/x"),
        (("cp", "0:/nowhere", ".", *CHARLIE), "/nowhere"),
        (("cp", "0:/", ".", *CHARLIE), "names no file"),
        (("logs", "0", "--since", "yesterday", *CHARLIE), "10m"),
        (("deliver", "0", "x", "/nowhere/x", *CHARLIE), "/nowhere/x"),
        (("task", "result", "0", "--seal-key", "nope", *CHARLIE), "nope"),
    ],
)
@pytest.mark.usefixtures("host")
def test_errors_are_printed_with_a_hint(world, stdin, command, said):
    stdin(b"")
    status, _, err = world.run(*command)
    assert status != 0
    assert said in err


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


def test_a_port_is_forwarded_until_the_lease_ends(world, host, monkeypatch):
    """The command says where it listens; then it is used, the lease ends, and the command with it."""
    results, users = [], []

    def use(value):
        def work():
            with socket.create_connection(("127.0.0.1", int(value["local"].rpartition(":")[2])), timeout=60) as made:
                made.sendall(b"hello")
                made.shutdown(socket.SHUT_WR)
                results.append(b"".join(iter(lambda: made.recv(100), b"")))
            host.ended = True
            with socket.create_connection(("127.0.0.1", int(value["local"].rpartition(":")[2])), timeout=60) as made:
                results.append(made.recv(100))

        users.append(threading.Thread(target=work))
        users[0].start()

    monkeypatch.setattr(forward, "emit", use)
    status, _, err = world.run("forward", "0", "0:80", *CHARLIE, "--json")
    users[0].join()  # the command may end before its user has seen that
    assert results == [b"HELLO", b""]
    assert (status, "lease has ended" in err) == (1, True)


@pytest.mark.usefixtures("host")
def test_a_port_in_use_is_reported(world):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, _, err = world.run("forward", "0", f"{port}:80", *CHARLIE)
    assert (status, str(port) in err, "0:80" in err) == (1, True, True)


@pytest.fixture
def keyboard(monkeypatch):
    """A terminal at the command's input; gives the end where the keys are."""
    master, slave = os.openpty()
    monkeypatch.setattr(terminal, "_STDIN", slave)
    monkeypatch.setattr(terminal, "_STDOUT", slave)
    yield master
    os.close(master)
    os.close(slave)


@pytest.mark.usefixtures("host")
def test_a_shell_has_a_terminal_of_the_right_size_and_an_exit_code(world, keyboard, monkeypatch):
    monkeypatch.setattr(terminal, "size", lambda: (11, 22))
    seen, keys = bytearray(), [b"hi", b"exit"]

    async def show(data, **_how):
        seen.extend(data)
        if seen.endswith((b"\r\n", b">")) and keys:
            os.write(keyboard, keys.pop(0))

    monkeypatch.setattr(terminal, "write_output", show)
    assert world.run("shell", "0", *CHARLIE, "--", "top")[0] == 5
    assert seen == b"11 x 22\r\n<hi>"


@pytest.mark.usefixtures("host")
def test_a_shell_that_hangs_is_left_with_tilde_and_dot(world, keyboard, monkeypatch):
    async def show(*_shown, **_how):
        os.write(keyboard, b"\r~.")

    monkeypatch.setattr(terminal, "write_output", show)
    assert world.run("shell", "0", *CHARLIE, "--", "top")[0] == 0


@pytest.mark.parametrize(
    ("typed", "sent", "left"),
    [
        (b"ls\r", b"ls\r", False),
        (b"~.", b"", True),
        (b"a~.", b"a~.", False),
        (b"a\r~.", b"a\r", True),
        (b"~~.", b"~.", False),
        (b"~x", b"~x", False),
        (b"\n~", b"\n", False),
    ],
)
def test_tilde_and_dot_are_recognised_at_the_beginning_of_a_line(typed, sent, left):
    for cuts in ([typed], [typed[i : i + 1] for i in range(len(typed))]):
        escape, got, out = DisconnectKeys(), b"", False
        for piece in cuts:
            some, out = escape.feed(piece)
            got += some
            if out:
                break
        assert (got, out) == (sent, left)


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
