"""What speaks for a host, all together: it decides between hosts that are alike but for one score."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from core_builders import GTY, host, task
from score_cases import WANT, fleet

from offchain.core.planning.once import InTurn
from offchain.core.planning.planner import Planner
from offchain.core.planning.scores import Weights, beside_price
from tests.support.chain_records import ask

IMAGE = b"d" * 32


def test_the_sum_counts_every_score_by_its_weight():
    there = fleet(host("a", score_ppm=0))
    there.troubled("a", 0.5)
    weights = Weights(price=0, failures=10, reputation=20, image=0, network=4, latency=2, draw=0)
    assert np.allclose(beside_price(WANT, there.facts, weights), 10 * 0.5 + 20 + 4 + 2 * 0.5)


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
    by_latency = Planner(b"seed")
    by_latency.put_hosts(host(name, latency_ms=5 if name == better else 200) for name in names)
    assert chosen(by_latency) == better


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
