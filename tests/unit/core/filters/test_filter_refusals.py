"""Hosts that refused the task."""

from __future__ import annotations

from core_builders import host
from filter_cases import takers

from offchain.core.fleet.filters.refusals import HostRefused

HOSTS = host("a"), host("b"), host("c")


def test_hosts_that_refused_it_do_not_take_it_again():
    assert takers(HostRefused(), *HOSTS, task_changes={"refused_by": ("a", "c", "unheard-of")}) == ["b"]


def test_where_none_refused_any_will_do():
    assert takers(HostRefused(), *HOSTS) is None
