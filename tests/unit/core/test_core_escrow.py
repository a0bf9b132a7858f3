"""The cases of tests/vectors/escrow.json, which the chain runs too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from offchain.core.values import BillingUnit
from offchain.schema.chain_types.escrow import billed_ms, depletes_at, ends_at, owed_by
from tests.support.chain_records import escrow

CASES = json.loads((Path(__file__).parents[2] / "vectors" / "escrow.json").read_text(encoding="utf-8"))["escrow"]
COINS = ("deposit", "rate_per_hour", "accrued", "paid")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_escrow(case):
    plain = case["escrow"] | {name: int(case["escrow"][name]) for name in COINS}
    held = escrow(**plain | {"unit": BillingUnit(plain["unit"])})
    now, downtime = case["now"], case["host_downtime"]
    assert billed_ms(held, now, downtime) == case["billed_ms"]
    assert owed_by(held, now, downtime) == int(case["owed"])
    assert depletes_at(held, downtime) == case["depletes_at"]
    assert ends_at(held, downtime, case["reclaim_at"]) == case["ends_at"]
