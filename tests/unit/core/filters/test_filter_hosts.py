"""Hosts that the tenant has picked."""

from __future__ import annotations

import pytest
from core_builders import host
from filter_cases import takers

from offchain.core.fleet.filters.hosts import HostNotWanted

HOSTS = host("a"), host("b"), host("c")


@pytest.mark.parametrize(
    ("named", "fine"),
    [(("b",), ["b"]), (("c", "a"), ["a", "c"]), (("unheard-of", "a"), ["a"]), (("unheard-of",), [])],
)
def test_only_hosts_that_are_named_take_it(named, fine):
    assert takers(HostNotWanted(), *HOSTS, hosts=named) == fine


def test_where_none_is_named_any_will_do():
    assert takers(HostNotWanted(), *HOSTS) is None
