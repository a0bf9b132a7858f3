"""How much each score counts. docs/scheduling.md gives the reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

STEP: Final = 100.0
"""Points that one step of lost worth counts, placing/worth.py: the measure of all weights."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Points at most."""

    price: float = 3 * STEP
    failures: float = 4 * STEP
    reputation: float = 1.5 * STEP
    image: float = 0.5 * STEP
    network: float = 0.2 * STEP
    latency: float = 0.2 * STEP
    draw: float = 0.5
