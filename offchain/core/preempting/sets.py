"""Of tasks on one host, the cheapest set that is enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from offchain.core.preempting.rules import Running

ALL_SETS: Final = 10
"""Of so many tasks, every set is looked at that may be cheaper."""


@dataclass(frozen=True, slots=True)
class Victim:
    """A task that may be ended, and what is lost with it."""

    cost: int
    running: Running

    @property
    def order(self) -> tuple[int, int]:
        """The cheapest first; of equals, the later one."""
        return self.cost, -self.running.task


Says = Callable[[Sequence[Victim]], bool]


@dataclass(slots=True)
class Looks:
    """How many tasks may still be tried; whoever says what is `enough` counts them."""

    left: int


def cheapest(victims: Sequence[Victim], enough: Says, allowed: Says, looks: Looks) -> list[Victim] | None:
    """The cheapest of all sets where there are few `victims`, else one of which each is needed; None: none is found.

    `victims`: the cheapest first. `enough`: whether the end of these is; more of them always are. `allowed`: whether
    all of these may end; then fewer of them may. Of many, too, one is looked for among all sets where no simple way
    finds any, as long as there are `looks` left.
    """
    found = _needed(victims, enough, allowed)
    if len(victims) <= ALL_SETS:
        return of_all(victims, enough, allowed, looks, found)
    return found or of_all(victims, enough, allowed, looks, first=True)


def _needed(victims: Sequence[Victim], enough: Says, allowed: Says) -> list[Victim] | None:
    found: list[Victim] = []
    for victim in victims:
        if not allowed([*found, victim]):
            continue
        found.append(victim)
        if enough(found):
            break
    else:
        return None
    # The last one is needed: without it, it was not enough.
    for victim in reversed(found[:-1]):
        rest = [other for other in found if other is not victim]
        if enough(rest):
            found = rest
    return found


def of_all(
    victims: Sequence[Victim],
    enough: Says,
    allowed: Says,
    looks: Looks,
    best: list[Victim] | None = None,
    *,
    first: bool = False,
) -> list[Victim] | None:
    """The cheapest of all sets, or the `first` found, while there are `looks` left. `best`: one that is known."""
    least = sum(victim.cost for victim in (victims if best is None else best)) + (best is None)
    open_: list[tuple[int, int, list[Victim]]] = [(0, 0, [])]
    while open_ and looks.left > 0:
        begin, spent, taken = open_.pop()
        for index in range(begin, len(victims)):
            cost = spent + victims[index].cost
            if cost >= least or not enough([*taken, *victims[index:]]):
                break
            some = [*taken, victims[index]]
            if not allowed(some):
                continue
            if enough(some):
                best, least = some, cost
                if first:
                    return best
            else:
                open_.append((index + 1, cost, some))
    return best
