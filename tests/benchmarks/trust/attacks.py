"""Attacks on challenges in simulated time: share caught, time, cost to the attacker and to honest parties."""

from __future__ import annotations

import statistics
from typing import Final

from main_job import say
from table import Figure

from offchain.schema.chain_types._generated_chain import ChallengeOutcome
from offchain.schema.challenge.models import MODELS, GpuModel
from tests.support import verdict_attackers
from tests.support.challenge_attackers import (
    ATTACKS,
    BLOCKS_S,
    BUS_RATE,
    H100,
    AttackCount,
    counted,
    seconds_of,
    terms_with,
    unnoticed_missing_share,
)
from trust import verify
from trust.costs import failure_gty

RUNS: Final = 100
"""Runs of each attack."""
_COLLUDING: Final = (1, 2, 10, 33, 50)
"""Providers of 100 that report one wrong result."""
_ENOUGH_MEMORY: Final = 0.95
"""Share of the claimed memory from which a slower model has a fair chance to hold the pages."""


def measure(runs: int) -> tuple[list[Figure], list[str]]:
    """Return the share of runs in which each attack is caught, and rows of the table in docs/trust.md."""
    verify_s = statistics.median(verify.samples()["verify"])
    figures: list[Figure] = []
    lines = ["attack | caught | passed | opening to verdict | attacker | verifiers"]
    for attack in ATTACKS:
        say(f"{runs} runs of {attack.name}")
        count = counted(attack, runs)
        figures.append(Figure(f"trust-attack-{attack.name}", "%", (round(100 * count.caught / runs, 2),)))
        lines.append(_row(count, verify_s))
    for name, rate, text in (("", 1.0, "slower"), ("-half", 0.5, "at most half as fast")):
        late, pairs = pairs_too_slow(rate)
        figures.append(Figure(f"trust-fake-pairs{name}", "%", (round(100 * late / pairs, 2),)))
        lines.append(f"{late} of {pairs} pairs of models miss the deadline, where one is {text} and has enough memory")
    missing = 100 * unnoticed_missing_share(H100, BUS_RATE)
    figures.append(Figure("trust-memory-unnoticed", "%", (round(missing, 2),)))
    for name, found in (("honest", verdict_attackers.withheld), ("fake", verdict_attackers.withheld_fake)):
        for share in verdict_attackers.SHARES:
            silent = found(share, runs=runs)
            denied = round(100 * silent.outcomes[ChallengeOutcome.NO_VERDICT] / runs, 2)
            figures.append(Figure(f"trust-withheld-{name}-{share:.0%}".rstrip("%"), "%", (denied,)))
            ends = ", ".join(f"{number} {outcome}" for outcome, number in sorted(silent.outcomes.items()))
            lines.append(f"reveals withheld by {share:.0%}, {name} host: {ends}; {silent.withheld:.2f} votes a run")
    for hosts in _COLLUDING:
        count = verdict_attackers.colluding(hosts, runs)
        figures.append(Figure(f"trust-collusion-{hosts}", "%", (round(100 * count.caught / runs, 2),)))
        lines.append(
            f"{hosts} of {verdict_attackers.PROVIDERS} providers collude: {count.caught} wrong results caught, "
            f"{count.accepted} agreed (computed {100 * verdict_attackers.accepted_chance(hosts):.1f} %), "
            f"{count.honest_slashed} honest hosts slashed"
        )
    return figures, lines


def _row(count: AttackCount, verify_s: float) -> str:
    loss_gty = failure_gty() * count.caught / count.runs
    return (
        f"{count.attack.about} | {count.caught} of {count.runs} | {count.passed} | {count.open_s:.0f} s | "
        f"{count.device_s:.0f} s of its device, {loss_gty:.0f} GTY | {count.examinations * verify_s:.1f} s of a core"
    )


def pairs_too_slow(rate: float) -> tuple[int, int]:
    """Return how many models miss the deadline of a claimed one at their expected rates, and how many pairs there are.

    A pair is a model that has the memory and, in the products, less than this share of the claimed model's rate.
    """
    pairs = [(actual, claimed) for actual in MODELS for claimed in MODELS if _may_claim(actual, claimed, rate)]
    late = sum(
        1000 * (seconds_of(actual, claimed) + BLOCKS_S) > terms_with(claimed).deadline_ms for actual, claimed in pairs
    )
    return late, len(pairs)


def _may_claim(actual: GpuModel, claimed: GpuModel, rate: float) -> bool:
    has_memory = actual.vram_gib >= _ENOUGH_MEMORY * claimed.vram_gib
    return has_memory and actual.expected_flops < rate * claimed.expected_flops
