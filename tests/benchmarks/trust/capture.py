"""Chance that an attacker with a share of the bonds decides a verdict: computed, and drawn by the chain's rule.

Each account on the list has the same bond and one ticket in each draw, so the share of the bonds is the share of the
accounts. A committee is captured when the attacker has the majority of its seats.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Final

from main_job import say
from table import Figure

from offchain.devnet.paths import ROOT
from offchain.schema.chain_types._generated_chain import MatterChallenge
from tests.support.committee_draw import committee_seed, drawn_members
from trust.costs import COMMITTEE, VERIFIER_BOND_GTY

PLOT: Final = ROOT / "docs" / "images" / "committee-capture.svg"
LIST: Final = 100
"""Verifiers on the list of the figures."""
LISTS: Final = (21, 100, 512)
"""Verifiers on the lists of the plot: the fewest with which committees are drawn, and the most."""
SHARES: Final = (10, 33, 50)
"""Shares of the bonds, in percent."""
DRAWS: Final = 20_000
JURY: Final = 7
"""Members of the jury of an appeal."""
_PER_MILLION: Final = 1_000_000


def majority(seats: int) -> int:
    return seats // 2 + 1


def captured(listed: int, held: int, seats: int) -> Fraction:
    """Return the chance that `held` of `listed` accounts get the majority of the seats (hypergeometric tail)."""
    total = comb(listed, seats)
    tail = (comb(held, won) * comb(listed - held, seats - won) for won in range(majority(seats), seats + 1))
    return Fraction(sum(tail), total)


def both_captured(listed: int, held: int, seats: int) -> Fraction:
    """Return the chance that two committees without a common member are captured, as a verdict against a host needs."""
    chance = Fraction(0)
    for won in range(majority(seats), seats + 1):
        if won > held or seats - won > listed - held:
            continue
        first = Fraction(comb(held, won) * comb(listed - held, seats - won), comb(listed, seats))
        chance += first * captured(listed - seats, held - won, seats)
    return chance


@dataclass(frozen=True, slots=True)
class CaptureCount:
    """Draws in which the first committee, both committees, or the jury of an appeal were captured."""

    draws: int
    first: int
    both: int
    jury: int


def simulated(listed: int, held: int, draws: int, seats: int = COMMITTEE) -> CaptureCount:
    """Draw committees of challenges by the chain's rule. The second is drawn by the same seed from the others."""
    accounts = [hashlib.sha256(f"verifier/{number}".encode()).digest() for number in range(listed)]
    bought = frozenset(accounts[:held])

    def is_captured(members: Sequence[bytes]) -> bool:
        return sum(one in bought for one in members) >= majority(len(members))

    first = both = jury = 0
    for draw in range(draws):
        randomness = hashlib.sha256(f"randomness/{draw}".encode()).digest()
        seed = committee_seed(MatterChallenge(draw), 0, randomness)
        ordered = drawn_members(seed, accounts, 2 * seats)
        is_first = is_captured(ordered[:seats])
        first += is_first
        both += is_first and is_captured(ordered[seats:])
        jury += is_captured(ordered[:JURY])
    return CaptureCount(draws, first, both, jury)


def held_of(listed: int, percent: float) -> int:
    return round(listed * percent / 100)


def measure(draws: int, *, plot: bool) -> tuple[list[Figure], list[str]]:
    """Return computed and simulated chances for a list of 100, in parts per million, and lines for other lists."""
    figures: list[Figure] = []
    lines: list[str] = []
    counts = {}
    for percent in SHARES:
        held = held_of(LIST, percent)
        say(f"draws {draws:,} committees with {percent} % of the bonds bought")
        counts[percent] = count = simulated(LIST, held, draws)
        name = f"trust-capture-{percent}"
        cases: Sequence[tuple[str, Fraction, int]] = (
            ("", captured(LIST, held, COMMITTEE), count.first),
            ("-confirmed", both_captured(LIST, held, COMMITTEE), count.both),
            ("-jury", captured(LIST, held, JURY), count.jury),
        )
        for suffix, chance, seen in cases:
            figures.append(Figure(f"{name}{suffix}", "per million", (_millionths(chance),)))
            figures.append(Figure(f"{name}{suffix}-drawn", "per million", (_millionths(Fraction(seen, draws)),)))
    for listed in LISTS:
        chances = ", ".join(
            f"{percent} %: {float(captured(listed, held_of(listed, percent), COMMITTEE)):.2%}" for percent in SHARES
        )
        bonds = ", ".join(f"{held_of(listed, percent) * VERIFIER_BOND_GTY:,}" for percent in SHARES)
        lines.append(f"{listed} verifiers: a committee is captured with {chances} of the bonds ({bonds} GTY)")
    if plot:
        draw_plot(counts)
        lines.append(f"drawn: {PLOT.relative_to(ROOT)}")
    return figures, lines


def _millionths(chance: Fraction) -> float:
    return round(float(chance) * _PER_MILLION, 2)


def draw_plot(counts: dict[int, CaptureCount]) -> None:
    """Draw the chances by the share of the bonds, computed as lines and simulated as points."""
    from matplotlib import rc_context  # noqa: PLC0415  (slow to load)
    from matplotlib.figure import Figure as Drawing  # noqa: PLC0415

    cases: Sequence[tuple[str, Callable[[int], Fraction], Callable[[CaptureCount], int]]] = (
        ("one committee of 5: a fake passes", lambda held: captured(LIST, held, COMMITTEE), lambda count: count.first),
        (
            "two committees of 5: an honest host is punished",
            lambda held: both_captured(LIST, held, COMMITTEE),
            lambda count: count.both,
        ),
        ("jury of 7: the last appeal of a dispute", lambda held: captured(LIST, held, JURY), lambda count: count.jury),
    )
    shares = range(4, 67)
    # The same values give the same file: no date, no random names.
    with rc_context({"svg.hashsalt": "gantry"}):
        drawing = Drawing(figsize=(8, 5), layout="constrained")
        axes = drawing.subplots()
        for place, (label, chance, seen) in enumerate(cases):
            values = [float(chance(held_of(LIST, share))) for share in shares]
            axes.plot(list(shares), values, color=f"C{place}", label=label)
            found = [(percent, seen(count) / count.draws) for percent, count in counts.items() if seen(count)]
            axes.plot([one[0] for one in found], [one[1] for one in found], "o", color=f"C{place}")
        axes.set(
            yscale="log",
            ylim=(1e-6, 1),
            xlabel="share of all verifiers' bonds, %",
            ylabel="chance of a captured verdict",
            title=f"{LIST} verifiers; lines computed, points drawn by the chain's rule",
        )
        axes.grid(visible=True, which="major", linewidth=0.3)
        axes.legend(loc="lower right")
        PLOT.parent.mkdir(exist_ok=True)
        drawing.savefig(PLOT, format="svg", metadata={"Date": None})
