"""How evenly a network was shared: Jain's index over what accounts got of what they asked for.

    index = (Σ x)² / (n * Σ x²),  x = got / asked

Got and asked are dominant shares times time. 1: all got the same part of what they asked for; 1/n: one got everything.
(Jain, Chiu and Hawe, DEC Research Report TR-301, 1984.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from offchain.core.queues.amount import NOTHING, Amount
from offchain.core.queues.share import dominant_share


def jain(values: Iterable[float]) -> float:
    """Jain's index of these; 1 where there are none, or all are nothing."""
    found = list(values)
    squares = sum(value * value for value in found)
    return sum(found) ** 2 / (len(found) * squares) if squares else 1.0


@dataclass(slots=True)
class Fairness:
    """What each account got and asked for, in dominant shares times ms."""

    got: dict[str, float] = field(default_factory=dict)
    asked: dict[str, float] = field(default_factory=dict)

    def passed(self, for_ms: int, holds: Mapping[str, Amount], waits: Mapping[str, Amount], totals: Amount) -> None:
        """For so long accounts held and waited for this. One asks for what it holds and what it waits for."""
        for account in holds.keys() | waits.keys():
            held = holds.get(account, NOTHING)
            asked = held.plus(waits.get(account, NOTHING))
            self.got[account] = self.got.get(account, 0.0) + dominant_share(held, totals) * for_ms
            self.asked[account] = self.asked.get(account, 0.0) + dominant_share(asked, totals) * for_ms

    def index(self) -> float:
        """Jain's index over the accounts that asked for something."""
        return jain(self.got[account] / asked for account, asked in sorted(self.asked.items()) if asked > 0)
