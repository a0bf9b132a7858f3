"""Each filter and each score has a file, a place among the others, and a test file of its own."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from offchain.core.fleet import filters, rules
from offchain.core.planning import scores

HERE = Path(__file__).parent
_NONE = {"__init__", "filter", "weights"}


def files(package) -> list[str]:
    return sorted({path.stem for path in Path(package.__file__).parent.glob("*.py")} - _NONE)


@pytest.mark.parametrize("name", files(filters))
def test_a_filter_is_asked_and_has_a_test(name: str):
    asked = [one.__class__.__module__ for one in (*rules.BEFORE_ROOM, *rules.AFTER_ROOM)]
    assert f"{filters.__name__}.{name}" in asked
    assert (HERE / "filters" / f"test_filter_{name}.py").exists()


@pytest.mark.parametrize("name", files(scores))
def test_a_score_has_a_weight_and_a_test(name: str):
    assert name in {field.name for field in fields(scores.Weights)}
    assert name in scores.SCORES or name == "draw", "the draw is no function of facts"
    assert (HERE / "scores" / f"test_score_{name}.py").exists()
