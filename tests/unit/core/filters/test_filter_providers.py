"""Providers that the tenant allows and does not deny."""

from __future__ import annotations

import pytest
from core_builders import host
from filter_cases import takers

from offchain.core.fleet.filters.providers import ProviderNotWanted

HOSTS = host("a", provider="p"), host("b", provider="q"), host("c", provider="r"), host("d", provider="p")


@pytest.mark.parametrize(
    ("allowed", "denied", "fine"),
    [
        (("p",), (), ["a", "d"]),
        ((), ("p",), ["b", "c"]),
        (("p", "q"), ("q",), ["a", "d"]),
        (("p",), ("p",), []),
        (("unheard-of",), (), []),
        ((), ("unheard-of",), ["a", "b", "c", "d"]),
    ],
)
def test_who_is_allowed_takes_it_and_who_is_denied_never(allowed, denied, fine):
    assert takers(ProviderNotWanted(), *HOSTS, providers_allowed=allowed, providers_denied=denied) == fine


def test_where_nobody_is_named_any_will_do():
    assert takers(ProviderNotWanted(), *HOSTS) is None
