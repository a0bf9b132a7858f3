"""Hosts that bill by the task's unit."""

from __future__ import annotations

import pytest
from core_builders import host
from filter_cases import takers

from offchain.core.fleet.filters.unit import UnitNotOffered
from offchain.core.values import BillingUnit
from tests.support.chain_records import ask

HOSTS = (
    host("all", ask=ask()),
    host("second", ask=ask(hour_ppm=0, day_ppm=0)),
    host("day", ask=ask(second_ppm=0, hour_ppm=0, day_ppm=1)),
    host("none", ask=ask(second_ppm=0, hour_ppm=0, day_ppm=0)),
)


@pytest.mark.parametrize(
    ("unit", "fine"),
    [
        (BillingUnit.SECOND, ["all", "second"]),
        (BillingUnit.HOUR, ["all"]),
        (BillingUnit.DAY, ["all", "day"]),
    ],
)
def test_a_unit_with_a_price_factor_of_nothing_is_not_offered(unit, fine):
    assert takers(UnitNotOffered(), *HOSTS, task_changes={"unit": unit}) == fine
