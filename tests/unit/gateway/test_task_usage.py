"""Series of Prometheus as usage of a task's pods."""

import math
from dataclasses import replace

import pytest

from offchain.adapters.metrics.prometheus_api import PrometheusSeries
from offchain.gateway.api.task_usage import MOST_PODS, expressions_of, times_of, usage_of
from offchain.indexer.rows import LeaseRow

TIMES = range(60, 121, 15)
LEASE = LeaseRow(
    lease=1,
    task=7,
    pod=0,
    generation=0,
    host="5Host",
    state="Ended",
    reason=None,
    rate_per_hour=1,
    deposited=1,
    paid=0,
    fee=0,
    scheduler_fee=0,
    settler_fee=0,
    refunded=0,
    assigned_ms=1_000_000_000,
)


def series(place, *values, instance="a:1"):
    return PrometheusSeries({"host": "5Host", "instance": instance, "place": place}, values)


def usage(**found):
    names = ("number", "cpu_cores", "memory_bytes", "gpu_utilisation_percent", "gpu_memory_bytes")
    return usage_of({name: found.get(name, []) for name in names}, TIMES)


def test_values_belong_to_the_pod_that_had_the_place_at_that_time():
    found = usage(
        number=[series("0", (60, 2), (75, 2), (105, 0)), series("1", (60, 0), (75, 0))],
        cpu_cores=[series("0", (60, 0.5), (75, 0.25), (90, 9.0), (105, 4.0)), series("1", (60, 1.5), (75, math.nan))],
        memory_bytes=[series("1", (60, 1024))],
    )
    assert found.times_ms == [60_000, 75_000, 90_000, 105_000, 120_000]
    first, second = found.pods
    assert (first.pod, second.pod) == (0, 2)
    assert first.cpu_cores == [1.5, None, None, 4.0, None]
    assert second.cpu_cores == [0.5, 0.25, None, None, None]
    assert first.memory_bytes == [1024, None, None, None, None]
    assert first.gpu_memory_bytes == [None] * 5


def test_a_place_of_another_target_is_another_place():
    found = usage(number=[series("0", (60, 1))], cpu_cores=[series("0", (60, 1.0), instance="b:1")])
    assert found.pods == []


def test_odd_numbers_and_too_many_pods_are_left_out():
    places = [str(number) for number in range(MOST_PODS + 10)]
    found = usage(
        number=[series("x", (60, -1)), *(series(place, (60, int(place))) for place in places)],
        cpu_cores=[series("x", (60, 1.0)), *(series(place, (60, 1.0)) for place in places)],
    )
    assert [one.pod for one in found.pods] == list(range(MOST_PODS))


@pytest.mark.parametrize(
    ("ended_ms", "hours", "now_s", "expected"),
    [
        (None, 24, 1_000_600, (999_990, 1_000_590)),
        (1_000_100_000, 24, 1_000_600, (999_990, 1_000_110)),
        (1_000_007_000_000, 1, 1_000_100, (999_990, 1_000_095)),
        (None, 1, 1_007_200, (1_003_600, 1_007_200)),
        (None, 1, 900_000, (900_000, 900_000)),
    ],
)
def test_times_are_those_of_the_tasks_last_hours(ended_ms, hours, now_s, expected):
    found = times_of([replace(LEASE, ended_ms=ended_ms)], hours, now_s)
    assert (found[0], found[-1]) == expected
    assert len(found) <= 146


def test_only_the_hosts_of_its_leases_are_asked():
    leases = [LEASE, replace(LEASE, lease=2, host="5Other"), replace(LEASE, lease=3)]
    found = expressions_of(7, leases)
    assert found["cpu_cores"] == (
        'gantry_pod_cpu_cores{host=~"5Host|5Other"} and on (host, instance, place) '
        '(gantry_pod_task{host=~"5Host|5Other"} == 7)'
    )
