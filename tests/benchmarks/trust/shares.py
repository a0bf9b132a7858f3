"""Chance that a host passes a challenge which computed only a share of the rows, by the product's verifier."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from time import perf_counter
from typing import Final

from table import Figure

from offchain.schema.challenge.order import OPENED
from tests.support.challenge_samples import Proof, honest, partial
from trust.costs import gty_per_pass

SHARES: Final = (0.5, 0.8, 0.95)


def passed_in_percent(share: float) -> float:
    """Return the chance that all opened rows are among the computed ones."""
    return 100 * share**OPENED


def measure(runs: int) -> tuple[list[Figure], list[str]]:
    """Return the shares of runs in which the host is caught, and the costs as lines."""
    proof = honest()
    figures: list[Figure] = []
    lines: list[str] = []
    for share in SHARES:
        passed, seconds = _passed(proof, share, runs)
        name, chance = f"trust-share-{100 * share:g}", share**OPENED
        caught = 100 * (1 - passed / runs)
        figures.append(Figure(f"{name}-caught", "%", (round(caught, 2),)))
        figures.append(Figure(f"{name}-caught-computed", "%", (round(100 - passed_in_percent(share), 4),)))
        lines.append(
            f"{name}: {passed} of {runs} passed, computed {100 * chance:.3g} %; a failure is found in "
            f"{1000 * statistics.median(seconds):.1f} ms at small n; the host loses {gty_per_pass(chance):,.0f} GTY "
            "for each challenge that it passes"
        )
    return figures, lines


def _passed(proof: Proof, share: float, runs: int) -> tuple[int, Sequence[float]]:
    """Return how many hosts with this share pass, and the seconds of each verdict."""
    passed, seconds = 0, []
    for run in range(runs):
        cheat = partial(proof, "rows", share, run)
        began = perf_counter()
        passed += cheat.verdict(run.to_bytes(4, "little")).is_right
        seconds.append(perf_counter() - began)
    return passed, seconds
