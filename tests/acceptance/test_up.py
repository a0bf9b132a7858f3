"""scripts/up and scripts/down: what they print, and that nothing is left."""

from __future__ import annotations

import json
import os
import select
import signal

from scripts_run import Scripts, read_until


def wait_gone(pids: list[int]) -> None:
    """Wait until these processes are gone; fails after a minute."""
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            assert select.select([handle], [], [], 60)[0], f"process {pid} still runs"
        finally:
            os.close(handle)


def test_once_ends_with_one_object_and_leaves_only_logs(scripts: Scripts) -> None:
    done = scripts.up("--once", "--json")
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    outcome = json.loads(line)
    assert outcome["state"] == "Settled"
    assert outcome["task"] == 0
    assert len(bytes.fromhex(outcome["result_digest"])) == 32
    assert outcome["paid"] > 0
    assert 0 < outcome["host_score"] < 1_000_000
    assert outcome["seconds"] > 0
    assert scripts.left() == []


def test_ctrl_c_in_the_middle_of_starting_leaves_nothing(scripts: Scripts) -> None:
    process = scripts.start_up()
    read_until(process.stderr, "Demo image")
    pids = list(scripts.running().values())
    assert len(pids) >= 2
    again = scripts.up("--once")
    assert again.returncode == 1
    assert "a local network is running already" in again.stderr
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in err
    wait_gone(pids)
    assert scripts.left() == []


def test_a_killed_supervisor_takes_its_children_with_it(scripts: Scripts) -> None:
    process = scripts.start_up()
    read_until(process.stderr, "Demo image")
    supervisor, pids = scripts.running()["supervisor"], scripts.processes()
    assert supervisor in pids
    assert len(pids) >= 4
    os.kill(supervisor, signal.SIGKILL)
    process.communicate(timeout=60)
    wait_gone(pids)
    assert scripts.run("down").returncode == 0
    assert scripts.left() == []


def test_down_without_a_network_says_so(scripts: Scripts) -> None:
    done = scripts.run("down")
    assert done.returncode == 0
    assert "No local network is running." in done.stderr
