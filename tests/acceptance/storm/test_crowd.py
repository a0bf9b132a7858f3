"""Several schedulers, two killed in the middle, in a bounded form; `scripts/bench crowd` has two thousand tasks."""

import json
import os
import subprocess
import sys

from offchain.devnet.paths import ROOT

TASKS, HOSTS, SCHEDULERS, KILLED = 150, 4, 4, 2
"""The hosts hold a third of the tasks at once, so that one scheduler is killed after a third and one after two."""


def test_no_task_is_lost_or_doubled_among_schedulers_of_which_two_are_killed():
    line = [sys.executable, str(ROOT / "tests" / "benchmarks"), "crowd", f"--tasks={TASKS}", f"--hosts={HOSTS}"]
    done = subprocess.run(
        [*line, f"--schedulers={SCHEDULERS}", f"--killed={KILLED}", "--json", "--no-record"],
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
    (run,) = found["runs"]
    assert (run["schedulers"], run["killed"]) == (SCHEDULERS, KILLED)
    assert run["assigned"] >= TASKS
    assert done.returncode == 0
