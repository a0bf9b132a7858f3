"""Firewall rules, bridges, the pod sandbox's image, and logs of several containers."""

import os
import platform
import signal
import subprocess
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node_agent.drivers.docker import static_programs
from node_agent.drivers.docker.pod_network import OrphanBridges
from node_agent.drivers.docker.spec import bridge_name, bridge_prefix
from node_agent.drivers.firewall_rules import POD, THROUGH, name_servers, rules
from node_agent.logs.lines import LineSplitter, merge_logs, with_service

RESOLV = "search x\nnameserver 127.0.0.53\nnameserver 10.1.2.3\nnameserver fe80::1%eth0\nnameserver nonsense\n"


def test_name_servers_on_the_network_are_reached_and_no_other_private_address():
    servers = name_servers(RESOLV)
    assert servers == ("10.1.2.3",)
    through = rules(servers)[THROUGH]
    opened = through.index("-d 10.1.2.3/32 -p udp --dport 53 -j RETURN")
    assert opened < through.index("-d 10.0.0.0/8 -j DROP")
    assert through[-1] == "-d 224.0.0.0/3 -j DROP"


def test_the_bridge_of_a_pod_has_a_name_that_the_rules_meet_and_the_kernel_takes():
    name = bridge_name("5Host", 2**60)
    assert name.startswith(POD.rstrip("+"))
    assert len(name) == 15
    assert name != bridge_name("5Host", 1)
    assert name.startswith(bridge_prefix("5Host"))
    assert not name.startswith(bridge_prefix("5Other"))


def test_a_bridge_without_a_network_in_two_successive_calls_is_an_orphan():
    orphans = OrphanBridges()
    assert orphans.find(frozenset({"a", "b"}), {"a"}) == set()
    assert orphans.find(frozenset({"a", "b", "c"}), {"a"}) == {"b"}
    assert orphans.find(frozenset({"a", "c"}), {"a", "c"}) == set()
    assert orphans.find(frozenset({"a", "c"}), set()) == set()
    assert orphans.find(frozenset({"c"}), {"a"}) == {"c"}


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
def test_the_pod_sandbox_image_is_reproducible(architecture):
    assert static_programs.sandbox_image(architecture) == static_programs.sandbox_image(architecture)
    assert static_programs.sandbox_program(architecture).startswith(b"\x7fELF")


def test_the_pod_sandbox_sleeps_until_it_is_killed(tmp_path):
    if not static_programs.has_sandbox_image(platform.machine()):
        pytest.skip(f"no pod sandbox for {platform.machine()}")
    path = tmp_path / "hold"
    path.write_bytes(static_programs.sandbox_program(platform.machine()))
    path.chmod(0o700)
    with subprocess.Popen([path]) as process:
        # Stopped and continued, as a debugger would: it goes on waiting.
        for number in (signal.SIGSTOP, signal.SIGCONT):
            os.kill(process.pid, number)
        assert process.poll() is None
        process.kill()
        assert process.wait() == -signal.SIGKILL


def test_lines_of_several_containers_are_named_and_in_the_order_of_time():
    one = [b"2026-01-01T00:00:01.0Z a\n", b"[a note]\n", b"2026-01-01T00:00:04.0Z d\n"]
    two = [b"2026-01-01T00:00:02.0Z b\n", b"2026-01-01T00:00:03.0Z c\n"]
    lines = merge_logs([[with_service(line, "web") for line in one], [with_service(line, "db") for line in two]])
    assert b"".join(lines).decode().splitlines() == [
        "2026-01-01T00:00:01.0Z web | a",
        "web | [a note]",
        "2026-01-01T00:00:02.0Z db | b",
        "2026-01-01T00:00:03.0Z db | c",
        "2026-01-01T00:00:04.0Z web | d",
    ]


def test_a_line_without_an_end_is_passed_on_in_parts():
    splitter = LineSplitter(4)
    assert splitter.feed(b"a\nbc") == [b"a\n"]
    assert splitter.feed(b"d\nefghi") == [b"bcd\n", b"efgh\n", b"i\n"]
    assert splitter.end() == []
    assert splitter.feed(b"123456789\n\nx") == [b"1234\n", b"5678\n", b"9\n", b"\n"]
    assert splitter.end() == [b"x\n"]


@given(st.lists(st.binary(max_size=40)))
def test_lines_are_split_the_same_however_they_come(pieces):
    splitter, whole = LineSplitter(1000), b"".join(pieces)
    lines = [line for piece in pieces for line in splitter.feed(piece)] + splitter.end()
    assert b"".join(lines) == whole + b"\n" * (not whole.endswith(b"\n") and bool(whole))
    assert all(line.count(b"\n") == 1 for line in lines)


def test_a_line_that_never_ends_takes_linear_time():
    """Each byte is looked at once: 16 MiB in small pieces took minutes when each piece was added to what was held."""
    for cut in (LineSplitter(1 << 30), LineSplitter(verbatim=True)):
        begun = time.process_time()
        for _ in range(1 << 13):
            cut.feed(b"x" * (1 << 11))
        cut.end()
        assert time.process_time() - begun < 2
