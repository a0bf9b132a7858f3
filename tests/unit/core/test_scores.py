"""Each score alone over a few hosts, and all together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from offchain.core.scheduler.host_attributes import ALL_LISTS
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.placement import Planner
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.scheduler.scores import (
    MAX_LATENCY_MS,
    MAX_MBPS,
    PRICE_DOUBLINGS,
    SCORES,
    ScoreWeights,
    cost_without_price,
    failure_score,
    image_score,
    list_price_scores,
    price_score,
    random_score,
)
from offchain.core.values import Host
from tests.support.chain_records import ask
from tests.support.core_builders import GTY, gpu, host, pod, task, wants
from tests.support.plan_once import InOrder

REQUEST = PodRequest.of(task())


def table(*hosts: Host) -> HostTable:
    found = HostTable()
    found.put(hosts)
    return found


def scored(name: str, *hosts: Host, request: PodRequest = REQUEST) -> list[float]:
    return [float(one) for one in SCORES[name](request, table(*hosts).attributes)]


SEED = b"one scheduler"
NAMES = [f"h{number}" for number in range(200)]


def test_a_random_score_depends_on_the_host_and_the_seed():
    assert random_score("a", SEED) == random_score("a", SEED)
    assert len({random_score("a", SEED), random_score("b", SEED), random_score("a", b"another")}) == 3


def test_random_scores_are_between_zero_and_one_and_differ():
    drawn = [random_score(name, SEED) for name in NAMES]
    assert 0 <= min(drawn) < 0.1
    assert 0.9 < max(drawn) < 1
    assert len(set(drawn)) == len(NAMES)


def test_each_seed_gives_another_order():
    assert sorted(NAMES, key=lambda name: random_score(name, SEED)) != sorted(
        NAMES, key=lambda name: random_score(name, b"another")
    )


def test_the_failure_score_is_the_one_that_was_set():
    there = table(host("a"), host("b"))
    there.set_failure_score("b", 0.75)
    assert failure_score(REQUEST, there.attributes).tolist() == [0, 0.75]


def test_a_new_record_keeps_the_failure_score():
    there = table(host("a"), host("b"))
    there.set_failure_score("b", 0.75)
    there.put([host("b", ask=ask(gpu_per_hour=1))])
    assert failure_score(REQUEST, there.attributes).tolist() == [0, 0.75]


def test_the_last_failure_score_counts():
    there = table(host("a"))
    there.set_failure_score("a", 0.75)
    there.set_failure_score("a", 0.25)
    assert failure_score(REQUEST, there.attributes).tolist() == [0.25]


def test_the_failure_score_of_an_unknown_host_is_ignored():
    there = table(host("a"))
    assert there.set_failure_score("unheard-of", 1) is None
    assert failure_score(REQUEST, there.attributes).tolist() == [0]


MANIFEST = b"d" * 32


def test_an_image_counts_as_present_where_the_manifest_ran_recently():
    there = table(host("a"), host("b"))
    there.record_manifest(MANIFEST, "a")
    assert image_score(replace(REQUEST, manifest=MANIFEST), there.attributes).tolist() == [0, 1]


def test_for_a_manifest_that_ran_nowhere_all_hosts_are_equal():
    there = table(host("a"), host("b"))
    there.record_manifest(MANIFEST, "a")
    assert image_score(replace(REQUEST, manifest=b"other"), there.attributes).tolist() == [1, 1]
    assert image_score(REQUEST, there.attributes).tolist() == [0, 0]


def test_a_removed_host_with_the_image_is_ignored():
    there = table(host("a"), host("b"))
    there.record_manifest(MANIFEST, "unheard-of")
    assert image_score(replace(REQUEST, manifest=MANIFEST), there.attributes).tolist() == [1, 1]


def with_latency(ms: int):
    return host(str(ms), latency_ms=ms)


def test_the_latency_score_is_logarithmic_up_to_the_maximum():
    one, ten, hundred, long, longer = scored(
        "latency", *map(with_latency, (1, 10, 100, MAX_LATENCY_MS, 10 * MAX_LATENCY_MS))
    )
    assert one == 0
    assert (ten, hundred) == pytest.approx((1 / 3, 2 / 3))
    assert long == longer == 1


def test_an_unmeasured_latency_counts_one_half():
    unknown, near, far = scored("latency", *map(with_latency, (0, 31, 32)))
    assert near < unknown < far


def with_speed(down: int, up: int | None = None):
    return host(f"{down} {up}", network_mbps_down=down, network_mbps_up=down if up is None else up)


def test_the_network_score_is_logarithmic_up_to_the_maximum():
    speeds = (0, 10, 100, 1000, MAX_MBPS, 10 * MAX_MBPS)
    none, ten, hundred, thousand, fast, faster = scored("network", *map(with_speed, speeds))
    assert none == 1
    assert fast == faster == 0
    assert hundred - thousand == pytest.approx(ten - hundred, abs=0.01)


def test_the_slower_direction_of_the_network_counts():
    up, down, both = scored("network", with_speed(1000, 10), with_speed(10, 1000), with_speed(10))
    assert up == down == both


def test_an_unmeasured_network_counts_as_none():
    assert scored("network", with_speed(0), with_speed(1000, 0)) == [1, 1]


def asking(gty: float):
    return host(str(gty), ask=ask(cpu_core_per_hour=int(gty * GTY)))


def test_each_doubling_of_the_price_costs_the_same():
    found = scored("price", *(asking(100 / 2**halved) for halved in range(7)))
    assert found == pytest.approx([1, 0.75, 0.5, 0.25, 0, 0, 0], abs=1e-6)


def test_the_price_score_is_at_most_one():
    assert scored("price", asking(200)) == [1]


@pytest.mark.parametrize("limit", [30, 60, 120])
def test_the_limit_does_not_change_what_a_dearer_host_costs_more(limit: int):
    there = table(asking(10), asking(30)).attributes
    cheap, dear = price_score(PodRequest.of(task(max_rate_per_hour=limit * GTY)), there).tolist()
    assert dear - cheap == pytest.approx(np.log2(3) / PRICE_DOUBLINGS, abs=1e-6)


def test_a_limit_of_zero_is_no_division_by_zero():
    assert price_score(PodRequest.of(task(max_rate_per_hour=0)), table(asking(0), asking(1)).attributes).tolist() == [
        0,
        1,
    ]


def test_the_price_score_counts_requested_shares_of_gpus():
    there = table(host(devices=(gpu(), gpu()), ask=ask(gpu_per_hour=40 * GTY))).attributes
    whole, shared, two = (
        PodRequest.of(task(resources=pod(gpus=one))) for one in (wants(1), wants(1, milli=500), wants(2))
    )
    found = [float(price_score(request, there)[0]) for request in (whole, shared, two)]
    assert np.diff(found) == pytest.approx([-0.25, 0.5], abs=1e-6)


def test_hosts_with_equal_price_lists_have_equal_price_scores():
    there = table(
        host("a", ask=ask(cpu_core_per_hour=10 * GTY)), asking(30), host("c", ask=ask(cpu_core_per_hour=10 * GTY))
    ).attributes
    request = PodRequest.of(task())
    assert len(there.price_lists) == 2
    assert (
        price_score(request, there).tolist()
        == list_price_scores(request, there.price_lists, ALL_LISTS)[there.price_list].tolist()
    )
    assert price_score(request, there)[0] == price_score(request, there)[2] < price_score(request, there)[1]


@pytest.mark.parametrize(("ppm", "against"), [(1_000_000, 0), (750_000, 0.25), (500_000, 0.5), (0, 1)])
def test_the_reputation_score_is_what_the_host_lacks_of_the_best(ppm, against):
    assert scored("reputation", host(score_ppm=ppm)) == [against]


def test_a_host_without_history_scores_one_half():
    good, new, bad = scored("reputation", host("a", score_ppm=1_000_000), host("b"), host("c", score_ppm=0))
    assert good < new < bad
    assert new == 0.5


def test_a_small_change_of_reputation_does_not_change_the_attributes():
    there = table(host(score_ppm=700_000))
    assert not there.put([host(score_ppm=701_000)]).attributes
    assert there.put([host(score_ppm=740_000)]).attributes


def test_reputation_is_rounded_down_to_a_step():
    assert scored("reputation", host(score_ppm=999_999)) == [1 / 32]


MANIFEST = b"d" * 32


def test_the_sum_counts_every_score_by_its_weight():
    there = table(host("a", score_ppm=0))
    there.set_failure_score("a", 0.5)
    weights = ScoreWeights(price=0, failures=10, reputation=20, image=0, network=4, latency=2, draw=0)
    assert np.allclose(cost_without_price(REQUEST, there.attributes, weights), 10 * 0.5 + 20 + 4 + 2 * 0.5)


def chosen(planner: Planner, **changes: object) -> str:
    request = replace(REQUEST, **changes)

    class One(InOrder):
        def next_batch(self):
            found = super().next_batch()
            return None if found is None else found._replace(request=request)

    made = planner.plan(One([task()]))
    return made.placements[1][0].host


@pytest.mark.parametrize("better", ["h1", "h2"])
def test_of_otherwise_equal_hosts_the_one_with_the_better_score_is_taken(better: str):
    names = ("h1", "h2")
    by_reputation = Planner(b"seed")
    by_reputation.update_hosts(host(name, score_ppm=900_000 if name == better else 500_000) for name in names)
    assert chosen(by_reputation) == better
    by_network = Planner(b"seed")
    by_network.update_hosts(
        host(name, network_mbps_down=1000, network_mbps_up=1000 if name == better else 10) for name in names
    )
    assert chosen(by_network) == better
    by_latency = Planner(b"seed")
    by_latency.update_hosts(host(name, latency_ms=5 if name == better else 200) for name in names)
    assert chosen(by_latency) == better


@pytest.mark.parametrize("better", ["h1", "h2"])
def test_changes_between_cycles_count_in_the_next_cycle(better: str):
    found = Planner(b"seed")
    found.update_hosts([host("h1"), host("h2")])
    chosen(found, manifest=MANIFEST)
    found.release((1,))
    found.record_manifest(MANIFEST, better)
    assert chosen(found, manifest=MANIFEST) == better
    found.release((1,))
    found.set_failure_score(better, 0.5)
    assert chosen(found, manifest=MANIFEST) != better


def test_failures_outweigh_an_image_and_a_low_price():
    found = Planner(b"seed")
    found.update_hosts([host("h1", ask=ask()), host("h2", ask=ask(cpu_core_per_hour=50 * GTY))])
    found.record_manifest(MANIFEST, "h1")
    assert chosen(found, manifest=MANIFEST) == "h1"
    found.release((1,))
    found.set_failure_score("h1", 0.75)
    assert chosen(found, manifest=MANIFEST) == "h2"
