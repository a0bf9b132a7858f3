"""Ten minutes without finality while tasks run."""

import pytest

from tests.support.benchmark_run import run_benchmark

SECONDS = 600


@pytest.mark.timeout(SECONDS + 900)
def test_ten_minutes_without_finality_cost_no_task_and_no_host():
    found = run_benchmark("stall", f"--seconds={SECONDS}")
    assert (found["lost"], found["doubled"], found["unexpected"], found["given_up"]) == (0, 0, {}, [])
    assert found["blocks_without_finality"] > 100
