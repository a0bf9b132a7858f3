"""Networks that are fast enough in both directions."""

from __future__ import annotations

import pytest
from core_builders import host
from filter_cases import takers

from offchain.core.fleet.filters.network import NotEnoughNetwork

HOSTS = (
    host("unmeasured"),
    host("down", network_mbps_down=1000, network_mbps_up=10),
    host("up", network_mbps_down=10, network_mbps_up=1000),
    host("both", network_mbps_down=1000, network_mbps_up=1000),
)


@pytest.mark.parametrize(
    ("least", "fine"),
    [(1, ["down", "up", "both"]), (10, ["down", "up", "both"]), (11, ["both"]), (1000, ["both"]), (1001, [])],
)
def test_the_slower_direction_counts_and_the_least_itself_is_enough(least, fine):
    assert takers(NotEnoughNetwork(), *HOSTS, min_network_mbps=least) == fine


def test_who_asks_for_no_speed_does_not_care():
    assert takers(NotEnoughNetwork(), *HOSTS) is None
