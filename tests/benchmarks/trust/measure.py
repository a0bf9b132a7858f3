"""Trust: what challenges and audits cost, what they find, and whom they wrong; in parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from main_job import say
from table import Figure

from trust import attacks, audits, capture, daily, honest, opened, shares, verify


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustPlan:
    """How much of everything. `plot`: the chances of capture are drawn into docs/images."""

    hosts: int = daily.HOSTS
    challenges: int = honest.CHALLENGES
    draws: int = capture.DRAWS
    runs: int = attacks.RUNS
    plot: bool = False


_Found = tuple[Sequence[Figure], Sequence[str]]
_PARTS: Final[dict[str, Callable[[TrustPlan], _Found]]] = {
    "verify": lambda _: (verify.measure(), ()),
    "chance": lambda plan: shares.measure(4 * plan.runs),
    "capture": lambda plan: capture.measure(plan.draws, plot=plan.plot),
    "false": lambda plan: honest.measure(plan.challenges),
    "audit": lambda _: audits.measure(),
    "daily": lambda plan: daily.measure(plan.hosts),
    "attacks": lambda plan: attacks.measure(plan.runs),
    "opened": lambda _: (opened.measure(), ()),
}
PARTS: Final = tuple(_PARTS)


def measure(parts: Sequence[str], plan: TrustPlan) -> tuple[list[Figure], list[str]]:
    """Return the figures of the parts, and lines about them."""
    figures: list[Figure] = []
    lines: list[str] = []
    for name in parts:
        say(f"part {name}")
        found, told = _PARTS[name](plan)
        figures += found
        lines += told
    return figures, lines
