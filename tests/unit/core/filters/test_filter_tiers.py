"""Tiers that the tenant allows."""

from __future__ import annotations

from core_builders import host
from filter_cases import takers

from offchain.core.fleet.filters.tiers import TierNotWanted
from offchain.core.values import Tier

HOSTS = tuple(host(tier.name, tier=tier) for tier in Tier)


def test_only_tiers_that_are_named_take_it():
    for tier in Tier:
        assert takers(TierNotWanted(), *HOSTS, tiers=(tier,)) == [tier.name]
    assert takers(TierNotWanted(), *HOSTS, tiers=tuple(Tier)) == [tier.name for tier in Tier]


def test_a_tier_that_no_host_has_excludes_all():
    assert takers(TierNotWanted(), host("a", tier=Tier.CONSUMER), tiers=(Tier.DATACENTER,)) == []


def test_where_none_is_named_any_will_do():
    assert takers(TierNotWanted(), *HOSTS) is None
