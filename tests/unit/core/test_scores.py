"""What speaks for a host: each score alone, and that it decides between hosts that are alike but for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from core_builders import GTY, host, task

from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.want import Want
from offchain.core.planning.once import InTurn
from offchain.core.planning.planner import Planner
from offchain.core.planning.scores import SCORES, Weights, beside_price
from offchain.core.planning.scores.draw import draw
from offchain.core.planning.scores.network import FAST_MBPS
from offchain.core.values import Host
from tests.chain_records import ask

WANT = Want.of(task())
IMAGE = b"d" * 32


def fleet(*hosts: Host) -> Fleet:
    found = Fleet()
    found.put(hosts)
    return found


def scored(name: str, *hosts: Host, want: Want = WANT) -> list[float]:
    return [float(one) for one in SCORES[name](want, fleet(*hosts).facts)]


def test_a_host_at_the_tenants_limit_has_the_whole_price_against_it():
    free, dear = ask(), ask(cpu_core_per_hour=100 * GTY)
    cheap, most = scored("price", host("a", ask=free), host("b", ask=dear))
    assert cheap == 0
    assert most == pytest.approx(1, abs=1e-6)


def test_reputation_counts_what_a_host_lacks_of_the_best_and_an_unknown_one_is_in_the_middle():
    good, new, bad = scored("reputation", host("a", score_ppm=1_000_000), host("b"), host("c", score_ppm=0))
    assert (good, new, bad) == (0, 0.5, 1)


def test_a_lease_more_or_less_does_not_score_a_host_anew():
    there = fleet(host(score_ppm=700_000))
    assert not there.put([host(score_ppm=701_000)]).facts
    assert there.put([host(score_ppm=740_000)]).facts


def test_each_tenfold_of_the_network_counts_the_same_up_to_a_fast_one():
    speeds = (0, 10, 100, 1000, FAST_MBPS, 10 * FAST_MBPS)
    hosts = [host(str(mbps), network_mbps_down=mbps, network_mbps_up=mbps) for mbps in speeds]
    none, ten, hundred, thousand, fast, faster = scored("network", *hosts)
    assert none == 1
    assert fast == faster == 0
    assert hundred - thousand == pytest.approx(ten - hundred, abs=0.01)


def test_where_its_manifest_ran_lately_an_image_counts_as_there():
    there = fleet(host("a"), host("b"))
    there.ran(IMAGE, "a")
    image = SCORES["image"]
    assert image(replace(WANT, manifest=IMAGE), there.facts).tolist() == [0, 1]
    assert image(replace(WANT, manifest=b"other"), there.facts).tolist() == [1, 1]
    assert image(WANT, there.facts).tolist() == [0, 0]


def test_the_failures_of_a_host_are_those_that_were_told():
    there = fleet(host("a"), host("b"))
    there.troubled("b", 0.75)
    there.put([host("b", ask=ask(gpu_per_hour=1))])
    assert SCORES["failures"](WANT, there.facts).tolist() == [0, 0.75]
    assert there.troubled("unheard-of", 1) is None


def test_a_draw_depends_on_the_host_and_on_who_draws():
    assert draw("a", b"one") == draw("a", b"one")
    assert len({draw("a", b"one"), draw("b", b"one"), draw("a", b"two")}) == 3


def test_the_sum_counts_every_score_by_its_weight():
    there = fleet(host("a", score_ppm=0))
    there.troubled("a", 0.5)
    weights = Weights(price=0, failures=10, reputation=20, image=0, network=4, draw=0)
    assert np.allclose(beside_price(WANT, there.facts, weights), 10 * 0.5 + 20 + 4)


def chosen(planner: Planner, **changes: object) -> str:
    want = replace(WANT, **changes)

    class One(InTurn):
        def run(self):
            found = super().run()
            return None if found is None else found._replace(want=want)

    made = planner.plan(One([task()]))
    return made.placements[1][0].host


@pytest.mark.parametrize("better", ["h1", "h2"])
def test_of_hosts_that_are_alike_the_one_with_the_better_score_is_taken(better: str):
    names = ("h1", "h2")
    by_reputation = Planner(b"seed")
    by_reputation.put_hosts(host(name, score_ppm=900_000 if name == better else 500_000) for name in names)
    assert chosen(by_reputation) == better
    by_network = Planner(b"seed")
    by_network.put_hosts(
        host(name, network_mbps_down=1000, network_mbps_up=1000 if name == better else 10) for name in names
    )
    assert chosen(by_network) == better


@pytest.mark.parametrize("better", ["h1", "h2"])
def test_what_is_told_between_rounds_counts_in_the_next(better: str):
    found = Planner(b"seed")
    found.put_hosts([host("h1"), host("h2")])
    chosen(found, manifest=IMAGE)
    found.release(1)
    found.ran(IMAGE, better)
    assert chosen(found, manifest=IMAGE) == better
    found.release(1)
    found.troubled(better, 0.5)
    assert chosen(found, manifest=IMAGE) != better


def test_failures_outweigh_an_image_and_a_low_price():
    found = Planner(b"seed")
    found.put_hosts([host("h1", ask=ask()), host("h2", ask=ask(cpu_core_per_hour=50 * GTY))])
    found.ran(IMAGE, "h1")
    assert chosen(found, manifest=IMAGE) == "h1"
    found.release(1)
    found.troubled("h1", 0.75)
    assert chosen(found, manifest=IMAGE) == "h2"
