"""A node and a Docker engine for the contract tests, unless GANTRY_TEST_URL and GANTRY_DOCKER_HOST name others."""

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from offchain.devnet.paths import ROOT
from tests.support.fast_chain import write_fast_genesis
from tests.support.suites import LEVEL


@pytest.fixture(scope="session", autouse=True)
def base() -> Iterator[None]:
    """Start both and name them in the environment. Where they cannot run, tests that need them are skipped."""
    if "GANTRY_TEST_URL" in os.environ:
        yield
        return
    # Sockets need a short path.
    with tempfile.TemporaryDirectory(prefix="gantry-b-") as folder, pytest.MonkeyPatch.context() as patch:
        genesis = write_fast_genesis(Path(folder) / "genesis.json")
        command = [sys.executable, "-m", "offchain.devnet", "base", f"{folder}/state", str(genesis)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            if line:
                facts = json.loads(line)
                patch.setenv("GANTRY_TEST_URL", facts["url"])
                patch.setenv("GANTRY_DOCKER_HOST", facts["docker_host"])
            elif LEVEL in os.environ:
                pytest.exit("there is no node or no Docker engine for the contract tests; the reason is above", 1)
            else:
                warnings.warn("no node and no Docker engine: tests that need them are skipped", UserWarning, 1)
            try:
                yield
            finally:
                process.terminate()
