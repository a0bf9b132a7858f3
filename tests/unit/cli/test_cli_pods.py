"""Commands in a pod and ports of it, on a real host on loopback whose pods are in memory."""

import json
import os
import socket
import threading

import pytest
from pod_host import CHARLIE

from offchain.cli.kit import terminal
from offchain.cli.kit.terminal import DisconnectKeys
from offchain.cli.tenant import forward


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
