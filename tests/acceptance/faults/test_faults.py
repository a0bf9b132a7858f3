"""The fault run in a bounded form: a network under load, every process of it killed once, and its books afterwards."""

import os
import sys

import pytest

from tests.support.benchmark_run import run_benchmark
from tests.support.fast_chain import SLOT_MS


@pytest.mark.skipif(os.getuid() != 0, reason="starting a Docker engine and a network namespace need root")
def test_any_process_may_be_killed_and_every_task_ends_once_and_is_paid_once(tmp_path):
    logs = tmp_path / "logs"
    options = ("--kills=12", "--tasks=10", "--hosts=3", f"--slot-ms={SLOT_MS}", f"--keep-logs={logs}")
    # In a process of its own: it leaves this machine's network for one of its own.
    try:
        found = run_benchmark("faults", *options)
    finally:
        for log in sorted(logs.glob("*.log")):
            sys.stdout.write(f"--- the end of {log.name}\n{log.read_text(errors='replace')[-3000:]}\n")
    assert (found["kills"], found["tasks"]) == (12, 10)
    assert (found["lost"], found["doubled"], found["orphans"], found["coins_off"]) == (0, 0, 0, 0)
