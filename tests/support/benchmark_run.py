"""A benchmark of tests/benchmarks in a process of its own, in a form that is small enough for a test."""

import json
import os
import subprocess
import sys
from typing import Any

from offchain.devnet.paths import ROOT


def run_benchmark(name: str, *options: str) -> dict[str, Any]:
    """Run a benchmark, which must find nothing wrong; return what it reports."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "benchmarks"), name, *options, "--json", "--no-record"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines(), f"the run ended with {done.returncode}; its messages are above"
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    sys.stderr.write(f"{found}\n")
    assert found["said"] == []
    assert done.returncode == 0
    return found
