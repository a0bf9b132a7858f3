"""How evenly something was shared: Jain's index.

    index = (Σ x)² / (n * Σ x²)

1: all got the same; 1/n: one got everything.
(Jain, Chiu and Hawe, DEC Research Report TR-301, 1984.)
"""

from __future__ import annotations

from collections.abc import Iterable


def jain(values: Iterable[float]) -> float:
    """Jain's index of these; 1 where there are none, or all are nothing."""
    found = list(values)
    squares = sum(value * value for value in found)
    return sum(found) ** 2 / (len(found) * squares) if squares else 1.0
