"""Whatever comes: each task runs once, on hosts that have room, and the same seed does the same."""

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.scheduler.cluster import HostSpec
from offchain.core.scheduler.pod_request import WHOLE_GPU, PodShape
from offchain.simulator.measures import simulate_replay
from offchain.simulator.names import ORDERS
from offchain.simulator.trace import Arrival, Trace
from tests.support.examples import examples

hosts = st.lists(
    st.builds(
        HostSpec,
        name=st.just("host"),
        cpu_milli=st.integers(4, 16).map(lambda cores: cores * 1000),
        memory_mib=st.just(65_536),
        gpus=st.integers(0, 4),
        model=st.sampled_from(["red", "blue"]),
    ),
    min_size=1,
    max_size=4,
).map(lambda specs: [replace(spec, name=f"host-{row}") for row, spec in enumerate(specs)])
shapes = st.sampled_from(
    [
        PodShape(2_000, 1_024),
        PodShape(1_000, 1_024, 1, 300),
        PodShape(1_000, 1_024, 1, 700),
        PodShape(4_000, 1_024, 1, WHOLE_GPU),
        PodShape(4_000, 1_024, 2, WHOLE_GPU),
        PodShape(1_000, 1_024, 1, WHOLE_GPU, frozenset({"blue"})),
    ]
)
tasks = st.lists(
    st.tuples(st.integers(0, 50), st.integers(1, 30), shapes, st.sampled_from("xyz"), st.sampled_from([1, 1, 1, 2, 3])),
    min_size=1,
    max_size=40,
)


def traced(lines):
    lines = sorted(lines, key=lambda line: line[0])
    return Trace(
        tuple(
            Arrival(number, f"task-{number}", shape, at, lasts, lasts, account, pods=pods)
            for number, (at, lasts, shape, account, pods) in enumerate(lines)
        ),
        timed=True,
    )


def work(specs, trace, policy, order, seed):
    return simulate_replay(specs, trace, policy, order, seed=seed, clock_s=lambda: 0.0)


def held(runs, at_ms):
    """What hosts and devices have given away at a moment."""
    cpu, devices = Counter(), Counter()
    for run in runs:
        if run.start_ms <= at_ms < run.end_ms:
            for place in run.slots:
                cpu[place.host] += run.arrival.shape.cpu_milli
                for device in range(16):
                    if place.devices >> device & 1:
                        devices[place.host, device] += run.arrival.shape.gpu_milli
    return cpu, devices


@settings(max_examples=examples(60))
@given(
    specs=hosts,
    lines=tasks,
    policy=st.sampled_from(["production", "best_fit", "fgd"]),
    order=st.sampled_from(list(ORDERS)),
    seed=st.integers(0, 5),
)
def test_each_task_runs_once_within_the_capacity_of_hosts(specs, lines, policy, order, seed):
    trace = traced(lines)
    outcome = work(specs, trace, policy, order, seed)
    runs, refused = outcome.replayed.runs, outcome.replayed.refused
    assert sorted([run.arrival.number for run in runs] + [one.number for one in refused]) == list(range(len(lines)))
    for run in runs:
        assert run.start_ms >= run.arrival.arrival_ms
        assert len(run.slots) == run.arrival.pods
        assert all(place.devices.bit_count() == run.arrival.shape.gpus for place in run.slots)
        cpu, devices = held(runs, run.start_ms)
        assert all(cpu[host] <= specs[host].cpu_milli for host in cpu)
        assert all(milli <= WHOLE_GPU and device < specs[host].gpus for (host, device), milli in devices.items())
    assert outcome.measures.gpu_percent <= 100.000001
    assert 0 < outcome.measures.jain_index <= 1.000001
    assert outcome == work(specs, trace, policy, order, seed)


@settings(max_examples=examples(60))
@given(specs=hosts, lines=tasks)
def test_fifo_starts_tasks_in_order_of_arrival(specs, lines):
    runs = work(specs, traced(lines), "best_fit", "fifo", 1).replayed.runs
    assert [run.arrival.number for run in runs] == sorted(run.arrival.number for run in runs)
    starts = [run.start_ms for run in runs]
    assert starts == sorted(starts)


@settings(max_examples=examples(60))
@given(specs=hosts, lines=tasks, order=st.sampled_from(list(ORDERS)))
def test_a_task_starts_only_at_an_arrival_or_an_end(specs, lines, order):
    outcome = work(specs, traced(lines), "best_fit", order, 1)
    moments = {run.end_ms for run in outcome.replayed.runs} | {at for at, *_ in lines}
    assert {run.start_ms for run in outcome.replayed.runs} <= moments


def fits_somewhere(specs, runs, shape, at_ms):
    cpu, devices = held(runs, at_ms)
    return any(
        spec.cpu_milli - cpu[host] >= shape.cpu_milli
        and (not shape.models or spec.model in shape.models)
        and sum(WHOLE_GPU - devices[host, device] >= shape.gpu_milli for device in range(spec.gpus)) >= shape.gpus
        for host, spec in enumerate(specs)
    )


@settings(max_examples=examples(60))
@given(specs=hosts, lines=tasks, policy=st.sampled_from(["best_fit", "first_fit"]))
def test_the_first_waiting_task_is_infeasible(specs, lines, policy):
    runs = work(specs, traced((*line[:4], 1) for line in lines), policy, "fifo", 1).replayed.runs
    since_ms = 0
    for run in runs:
        since_ms = max(since_ms, run.arrival.arrival_ms)
        for moment in {since_ms, *(other.end_ms for other in runs)}:
            if since_ms <= moment < run.start_ms:
                assert not fits_somewhere(specs, runs, run.arrival.shape, moment)
        since_ms = run.start_ms
