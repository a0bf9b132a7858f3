"""The supervisor as a process: it starts again what ends, anew on demand, and leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from node_agent.install.service import SupervisedService
from node_agent.install.supervise import LOG
from offchain.devnet.paths import ROOT
from offchain.processes import end, start_time
from offchain.supervisor import Child, tail_log

PATIENCE_S = 30.0
SUPERVISE = """
import sys
from pathlib import Path
from node_agent.install.supervise import supervise
supervise([sys.executable, "-c", sys.argv[2]], Path(sys.argv[1]))
"""
AGENT = "import os, signal; print('up', os.getpid(), flush=True); signal.pause()"
STUBBORN = (
    "import os, signal, time; signal.signal(15, signal.SIG_IGN); print('up', os.getpid(), flush=True); time.sleep(600)"
)
SHORT = "print('up and away', flush=True)"


def until(holds):
    limit_s = time.monotonic() + PATIENCE_S
    while not (found := holds()):
        assert time.monotonic() < limit_s
        time.sleep(0.02)
    return found


@pytest.fixture
def supervise(tmp_path):
    started = []

    def start(program):
        log = tmp_path / LOG
        command = [sys.executable, "-c", SUPERVISE, str(tmp_path), program]
        started.append(subprocess.Popen(command, cwd="/", env={**os.environ, "PYTHONPATH": str(ROOT)}))
        return started[-1], log

    yield start
    for process in started:
        process.kill()
        process.wait()


def ups(log):
    text = log.read_text() if log.exists() else ""
    return [int(line.split()[1]) for line in text.splitlines() if line.startswith("up ") and line[3:].isdecimal()]


def test_what_is_killed_is_started_again_and_sigterm_ends_both(supervise):
    process, log = supervise(AGENT)
    (first,) = until(lambda: ups(log))
    os.kill(first, signal.SIGKILL)
    second = until(lambda: ups(log)[1:])[0]
    assert "ended with status -9" in log.read_text()
    process.terminate()
    assert process.wait(PATIENCE_S) == 0
    assert start_time(second) is None


def test_sighup_restarts_the_agent_at_once(supervise):
    process, log = supervise(AGENT)
    (first,) = until(lambda: ups(log))
    process.send_signal(signal.SIGHUP)
    assert until(lambda: ups(log)[1:]) != [first]
    assert start_time(first) is None


def test_a_supervisor_that_is_killed_takes_the_agent_with_it(supervise):
    process, log = supervise(AGENT)
    (child,) = until(lambda: ups(log))
    process.kill()
    process.wait()
    until(lambda: start_time(child) is None)


def test_what_ends_at_once_is_started_later_and_later(supervise):
    _, log = supervise(SHORT)
    until(lambda: log.exists() and log.read_text().count("starting it again") >= 3)
    pauses = [float(line.split()[-2]) for line in log.read_text().splitlines() if "starting it again" in line]
    assert pauses == sorted(pauses)
    assert pauses[2] > pauses[0]


def test_a_process_that_ignores_sigterm_is_ended(tmp_path):
    out = tmp_path / "out"
    with out.open("wb") as said, subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=said) as process:
        until(lambda: ups(out))
        began = start_time(process.pid)
        assert end(process.pid, began=began, term_s=0.1)
        assert process.wait() == -signal.SIGKILL


def test_a_pid_that_was_given_to_another_is_left_alone():
    assert end(os.getpid(), began=1, term_s=0.1)


def test_a_log_is_bounded_and_read_across_its_files(tmp_path):
    child = Child("agent", [], log=tmp_path / "logs", run=None, env={}, log_bytes=100)
    child.log_path.parent.mkdir()
    with child.log_path.open("a", buffering=1) as log:  # stays open, as in a program that runs
        for number in range(100):
            log.write(f"line {number}\n")
            child.rotate_log()
    files = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert files == ["agent.log", "agent.log.1", "agent.log.2"]
    assert all(path.stat().st_size <= 110 for path in (tmp_path / "logs").iterdir())
    assert tail_log(tmp_path / "logs/agent.log", 15) == [f"line {number}" for number in range(85, 100)]
    assert tail_log(tmp_path / "logs/none.log", 3) == []


def test_the_service_starts_stops_and_shows_its_log(tmp_path):
    (tmp_path / "agent.json").write_text("{")  # the agent ends at once, and the supervisor minds it all the same
    service = SupervisedService(tmp_path)
    assert not service.running()
    service.stop()
    service.start()
    try:
        first = json.loads((tmp_path / "supervisor.json").read_text())["pid"]
        service.start()
        assert json.loads((tmp_path / "supervisor.json").read_text())["pid"] == first
        until(lambda: (tmp_path / LOG).exists() and "SUPERVISOR" in (tmp_path / LOG).read_text())
        assert any("SUPERVISOR" in line for line in service.log(100, follow=False))
        follower = service.log(0, follow=True)
        service.restart()
        assert next(follower)
    finally:
        service.remove()
    assert not service.running()
    assert start_time(first) is None
