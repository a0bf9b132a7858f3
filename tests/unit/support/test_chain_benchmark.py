"""The benchmark of the chain: what it derives from blocks, traces and counters."""

import importlib
import sys
from collections import Counter
from pathlib import Path

import pytest

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    yield lambda name: importlib.import_module(f"chainbench.{name}")
    for name in [name for name in sys.modules if name.partition(".")[0] in ("chainbench", "table")]:
        del sys.modules[name]


METRICS = """\
# TYPE substrate_tasks_polling_duration histogram
substrate_tasks_polling_duration_sum{kind="async",task_name="a",chain="c"} 1.5
substrate_tasks_polling_duration_sum{kind="blocking",task_name="a",chain="c"} 0.5
substrate_tasks_polling_duration_sum{kind="blocking",task_name="b",chain="c"} 2
substrate_sub_txpool_validations_finished{chain="c"} 7
plain 1e-3
"""


def test_metrics_add_up_samples_of_one_name_and_seconds_of_one_task(bench):
    metrics = bench("node").Metrics.parse(METRICS)
    assert metrics.total("substrate_sub_txpool_validations_finished") == 7
    assert metrics.total("plain") == 0.001
    assert metrics.total("absent") == 0
    assert metrics.task_seconds == {"a": 2.0, "b": 2.0}


def test_metrics_since_count_what_is_new_from_nothing(bench):
    metrics = bench("node").Metrics
    before = metrics.parse('substrate_tasks_polling_duration_sum{task_name="a"} 1\nplain 1\n')
    added = metrics.parse(METRICS + "plain 4\n").since(before)
    assert added.total("plain") == pytest.approx(3.001)
    assert added.total("substrate_sub_txpool_validations_finished") == 7
    assert added.task_seconds == {"a": 1.0, "b": 2.0}


def test_costs_leave_out_what_an_empty_block_does(bench):
    costs = bench("costs")
    idle = costs.Trace(["time", "slot"], ["time"])
    full = costs.Trace(["time", "slot", "task/1", "task/1", "task/2", "list"], ["time", "task/1", "task/2", "list"])
    counted = costs.Counted(extrinsics=1, operations=2, normal_ps=8_000_000, normal_limit_ps=80_000_000)
    found = costs.costs([full], idle, counted)
    assert found == costs.Costs(0.5, 1.5, 1.5, 2.0, 1.5, weight_us=4.0, block_share=0.05)
    # Twenty operations in a block, and a block every two seconds.
    assert found.most_per_second == pytest.approx(10)


def test_costs_of_several_blocks_are_added_up(bench):
    costs = bench("costs")
    idle = costs.Trace(["time"], ["time"])
    one = costs.Trace(["time", "a", "b"], ["time", "a"])
    counted = costs.Counted(extrinsics=4, operations=4, normal_ps=0, normal_limit_ps=1)
    assert costs.costs([one, one], idle, counted) == costs.Costs(1.0, 1.0, 0.5, 1.0, 0.5, 0.0, 0.0)


def test_the_mean_of_costs_follows_how_frequent_each_kind_is(bench):
    costs = bench("costs")
    parts = {"cheap": costs.Costs(0.0, *[1.0] * 6), "dear": costs.Costs(1.0, *[5.0] * 6)}
    assert costs.mean(parts) == costs.Costs(0.5, *[3.0] * 6)
    assert costs.mean(parts, {"cheap": 3, "dear": 1}) == costs.Costs(0.25, *[2.0] * 6)


def _filled(bench, slot: int, settled: int, extrinsics: int):
    blocks, node = bench("blocks"), bench("node")
    return blocks.Filled(node.Header(slot, "", slot), extrinsics, 10, 5, Counter({"Tasks.Settled": settled}), 0)


def test_a_slot_without_a_block_counts_as_time(bench):
    blocks = [_filled(bench, slot, settled=100, extrinsics=3) for slot in (9, 10, 12, 14)]
    found = bench("blocks").sustained(blocks, 10, 4, {"settle": "Tasks.Settled"}, 2.0)
    assert (found.blocks, found.missed_slots, found.operations) == (2, 2, {"settle": 200})
    assert found.per_second == 25
    # Of three extrinsics in a block, one is inherent.
    assert found.signatures_each == 0.02


def test_heartbeats_a_second_follow_from_period_and_the_part_of_it_that_an_agent_waits(bench):
    per_second = bench("heartbeats").heartbeats_per_second
    assert per_second(100_000, 120_000) == pytest.approx(833.3, abs=0.1)
    assert per_second(100_000, 120_000, 600_000) == pytest.approx(1388.9, abs=0.1)


def test_each_gpu_of_a_group_gets_one_pod_and_each_task_two_hosts(bench):
    mix = bench("mix")
    placed = mix.placements(range(mix.COHORT))
    taken = [(at, gpu) for pods in placed.values() for _, at, gpu in pods]
    assert sorted(taken) == [(at, gpu) for at in range(mix.GROUP) for gpu in range(mix.GPUS)]
    assert all(len({at for _, at, _ in pods}) == mix.PODS for pods in placed.values())


def test_cohorts_of_the_mix_share_no_task_and_each_is_of_as_many_tenants_as_it_has_tasks(bench):
    mix = bench("mix")
    each, cohorts = 64, 64 * mix.TENANTS // mix.COHORT
    all_tasks = [mix.cohort_tasks(1000, each, number) for number in range(cohorts)]
    assert sorted(task for tasks in all_tasks for task in tasks) == list(range(1000, 1000 + each * mix.TENANTS))
    tenants = [{(task - 1000) // each for task in tasks} for tasks in all_tasks]
    assert all(len(owners) == mix.COHORT for owners in tenants)


def test_a_cohort_takes_up_one_stage_after_another(bench):
    driver = bench("driver")
    account = bench("signing").Account("host/0")
    calls = [[(account, b"1")], [(account, b"2"), (account, b"3")]]
    stages = [driver.Stage(kind, each, 2) for kind, each in zip(("assign", "start"), calls, strict=True)]
    cohort = driver.Cohort(0, stages)
    seen = []
    while cohort.begin_stage():
        seen.append([each.call for each in cohort.sending])
        cohort.at += 1
    assert seen == [[b"1"], [b"2", b"3"]]


def test_the_repeated_part_of_the_checks_of_the_pool(bench):
    pool = bench("single").Pool
    assert pool(checks=1.0, check_us=1, author_us=1).repeats == 0
    assert pool(checks=1.6, check_us=1, author_us=1).repeats == pytest.approx(0.375)


def test_the_share_of_its_slot_that_importing_a_block_takes(bench):
    imported = bench("importing").Imported(blocks=1, wall_ms=500, cpu_ms=600, events=1, normal_ms=1)
    assert imported.slot_share == 0.25
