"""Round trips that are short enough, and were measured."""

from __future__ import annotations

import pytest
from core_builders import host, task
from filter_cases import takers

from offchain.core.fit import Misfit
from offchain.core.fleet.filters.latency import LatencyTooHigh
from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.want import Want
from tests.support.chain_records import placement

HOSTS = tuple(host(str(ms), latency_ms=ms) for ms in (0, 1, 50, 51, 65_535))


@pytest.mark.parametrize(
    ("longest", "fine"), [(1, ["1"]), (49, ["1"]), (50, ["1", "50"]), (65_535, ["1", "50", "51", "65535"])]
)
def test_the_longest_itself_is_short_enough_and_what_was_not_measured_is_not(longest, fine):
    assert takers(LatencyTooHigh(), *HOSTS, max_latency_ms=longest) == fine


def test_who_asks_for_no_latency_does_not_care():
    assert takers(LatencyTooHigh(), *HOSTS) is None


def excluded(fleet: Fleet, **wishes: int) -> dict[Misfit, int]:
    return dict(fleet.excluded(Want.of(task(placement=placement(**wishes)))))


def test_too_slow_a_network_is_told_before_too_long_a_round_trip():
    fleet = Fleet()
    fleet.put(HOSTS)
    assert excluded(fleet, max_latency_ms=50) == {Misfit.LATENCY_TOO_HIGH: 3}
    assert excluded(fleet, max_latency_ms=50, min_network_mbps=1) == {Misfit.NOT_ENOUGH_NETWORK: 5}


def test_a_record_that_differs_in_latency_alone_is_taken_in():
    fleet = Fleet()
    fleet.put([host("h", latency_ms=20)])
    assert fleet.put([host("h", latency_ms=60)]).facts
    assert excluded(fleet, max_latency_ms=50) == {Misfit.LATENCY_TOO_HIGH: 1}
