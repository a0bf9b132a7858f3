"""What a pod costs as a part of its tenant's limit."""

from __future__ import annotations

import pytest
from core_builders import GTY, gpu, host, pod, task, wants
from score_cases import fleet, scored

from offchain.core.fleet.offers import ALL
from offchain.core.fleet.want import Want
from offchain.core.planning.scores.price import price, prices
from tests.support.chain_records import ask


def asking(gty: float):
    return host(str(gty), ask=ask(cpu_core_per_hour=int(gty * GTY)))


def test_a_host_at_the_tenants_limit_has_the_whole_price_against_it():
    free, half, dear = scored("price", asking(0), asking(50), asking(100))
    assert free == 0
    assert half == pytest.approx(0.5, abs=1e-6)
    assert dear == pytest.approx(1, abs=1e-6)


def test_a_host_above_the_limit_is_no_worse_than_one_at_it():
    assert scored("price", asking(200)) == [1]


def test_the_same_price_counts_less_for_whoever_pays_more():
    there = fleet(asking(10)).facts
    found = [float(price(Want.of(task(max_rate_per_hour=limit * GTY)), there)[0]) for limit in (10, 20, 100)]
    assert found == pytest.approx([1, 0.5, 0.1], abs=1e-6)


def test_a_limit_of_nothing_divides_by_nothing():
    assert price(Want.of(task(max_rate_per_hour=0)), fleet(asking(0), asking(1)).facts).tolist() == [0, 1]


def test_gpus_count_by_the_part_of_them_that_is_asked_for():
    there = fleet(host(devices=(gpu(), gpu()), ask=ask(gpu_per_hour=10 * GTY))).facts
    whole, shared, two = (Want.of(task(resources=pod(gpus=one))) for one in (wants(1), wants(1, milli=500), wants(2)))
    found = [float(price(want, there)[0]) for want in (whole, shared, two)]
    assert found == pytest.approx([0.1, 0.05, 0.2], abs=1e-6)


def test_hosts_with_one_price_list_are_counted_once_and_alike():
    there = fleet(host("a", ask=ask(cpu_core_per_hour=GTY)), asking(3), host("c", ask=ask(cpu_core_per_hour=GTY))).facts
    want = Want.of(task())
    assert len(there.offers) == 2
    assert price(want, there).tolist() == prices(want, there.offers, ALL)[there.offer].tolist()
    assert price(want, there)[0] == price(want, there)[2] < price(want, there)[1]
