"""Hosts that are online."""

from __future__ import annotations

from core_builders import host, task
from filter_cases import takers

from offchain.core.fleet.filters.online import Online
from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.want import Want
from offchain.core.values import HostStatus


def test_of_all_states_only_online_takes_pods():
    hosts = [host(status.name, status=status) for status in HostStatus]
    assert takers(Online(), *hosts) == ["ONLINE"]


def test_a_host_that_is_no_more_is_not_online():
    fleet = Fleet()
    fleet.put([host("a"), host("b")])
    fleet.gone("a")
    mask = Online().allows(Want.of(task()), fleet.facts)
    assert mask.sum() == 1
    assert mask[fleet.cluster.number("b")]


def test_a_host_that_comes_back_takes_pods_again():
    fleet = Fleet()
    fleet.put([host("a")])
    for status, fine in ((HostStatus.OFFLINE, False), (HostStatus.ONLINE, True), (HostStatus.DRAINING, False)):
        fleet.put([host("a", status=status)])
        assert Online().allows(Want.of(task()), fleet.facts).tolist() == [fine]
