"""The fault run in a bounded form: a network under load, every process of it killed once, and its books afterwards."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.mark.skipif(os.getuid() != 0, reason="a private engine needs root")
def test_any_process_may_be_killed_and_every_task_ends_once_and_is_paid_once(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from faults.plan import Plan  # noqa: PLC0415 - found only with that path
    from faults.run import run_faults  # noqa: PLC0415

    def say(text: str) -> None:
        with capsys.disabled():
            sys.stderr.write(f"faults: {text}\n")

    found = run_faults(Plan(kills=12, tasks=10, hosts=3, seed=1), say)
    assert found["said"] == []
    assert (found["kills"], found["tasks"]) == (12, 10)
    assert (found["lost"], found["doubled"], found["orphans"], found["coins_off"]) == (0, 0, 0, 0)
