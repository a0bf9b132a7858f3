"""Many tasks at once, in a bounded form; `scripts/bench rush` has a thousand."""

from tests.support.benchmark_run import run_benchmark

TASKS = 100


def test_all_tasks_that_come_at_once_are_settled_and_paid_once():
    found = run_benchmark("rush", f"--tasks={TASKS}", "--hosts=5")
    assert (found["tasks"], found["lost"], found["doubled"]) == (TASKS, 0, 0)
