"""Tasks from tables with times, and the pace at which they come."""

import pytest

from offchain.core.placing.shapes import Shape
from offchain.core.placing.traces import TraceError
from offchain.core.replay.pace import at_load, drawn, load_percent
from offchain.core.replay.trace import ACCOUNTS, made_up, recorded
from tests.support.replay_samples import BY_HAND, HALF, ONE, PODS_CSV, trace

HEADER = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,"
HOUR_MS = 3_600_000


def read(columns, *lines, seed=1):
    body = "".join(f"p,1000,1024,1,1000,{line}\n" for line in lines)
    return recorded(f"{HEADER}{columns}\n{body}", "pods.csv", seed)


def test_a_table_with_all_columns_is_taken_as_it_is():
    found = recorded(PODS_CSV, "pods.csv", 1)
    assert [(one.name, one.arrival_ms, one.duration_ms, one.shape) for one in found.arrivals] == [
        (name, one.arrival_ms, one.duration_ms, one.shape)
        for name, one in zip(("one", "two", "three", "four", "five"), BY_HAND.arrivals, strict=True)
    ]
    assert found.notes == ()
    assert found.timed
    assert found.window_ms == 12_000


def test_seconds_of_creation_scheduling_and_deletion_become_arrival_and_duration():
    found = read("creation_time,deletion_time,scheduled_time", "70,100.5,80", "10,12,", "30,30,30").arrivals
    assert [(one.arrival_ms, one.duration_ms) for one in found] == [(0, 2_000), (20_000, 1), (60_000, 20_500)]
    assert [one.number for one in found] == [0, 1, 2]


def test_queue_priority_and_maximum_are_read_or_have_defaults():
    columns = "arrival_ms,duration_ms,account,queue,priority,max_duration_ms,pods"
    first, second = read(columns, "0,5000,me,fast,7,6000,3", "0,5000,me,,,,").arrivals
    assert (first.queue, first.priority, first.most_ms, first.pods) == ("fast", 7, 6000, 3)
    assert (second.queue, second.priority, second.most_ms, second.pods) == ("default", 100, HOUR_MS, 1)


def test_a_gang_comes_with_its_last_pod_and_runs_as_long_as_any():
    found = read("arrival_ms,duration_ms,account,gang", "5,50,me,g", "0,10,me,", "9,20,me,g").arrivals
    assert [(one.pods, one.arrival_ms, one.duration_ms) for one in found] == [(1, 0, 10), (2, 9, 50)]


def test_what_is_missing_is_made_up_by_the_seed_and_said():
    found = made_up([ONE] * 2000, 3)
    assert found == made_up([ONE] * 2000, 3)
    assert found.arrivals != made_up([ONE] * 2000, 4).arrivals
    assert [note.split(" are not given")[0] for note in found.notes] == ["times", "accounts"]
    assert not found.timed
    held = [sum(one.account == f"account-{which:02}" for one in found.arrivals) for which in range(1, ACCOUNTS + 1)]
    assert held[0] > held[-1] > 0
    assert sum(held) == 2000
    durations = sorted(one.duration_ms for one in found.arrivals)
    assert 12 * 60_000 < durations[1000] < 18 * 60_000


@pytest.mark.parametrize(
    ("columns", "line", "said", "remedy"),
    [
        ("arrival_ms,duration_ms", "-1,5", "line 2, column 20: arrival_ms is '-1'", "from 0 to"),
        ("arrival_ms,duration_ms", "1,0", "line 2, column 22: duration_ms is '0'", "from 1 to"),
        ("arrival_ms", "1", "header has arrival_ms but no column duration_ms", "Add duration_ms"),
        ("deletion_time", "1", "header has deletion_time but no column creation_time", "Add creation_time"),
        ("creation_time,deletion_time", "5,soon", "column 22: deletion_time is 'soon'", "Write seconds"),
        ("creation_time,deletion_time", "5,", "column 22: deletion_time is missing", "Write seconds"),
        ("creation_time,deletion_time", "5,4", "column 22: deletion_time is '4'", "not before the others"),
        ("account", "", "column 20: account is missing", "Name the account"),
        ("priority", "256", "column 20: priority is '256'", "from 0 to 255"),
        ("arrival_ms,duration_ms,max_duration_ms", "0,9,8", "column 24: max_duration_ms is '8'", "at least that"),
    ],
)
def test_a_mistake_is_told_by_line_column_and_remedy(columns, line, said, remedy):
    with pytest.raises(TraceError) as told:
        read(columns, line)
    assert said in told.value.message
    assert remedy in told.value.remedy


def test_pods_of_a_gang_that_differ_are_told():
    text = HEADER + "gang\np,1000,1024,1,1000,g\np,1000,1024,1,500,g\n"
    with pytest.raises(TraceError, match="line 3, column 19: gang is 'g'"):
        recorded(text, "pods.csv", 1)
    with pytest.raises(TraceError, match="line 3, column 23: gang is 'g'"):
        read("account,gang", "me,g", "us,g")


def test_the_load_is_what_would_be_in_use_while_tasks_come():
    # One of two GPUs for 5 of 10 seconds, then half of one for the last 5, the last task at the end of them.
    assert load_percent(trace((0, 5, ONE, "x"), (5, 99, HALF, "x"), (10, 7, ONE, "x")), 2000) == pytest.approx(37.5)


@pytest.mark.parametrize("percent", [20, 130])
def test_tasks_come_faster_or_slower_to_reach_a_load(percent):
    whole = trace(*((10 * place, 60, ONE, "x") for place in range(100)))
    paced = at_load(whole, percent, 2000)
    assert load_percent(paced, 2000) == pytest.approx(percent, rel=1e-2)
    assert [one.duration_ms for one in paced.arrivals] == [60_000] * 100


def test_tasks_that_are_drawn_come_at_random_times_with_the_load_wished():
    found = drawn(BY_HAND, 2000, 90, 2000, 1)
    assert len(found.arrivals) == 2000
    assert found.arrivals[0].arrival_ms == 0
    assert load_percent(found, 2000) == pytest.approx(90, rel=1e-2)
    assert [one.number for one in found.arrivals] == list(range(2000))
    assert [one.arrival_ms for one in found.arrivals] == sorted(one.arrival_ms for one in found.arrivals)
    assert found == drawn(BY_HAND, 2000, 90, 2000, 1)
    assert found != drawn(BY_HAND, 2000, 90, 2000, 2)


def test_a_load_that_cannot_be_reached_is_told_with_what_can():
    with pytest.raises(TraceError, match="5 pods never ask for 900 %"):
        at_load(BY_HAND, 900, 2000)
    with pytest.raises(TraceError, match="All pods come at once"):
        at_load(trace((0, 5, ONE, "x"), (0, 5, ONE, "x")), 50, 2000)


def test_pods_without_gpus_alone_are_no_trace():
    with pytest.raises(TraceError, match="no pod asks for a GPU"):
        recorded("cpu_milli,memory_mib,num_gpu,gpu_milli\n1000,1024,0,0\n", "pods.csv", 1)
    assert made_up([Shape(1000, 1024)], 1).arrivals[0].pods == 1
