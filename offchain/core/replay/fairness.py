"""What each account got, beside what would have been fair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from offchain.core.scheduler.resources import jain_fairness


@dataclass(frozen=True, slots=True)
class Part:
    """What one account asked for, got and should have got: its dominant share of the cluster over time, in hours.

    1 is the whole cluster for an hour. Only the time in which tasks come counts.
    """

    account: str
    asked: float
    got: float
    fair: float


def parts(asked: Mapping[str, float], got: Mapping[str, float]) -> list[Part]:
    """By account. Fair is max-min: as much as they got together, the same for all but those who asked for less."""
    accounts = sorted(asked)
    fair = max_min([asked[account] for account in accounts], sum(got.get(account, 0.0) for account in accounts))
    return [
        Part(account, asked[account], got.get(account, 0.0), each) for account, each in zip(accounts, fair, strict=True)
    ]


def max_min(asked: Sequence[float], total: float) -> list[float]:
    """Divide `total` so that nobody has more than asked for, and who has less than that has no less than anyone."""
    given = [0.0] * len(asked)
    left = total
    by_size = sorted(range(len(asked)), key=lambda place: asked[place])
    for done, place in enumerate(by_size):
        given[place] = min(asked[place], left / (len(asked) - done))
        left -= given[place]
    return given


def jain_index(found: Sequence[Part]) -> float:
    """Of what each got, as a part of what would have been fair. Who asked for nothing does not count."""
    return jain_fairness(part.got / part.fair for part in found if part.fair > 0)
