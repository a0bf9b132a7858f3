"""Many tasks at once, in a bounded form; `scripts/bench rush` has a thousand."""

import json
import os
import subprocess
import sys

from offchain.devnet.paths import ROOT

TASKS = 100


def test_all_tasks_that_come_at_once_are_settled_and_paid_once():
    line = [sys.executable, str(ROOT / "tests" / "benchmarks"), "rush", f"--tasks={TASKS}", "--hosts=5"]
    done = subprocess.run(
        [*line, "--json", "--no-record"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines(), f"the run ended with {done.returncode}; its messages are above"
    found = json.loads(done.stdout.splitlines()[-1])
    sys.stderr.write(f"{found}\n")
    assert found["said"] == []
    assert (found["tasks"], found["lost"], found["doubled"]) == (TASKS, 0, 0)
    assert done.returncode == 0
