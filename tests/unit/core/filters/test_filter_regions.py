"""Regions that the tenant allows."""

from __future__ import annotations

import pytest
from core_builders import host
from filter_cases import takers

from offchain.core.fleet.filters.regions import RegionNotWanted

HOSTS = host("a", region=b"eu"), host("b", region=b"us"), host("c", region=b"eu-central"), host("d", region=b"")


@pytest.mark.parametrize(
    ("regions", "fine"),
    [((b"eu",), ["a"]), ((b"us", b"eu-central"), ["b", "c"]), ((b"mars",), []), ((b"eu", b"mars"), ["a"])],
)
def test_a_region_is_one_of_those_named_by_its_whole_name(regions, fine):
    assert takers(RegionNotWanted(), *HOSTS, regions=regions) == fine


def test_where_none_is_named_any_will_do():
    assert takers(RegionNotWanted(), *HOSTS) is None
