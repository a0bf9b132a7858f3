"""The fault run in a bounded form: a network under load, every process of it killed once, and its books afterwards."""

import json
import os
import subprocess
import sys

import pytest

from offchain.devnet.paths import ROOT
from tests.support.fast_chain import SLOT_MS


@pytest.mark.skipif(os.getuid() != 0, reason="an engine and a network of its own need root")
def test_any_process_may_be_killed_and_every_task_ends_once_and_is_paid_once(tmp_path):
    logs = tmp_path / "logs"
    line = [sys.executable, str(ROOT / "tests" / "benchmarks"), "faults", "--kills=12", "--tasks=10", "--hosts=3"]
    line.append(f"--slot-ms={SLOT_MS}")
    # In a process of its own: it leaves this machine's network for one of its own.
    done = subprocess.run(
        [*line, "--json", "--no-record", f"--keep-logs={logs}"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    for log in sorted(logs.glob("*.log")):
        sys.stdout.write(f"--- the end of {log.name}\n{log.read_text(errors='replace')[-3000:]}\n")
    assert done.stdout.splitlines(), f"the run ended with {done.returncode}; its messages are above"
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["said"] == []
    assert (found["kills"], found["tasks"]) == (12, 10)
    assert (found["lost"], found["doubled"], found["orphans"], found["coins_off"]) == (0, 0, 0, 0)
    assert done.returncode == 0
