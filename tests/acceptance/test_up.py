"""scripts/up and scripts/down: what they print, and that nothing is left."""

import json
import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from scripts_run import Scripts, read_until

from offchain.adapters.keys.signer import from_uri
from tests.support.fast_chain import write_fast_genesis


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


def statement_of(account: str, scripts: Scripts) -> bytes:
    """Return the statement of an account as PDF, from the gateway of the local network."""
    url = (scripts.state / "gateway" / "api-url").read_text(encoding="utf-8").strip()
    with urlopen(f"{url}/v1/accounts/{account}/statement.pdf", timeout=60) as answer:  # noqa: S310  (a URL of this test's own process)
        return bytes(answer.read())


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


def test_the_host_is_verified_by_a_challenge_while_the_network_is_up(scripts: Scripts) -> None:
    process = scripts.start_up()
    lines = read_until(process.stderr, "Host verified")
    assert any(line.startswith("Verifiers") for line in lines)
    # Its heartbeats and the demo's pods were not disturbed by the challenge.
    host = json.loads(scripts.run("gantry", "host", "list", "--attested", "--json").stdout)
    assert host["status"] == "Online"
    assert host["challenged"] is None
    assert statement_of(from_uri("//Alice").address, scripts).startswith(b"%PDF-")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in err
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
    assert process.returncode == 130
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


STAGES = (
    "Release",
    "Docker engine",
    "Node",
    "Gateway",
    "Workers",
    "Demo image",
    "Host",
    "Agent",
    "Host online",
    "Task",
    "Verifiers",
)
"""Lines of scripts/up, in the order of a usual start."""


@pytest.fixture(scope="module")
def killed_again_and_again() -> Iterator[Scripts]:
    """One state folder for all stages: each starts where the one before was killed and cleaned up."""
    with tempfile.TemporaryDirectory(prefix="gantry-a-") as folder:
        found = Scripts(Path(folder) / "net", genesis=write_fast_genesis(Path(folder) / "genesis.json"))
        yield found
        assert found.run("down").returncode == 0


@pytest.mark.parametrize("stage", STAGES)
def test_down_leaves_nothing_of_a_network_whose_supervisor_was_killed(
    killed_again_and_again: Scripts, stage: str
) -> None:
    scripts = killed_again_and_again
    process = scripts.start_up()
    read_until(process.stderr, stage)
    # The script becomes the supervisor.
    process.kill()
    done = scripts.run("down")
    assert done.returncode == 0, done.stderr
    assert scripts.processes() == []
    assert scripts.traces() == []
    assert scripts.left() == []
    process.communicate(timeout=60)


def test_a_network_starts_where_others_were_killed(killed_again_and_again: Scripts) -> None:
    done = killed_again_and_again.up("--once", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["state"] == "Settled"
    assert killed_again_and_again.traces() == []


def test_down_ends_a_process_that_its_supervisor_had_no_time_to_record(scripts: Scripts) -> None:
    scripts.state.mkdir()
    env = {**scripts.env, "GANTRY_LOCAL_NETWORK": str(scripts.state)}
    with subprocess.Popen(["sleep", "600"], env=env) as left:
        done = scripts.run("down")
        assert left.wait(60) != 0
    assert "The local network is stopped." in done.stderr


def test_a_process_that_only_names_the_state_folder_is_not_ended(scripts: Scripts) -> None:
    """A shell in which somebody set GANTRY_STATE, say."""
    scripts.state.mkdir()
    with subprocess.Popen(["sleep", "600"], env=scripts.env) as other:
        try:
            assert scripts.run("down").returncode == 0
            assert other.poll() is None
        finally:
            other.kill()


def test_down_without_a_network_says_so(scripts: Scripts) -> None:
    done = scripts.run("down")
    assert done.returncode == 0
    assert "No local network is running." in done.stderr
