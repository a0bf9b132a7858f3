"""Several schedulers, two killed in the middle, in a bounded form; `scripts/bench crowd` has two thousand tasks."""

from tests.support.benchmark_run import run_benchmark

TASKS, HOSTS, SCHEDULERS, KILLED = 150, 4, 4, 2
"""The hosts hold a third of the tasks at once, so that one scheduler is killed after a third and one after two."""


def test_no_task_is_lost_or_doubled_among_schedulers_of_which_two_are_killed():
    options = (f"--tasks={TASKS}", f"--hosts={HOSTS}", f"--schedulers={SCHEDULERS}", f"--killed={KILLED}")
    found = run_benchmark("crowd", *options)
    assert (found["tasks"], found["lost"], found["doubled"]) == (TASKS, 0, 0)
    (run,) = found["runs"]
    assert (run["schedulers"], run["killed"]) == (SCHEDULERS, KILLED)
    assert run["assigned"] >= TASKS
