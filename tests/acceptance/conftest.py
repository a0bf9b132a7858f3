"""The scripts as a user runs them. Each test has a state folder of its own, with a short path for sockets."""

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripts_run import Scripts

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.network)


@pytest.fixture
def scripts() -> Iterator[Scripts]:
    with tempfile.TemporaryDirectory(prefix="gantry-a-") as folder:
        found = Scripts(Path(folder) / "net")
        yield found
        for process in found.started:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(60)
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
        down = subprocess.run([str(found.path("down"))], env=found.env, check=False, capture_output=True)
        assert down.returncode == 0
        network = found.state / "network.json"
        assert not network.exists(), json.loads(network.read_text())
        assert not list(Path(os.path.realpath(found.state)).glob("run/*"))
