"""The cases of tests/vectors/sla.json, which the chain runs too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from offchain.core.sla import Measured, credit
from offchain.core.values import SlaTerms

CASES = json.loads((Path(__file__).parents[2] / "vectors" / "sla.json").read_text(encoding="utf-8"))["credit"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_credit(case):
    measured = Measured(**{name: int(value) for name, value in case["measured"].items()})
    assert credit(SlaTerms(**case["terms"]), measured) == int(case["credit"])
