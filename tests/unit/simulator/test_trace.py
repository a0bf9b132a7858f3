"""Tasks from tables with times, and the pace at which they come."""

import pytest

from offchain.core.scheduler.pod_request import PodShape
from offchain.schema.durations import HOUR_MS
from offchain.simulator.csv_tables import TraceError
from offchain.simulator.load import at_load, draw_tasks, load_percent
from offchain.simulator.trace import GENERATED_ACCOUNTS, read_trace, trace_of_shapes
from tests.support.replay_samples import BY_HAND, HALF, ONE, PODS_CSV, trace

HEADER = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,"


def read(columns, *lines, seed=1):
    body = "".join(f"p,1000,1024,1,1000,{line}\n" for line in lines)
    return read_trace(f"{HEADER}{columns}\n{body}", "pods.csv", seed)


def test_a_table_with_all_columns_is_read_unchanged():
    found = read_trace(PODS_CSV, "pods.csv", 1)
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
    assert (first.queue, first.priority, first.max_ms, first.pods) == ("fast", 7, 6000, 3)
    assert (second.queue, second.priority, second.max_ms, second.pods) == ("default", 100, HOUR_MS, 1)


def test_a_gang_arrives_with_its_last_pod_and_runs_as_long_as_its_longest():
    found = read("arrival_ms,duration_ms,account,gang", "5,50,me,g", "0,10,me,", "9,20,me,g").arrivals
    assert [(one.pods, one.arrival_ms, one.duration_ms) for one in found] == [(1, 0, 10), (2, 9, 50)]


def test_missing_columns_are_generated_from_the_seed_and_noted():
    found = trace_of_shapes([ONE] * 2000, 3)
    assert found == trace_of_shapes([ONE] * 2000, 3)
    assert found.arrivals != trace_of_shapes([ONE] * 2000, 4).arrivals
    assert [note.split(" are not given")[0] for note in found.notes] == ["times", "accounts"]
    assert not found.timed
    held = [
        sum(one.account == f"account-{which:02}" for one in found.arrivals)
        for which in range(1, GENERATED_ACCOUNTS + 1)
    ]
    assert held[0] > held[-1] > 0
    assert sum(held) == 2000
    durations = sorted(one.duration_ms for one in found.arrivals)
    assert 12 * 60_000 < durations[1000] < 18 * 60_000


@pytest.mark.parametrize(
    ("columns", "line", "said", "hint"),
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
def test_a_mistake_is_reported_with_line_column_and_hint(columns, line, said, hint):
    with pytest.raises(TraceError) as told:
        read(columns, line)
    assert said in told.value.message
    assert hint in told.value.hint


def test_different_pods_of_a_gang_are_refused():
    text = HEADER + "gang\np,1000,1024,1,1000,g\np,1000,1024,1,500,g\n"
    with pytest.raises(TraceError, match="line 3, column 19: gang is 'g'"):
        read_trace(text, "pods.csv", 1)
    with pytest.raises(TraceError, match="line 3, column 23: gang is 'g'"):
        read("account,gang", "me,g", "us,g")


def test_the_load_is_the_mean_use_while_tasks_arrive():
    # One of two GPUs for 5 of 10 seconds, then half of one for the last 5, the last task at the end of them.
    assert load_percent(trace((0, 5, ONE, "x"), (5, 99, HALF, "x"), (10, 7, ONE, "x")), 2000) == pytest.approx(37.5)


@pytest.mark.parametrize("percent", [20, 130])
def test_arrivals_are_scaled_to_a_load(percent):
    whole = trace(*((10 * place, 60, ONE, "x") for place in range(100)))
    paced = at_load(whole, percent, 2000)
    assert load_percent(paced, 2000) == pytest.approx(percent, rel=1e-2)
    assert [one.duration_ms for one in paced.arrivals] == [60_000] * 100


def test_drawn_tasks_arrive_at_random_times_with_the_given_load():
    found = draw_tasks(BY_HAND, 2000, 90, 2000, 1)
    assert len(found.arrivals) == 2000
    assert found.arrivals[0].arrival_ms == 0
    assert load_percent(found, 2000) == pytest.approx(90, rel=1e-2)
    assert [one.number for one in found.arrivals] == list(range(2000))
    assert [one.arrival_ms for one in found.arrivals] == sorted(one.arrival_ms for one in found.arrivals)
    assert found == draw_tasks(BY_HAND, 2000, 90, 2000, 1)
    assert found != draw_tasks(BY_HAND, 2000, 90, 2000, 2)


def test_an_impossible_load_is_refused_with_the_possible_one():
    with pytest.raises(TraceError, match="5 pods never ask for 900 %"):
        at_load(BY_HAND, 900, 2000)
    with pytest.raises(TraceError, match="All pods come at once"):
        at_load(trace((0, 5, ONE, "x"), (0, 5, ONE, "x")), 50, 2000)


def test_a_trace_without_gpus_is_refused():
    with pytest.raises(TraceError, match="no pod asks for a GPU"):
        read_trace("cpu_milli,memory_mib,num_gpu,gpu_milli\n1000,1024,0,0\n", "pods.csv", 1)
    assert trace_of_shapes([PodShape(1000, 1024)], 1).arrivals[0].pods == 1
