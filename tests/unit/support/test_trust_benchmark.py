"""The benchmark of trust: chances of capture, weights of a challenge, audits, and small runs of its parts."""

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from types import ModuleType

import pytest

from offchain.devnet.paths import ROOT
from tests.support.committee_draw import drawn_members

BENCHMARKS = str(ROOT / "tests" / "benchmarks")
VECTORS = ROOT / "tests" / "vectors" / "committees.json"
Bench = Callable[[str], ModuleType]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.syspath_prepend(BENCHMARKS)
    yield lambda name: importlib.import_module(f"trust.{name}")
    for name in [name for name in sys.modules if name.partition(".")[0] in ("trust", "table", "main_job", "log_lines")]:
        del sys.modules[name]


def test_a_committee_is_drawn_as_the_node_draws_it() -> None:
    """The cases are draws of a released node."""
    page = json.loads(VECTORS.read_text(encoding="utf-8"))
    keys = [bytes.fromhex(one) for one in page["verifiers"]]
    assert len(page["draws"]) >= 10
    for case in page["draws"]:
        candidates = [keys[place] for place in case["candidates"]]
        members = drawn_members(bytes.fromhex(case["seed"]), candidates, len(case["members"]))
        assert [keys.index(one) for one in members] == case["members"]


def test_the_chance_of_capture_is_the_share_of_captured_committees_among_all(bench: Bench) -> None:
    capture = bench("capture")
    listed, held, seats = 11, 5, 3
    committees = list(combinations(range(listed), seats))
    bad = [one for one in committees if sum(member < held for member in one) >= 2]
    assert capture.captured(listed, held, seats) == Fraction(len(bad), len(committees))
    both = [
        (first, second)
        for first in bad
        for second in combinations(set(range(listed)) - set(first), seats)
        if sum(member < held for member in second) >= 2
    ]
    pairs = len(committees) * len(list(combinations(range(listed - seats), seats)))
    assert capture.both_captured(listed, held, seats) == Fraction(len(both), pairs)


@pytest.mark.parametrize(("listed", "held", "chance"), [(21, 2, 0), (21, 21, 1), (100, 0, 0)])
def test_capture_needs_a_majority_of_the_seats(bench: Bench, listed: int, held: int, chance: int) -> None:
    assert bench("capture").captured(listed, held, 5) == chance


def test_draws_by_the_rule_of_the_chain_are_captured_as_often_as_computed(bench: Bench) -> None:
    capture = bench("capture")
    draws = 3_000
    found = capture.simulated(60, 20, draws)
    for seen, chance in (
        (found.first, capture.captured(60, 20, 5)),
        (found.both, capture.both_captured(60, 20, 5)),
        (found.jury, capture.captured(60, 20, 7)),
    ):
        expected = draws * float(chance)
        # The seeds are fixed, so this cannot fail by chance.
        assert abs(seen - expected) <= 4 * (expected * (1 - float(chance))) ** 0.5


def test_the_plot_is_the_same_for_the_same_counts(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    capture = bench("capture")
    drawn = []
    for name in ("one.svg", "other.svg"):
        monkeypatch.setattr(capture, "PLOT", tmp_path / name)
        capture.draw_plot({33: capture.CaptureCount(100, 20, 4, 10)})
        drawn.append((tmp_path / name).read_bytes())
    assert drawn[0] == drawn[1]
    assert b"<svg" in drawn[0]


def test_the_weight_of_a_challenge_is_that_of_its_calls(bench: Bench) -> None:
    daily = bench("daily")
    limits = daily.BlockLimits(extrinsic=1, block=1_000, read=10, write=100)
    text = """
        answer() = 1_000, 5, 2, 1;
        commit_vote() = 2_000, 5, 0, 0;
        draw_seed() = 0, 5, 1, 0;
        open_challenge() = 3_000, 5, 0, 0;
        reveal_vote() = 50_000, 5, 0, 0;
        stale_entry() = 7, 5, 0, 0;
    """
    weights = daily.call_weights(text, limits)
    assert weights["answer"] == 1_000 + 2 * 10 + 100
    expected = 3_000 + 1_120 + 3 * 2_000 + 2 * (2_000 + 10) + 50_000 + 10 + 3 * 7 + 8
    assert daily.challenge_weight(weights, limits, committee=3) == expected


def test_the_weights_of_the_runtime_are_read(bench: Bench) -> None:
    daily = bench("daily")
    limits = daily.block_limits()
    weights = daily.call_weights(daily._WEIGHTS.read_text(encoding="utf-8"), limits)
    assert 10**9 < daily.challenge_weight(weights, limits) < limits.block / 50


def test_a_proven_host_has_a_twentieth_of_its_results_computed_again(bench: Bench) -> None:
    figures = {figure.name: figure for figure in bench("audits").measure()[0]}
    assert 4.8 <= figures["trust-audit"].value <= 5.2
    assert figures["trust-audit"].met
    # 10 for certain, then 1/10 to 1/19, then a twentieth.
    assert 13.5 <= figures["trust-audit-first-100"].value <= 16
    assert 18 <= figures["trust-audit-wrong-results"].value <= 22


def test_few_runs_of_each_simulated_part_give_its_figures(bench: Bench) -> None:
    names = [figure.name for figure in bench("honest").measure(20)[0]]
    assert names[0] == "trust-false-verdicts"
    shares = {figure.name: figure.value for figure in bench("shares").measure(40)[0]}
    assert shares["trust-share-50-caught"] == 100
    assert shares["trust-share-80-caught-computed"] == 98.85


def test_a_much_slower_model_misses_the_deadline_and_a_little_slower_one_does_not(bench: Bench) -> None:
    late, pairs = bench("attacks").pairs_too_slow(1.0)
    much_slower_late, much_slower = bench("attacks").pairs_too_slow(0.5)
    assert late < 0.5 * pairs
    assert much_slower_late == much_slower


def test_a_host_that_passes_rarely_loses_more_than_it_can_gain(bench: Bench) -> None:
    costs = bench("costs")
    assert costs.failure_gty() == 102
    assert costs.gty_per_pass(0.5) == 102
    assert costs.gty_per_pass(0.01) == pytest.approx(102 * 99)
