"""How slow a host's network is, by its logarithm."""

from __future__ import annotations

import pytest
from core_builders import host
from score_cases import scored

from offchain.core.planning.scores.network import FAST_MBPS


def with_speed(down: int, up: int | None = None):
    return host(f"{down} {up}", network_mbps_down=down, network_mbps_up=down if up is None else up)


def test_each_tenfold_of_the_network_counts_the_same_up_to_a_fast_one():
    speeds = (0, 10, 100, 1000, FAST_MBPS, 10 * FAST_MBPS)
    none, ten, hundred, thousand, fast, faster = scored("network", *map(with_speed, speeds))
    assert none == 1
    assert fast == faster == 0
    assert hundred - thousand == pytest.approx(ten - hundred, abs=0.01)


def test_the_slower_direction_counts():
    up, down, both = scored("network", with_speed(1000, 10), with_speed(10, 1000), with_speed(10))
    assert up == down == both


def test_a_network_that_was_not_measured_counts_as_none():
    assert scored("network", with_speed(0), with_speed(1000, 0)) == [1, 1]
