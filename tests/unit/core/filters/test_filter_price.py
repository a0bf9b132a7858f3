"""Hosts that cost no more than the task's limit, as columns of floating point see it."""

from __future__ import annotations

import pytest
from core_builders import GTY, gpu, host, pod, task, wants
from filter_cases import takers

from offchain.core.fit import Fit, fit
from offchain.core.fleet.filters.price import Price, surely_within
from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.offers import ALL
from offchain.core.fleet.want import Want
from offchain.core.values import BillingUnit
from offchain.schema.chain_types._generated_chain import GpuPrice
from tests.support.chain_records import ask, placement

LITTLE = GTY // 1000
"""Far more than what columns round."""

CHEAP = host("cheap", ask=ask(cpu_core_per_hour=GTY))
DEAR = host("dear", ask=ask(cpu_core_per_hour=3 * GTY))


@pytest.mark.parametrize(
    ("limit", "fine"),
    [
        (0, []),
        (GTY - LITTLE, []),
        (GTY, ["cheap"]),
        (3 * GTY - LITTLE, ["cheap"]),
        (3 * GTY, ["cheap", "dear"]),
    ],
)
def test_the_limit_itself_is_allowed(limit, fine):
    assert takers(Price(), CHEAP, DEAR, task_changes={"max_rate_per_hour": limit}) == fine


def test_a_host_that_asks_nothing_is_within_any_limit():
    assert takers(Price(), host("free", ask=ask()), task_changes={"max_rate_per_hour": 0}) == ["free"]


def test_what_a_unit_costs_more_or_less_counts():
    by_day = host("a", ask=ask(cpu_core_per_hour=2 * GTY, day_ppm=500_000))
    changes = {"max_rate_per_hour": GTY}
    assert takers(Price(), by_day, task_changes=changes | {"unit": BillingUnit.DAY}) == ["a"]
    assert takers(Price(), by_day, task_changes=changes | {"unit": BillingUnit.SECOND}) == []


def mixed(cheap: int = GTY, dear: int = 5 * GTY):
    prices = ask(gpu_per_hour=dear, gpu=(GpuPrice(b"T4", cheap),))
    return host("mixed", devices=(gpu(model=b"T4"), gpu(model=b"A100")), ask=prices)


def test_of_several_models_the_cheapest_decide_and_the_exact_rule_has_the_last_word():
    one, two = pod(gpus=wants(1)), pod(gpus=wants(2))
    assert takers(Price(), mixed(), task_changes={"resources": one, "max_rate_per_hour": GTY}) == ["mixed"]
    assert takers(Price(), mixed(), task_changes={"resources": two, "max_rate_per_hour": 6 * GTY - LITTLE}) == []
    assert takers(Price(), mixed(), task_changes={"resources": two, "max_rate_per_hour": 6 * GTY}) == ["mixed"]
    dear_one = pod(gpus=wants(1, models=(b"A100",)))
    assert takers(Price(), mixed(), task_changes={"resources": dear_one, "max_rate_per_hour": GTY}) == ["mixed"]
    assert not isinstance(fit(mixed(), dear_one, placement(), BillingUnit.SECOND, GTY, "5Tenant"), Fit)


def test_a_share_of_a_gpu_costs_its_share():
    half = {"resources": pod(gpus=wants(1, milli=500)), "max_rate_per_hour": GTY // 2}
    assert takers(Price(), mixed(), task_changes=half) == ["mixed"]
    assert takers(Price(), mixed(), task_changes=half | {"max_rate_per_hour": GTY // 2 - LITTLE}) == []


def test_surely_within_is_said_only_where_the_dearest_devices_are():
    fleet = Fleet()
    fleet.put([mixed()])

    def sure(limit: int) -> bool:
        want = Want.of(task(resources=pod(gpus=wants(1)), max_rate_per_hour=limit))
        return bool(surely_within(want, fleet.facts.offers, ALL)[fleet.facts.offer][0])

    assert [sure(limit) for limit in (GTY, 5 * GTY - LITTLE, 5 * GTY + 10_000)] == [False, False, True]
