"""The benchmark of growth, with few hosts and tasks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")


@pytest.fixture
def growth(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import growth  # noqa: PLC0415  (found only now)

    yield growth
    for name in ("growth", "growth_world", "table"):
        sys.modules.pop(name, None)


def test_each_size_is_measured_and_drawn(growth, monkeypatch, tmp_path):
    monkeypatch.setattr(growth, "_ALONE", 5)
    said: list[str] = []
    plot = tmp_path / "growth.svg"
    figures = {figure.name: figure for figure in growth.measure(120, 50, said.append, plot=plot)}
    assert [line.split(":")[0] for line in said] == [
        "100 hosts",
        "120 hosts",
        "120 hosts with shares of 1000 accounts",
        "120 full hosts and different requests of one account",
        "120 hosts and 500 waiting tasks",
    ]
    assert figures["plan-round-placed"].value == 50
    assert figures["plan-online"].value > 0
    assert figures["plan-alone"].value > 0
    assert figures["plan-shares"].value > 0
    assert figures["plan-unplaceable"].value > 0
    assert figures["plan-memory"].value > 0
    assert "an event, µs" in plot.read_text(encoding="utf-8")


def test_the_made_up_world_is_the_same_each_time(growth):
    one, other = (list(growth.world.tasks(20, 400)) for _ in range(2))
    assert one == other
    assert len(growth.world.resources(400)) == 400
