"""Sets of victims: the cheapest that is enough, and that the queues allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from offchain.core.scheduler.cluster import HostSlot
from offchain.core.scheduler.pod_request import PodShape, ResourceAmount, shape_amount

MAX_EXHAUSTIVE: Final = 10
"""Of this many tasks on a host, all sets that may be cheaper are examined."""


@dataclass(frozen=True, slots=True)
class RunningTask:
    """A running task and its places. `leaf`: its node in the queue tree. Rates are in the chain's smallest unit."""

    task: int
    leaf: int
    priority: int
    spot: bool
    shape: PodShape
    places: tuple[HostSlot, ...]
    rate_per_ms: int
    started_ms: int

    @property
    def amount(self) -> ResourceAmount:
        return shape_amount(self.shape, len(self.places))


@dataclass(frozen=True, slots=True)
class Victim:
    """A task that may be ended, and what is lost with it."""

    cost: int
    running: RunningTask

    @property
    def order(self) -> tuple[int, int]:
        """Sort key: the cheapest first; of equals, the later task."""
        return self.cost, -self.running.task


_Check = Callable[[Sequence[Victim]], bool]


@dataclass(slots=True)
class SearchBudget:
    """Evaluations that are left; the checks that are passed to the functions below count them."""

    left: int


def cheapest_set(
    victims: Sequence[Victim], is_enough: _Check, is_allowed: _Check, budget: SearchBudget
) -> list[Victim] | None:
    """Return the cheapest set that is enough and allowed; of many victims one of which each is needed; None: no set.

    `victims`: the cheapest first. Supersets of a set that is enough are enough, subsets of an allowed set are allowed.
    If the simple way finds none, all sets are examined while the budget lasts.
    """
    found = _greedy_set(victims, is_enough, is_allowed)
    if len(victims) <= MAX_EXHAUSTIVE:
        return exhaustive_set(victims, is_enough, is_allowed, budget, found)
    return found or exhaustive_set(victims, is_enough, is_allowed, budget, first=True)


def _greedy_set(victims: Sequence[Victim], is_enough: _Check, is_allowed: _Check) -> list[Victim] | None:
    found: list[Victim] = []
    for victim in victims:
        if not is_allowed([*found, victim]):
            continue
        found.append(victim)
        if is_enough(found):
            break
    else:
        return None
    # The last one is needed: without it, the set was not enough.
    for victim in reversed(found[:-1]):
        rest = [other for other in found if other is not victim]
        if is_enough(rest):
            found = rest
    return found


def exhaustive_set(
    victims: Sequence[Victim],
    is_enough: _Check,
    is_allowed: _Check,
    budget: SearchBudget,
    best: list[Victim] | None = None,
    *,
    first: bool = False,
) -> list[Victim] | None:
    """Return the cheapest of all sets, or the `first` found, while the budget lasts. `best`: a known set."""
    least = sum(victim.cost for victim in (victims if best is None else best)) + (best is None)
    stack: list[tuple[int, int, list[Victim]]] = [(0, 0, [])]
    while stack and budget.left > 0:
        begin, spent, taken = stack.pop()
        for index in range(begin, len(victims)):
            cost = spent + victims[index].cost
            if cost >= least or not is_enough([*taken, *victims[index:]]):
                break
            some = [*taken, victims[index]]
            if not is_allowed(some):
                continue
            if is_enough(some):
                best, least = some, cost
                if first:
                    return best
            else:
                stack.append((index + 1, cost, some))
    return best
