"""Fixtures of a local network that `scripts/up` starts for a folder of tests; GANTRY_TEST_STATE names a running one.

A conftest.py imports the fixtures that its folder needs.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import docker
import pytest

from offchain.devnet.paths import ROOT
from offchain.devnet.ports import free
from tests.support.fast_chain import write_fast_genesis
from tests.support.local_network import ALLOWED_REGISTRY, Net, Pods, connected, engine_url

LOG_LINES = 40


def assert_every_coin_is_accounted_for(state: Path) -> None:
    """Fail where the sums of the chain's records differ from the coins that exist."""
    command = [sys.executable, "-m", "offchain.cli", "doctor", "--audit", "--json"]
    env = {**os.environ, "GANTRY_STATE": str(state), "PYTHONPATH": str(ROOT)}
    audit = subprocess.run(command, cwd=ROOT, env=env, check=False, capture_output=True, text=True)
    assert audit.returncode == 0, audit.stdout + audit.stderr


@pytest.fixture(scope="session")
def state(request: pytest.FixtureRequest) -> Iterator[Path]:
    """The network's state folder. After all tests every coin must be where the records of the chain say.

    If a test failed, the ends of the network's logs are printed.
    """
    named = os.environ.get("GANTRY_TEST_STATE")
    if named:
        folder = Path(named).absolute()
        if not (folder / "network.json").is_file():
            pytest.fail(f"{folder} is not the state of a running network: it has no network.json")
        yield folder
        assert_every_coin_is_accounted_for(folder)
        return
    # Sockets need a short path.
    with tempfile.TemporaryDirectory(prefix="gantry-n-") as made:
        folder = Path(made) / "net"
        env = {**os.environ, "GANTRY_STATE": str(folder), "GANTRY_ALLOW_REGISTRY": f"http://{ALLOWED_REGISTRY}"}
        genesis = write_fast_genesis(Path(made) / "genesis.json")
        options = ("--detach", "--no-verifiers", f"--rpc-port={free()}", f"--genesis-patch={genesis}")
        up = subprocess.run(
            [ROOT / "scripts/up", *options],
            env=env,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            if up.returncode != 0:
                # pytest discards what was captured when a session is exited, so the message has it all.
                pytest.exit(f"the local network did not start:\n{up.stdout}\n{ends_of_logs(folder)}", 1)
            yield folder
            assert_every_coin_is_accounted_for(folder)
        finally:
            if request.session.testsfailed:
                sys.stderr.write(ends_of_logs(folder))
            subprocess.run([ROOT / "scripts/down"], env=env, check=True, capture_output=True)


def ends_of_logs(state: Path) -> str:
    """Return the last lines of each log of the network."""
    text = []
    for log in sorted((state / "log").glob("*.log")):
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]
        text += [f"--- the end of {log.name}", *lines, ""]
    return "\n".join(text)


@pytest.fixture
async def net(state: Path) -> AsyncIterator[Net]:
    async with connected(state) as found:
        yield found


@pytest.fixture
def pods(state: Path) -> Iterator[Pods]:
    client = docker.DockerClient(base_url=engine_url(state), timeout=30)
    try:
        yield Pods(client)
    finally:
        client.close()
