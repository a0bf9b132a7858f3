"""A task that takes over data goes where the data lies."""

from __future__ import annotations

from core_builders import host
from filter_cases import takers

from offchain.core.fleet.filters.data import DataElsewhere
from offchain.core.values import RetainedData


def takes_over(name):
    return {"takes_over": RetainedData(name, disk_gib=10)}


def test_only_the_host_that_has_the_data_takes_it():
    assert takers(DataElsewhere(), host("a"), host("b"), task_changes=takes_over("b")) == ["b"]


def test_data_of_a_host_that_is_not_known_is_nowhere():
    assert takers(DataElsewhere(), host("a"), host("b"), task_changes=takes_over("gone")) == []


def test_who_takes_over_nothing_does_not_care():
    assert takers(DataElsewhere(), host("a")) is None
