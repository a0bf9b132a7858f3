"""Waiting tasks for tests of queues."""

from __future__ import annotations

from typing import Any

from offchain.core.queues.amount import NOTHING, Amount
from offchain.core.queues.claim import Claim, Holding
from offchain.core.queues.tree import Queue, tree
from offchain.core.queues.turn import Turn

TOTALS = Amount(cpu_milli=100_000, memory_mib=100_000, gpu_milli=10_000)
GPU = Amount(1000, 1000, 1000)
CORES = Amount(10_000, 1000, 0)

_SHAPES: dict[Amount, int] = {}


def shape_of(amount: Amount) -> int:
    """The number that stands for tasks which ask for so much."""
    return _SHAPES.setdefault(amount, len(_SHAPES))


def claim(id: int, account: str = "alice", **changes: Any) -> Claim:  # noqa: A002
    """Asks for a GPU if nothing else is said; the shape follows from the amount."""
    values: dict[str, Any] = {"queue": "default", "amount": GPU, "priority": 100, "submitted_at": id} | changes
    values.setdefault("shape", shape_of(values["amount"]))
    return Claim(id=id, account=account, **values)


class Told(Turn):
    """A Turn that is asked about claims instead of numbers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._claims: dict[int, Claim] = {}
        super().__init__(*args, **kwargs)

    def add(self, claim: Claim) -> None:
        super().add(claim)
        self._claims[claim.id] = claim

    def first(self) -> Claim | None:
        number = self.next()
        return None if number is None else self._claims[number]


def turn(*waiting: Claim, queues: tuple[Queue, ...] = (), **changes: Any) -> Told:
    values: dict[str, Any] = {"tree": tree(queues), "totals": TOTALS, "used": (), "now_ms": 0} | changes
    return Told(waiting=waiting, **values)


OWN = turn().rights().taking(0, NOTHING)
"""Where all are of one part of the queues, with the number 0."""


def holding(of: Claim) -> Holding:
    return Holding(of.queue, of.account, of.amount)


def take(from_: Told, count: int) -> list[int]:
    """The numbers of the next tasks, each placed."""
    found: list[int] = []
    while len(found) < count and (one := from_.next()) is not None:
        from_.placed(one)
        found.append(one)
    return found


def fill(from_: Told, free: Amount) -> list[int]:
    """A round with so much free, in one piece: what was placed."""
    found = []
    while (one := from_.first()) is not None:
        if one.amount.within(free):
            free = free.minus(one.amount)
            from_.placed(one.id)
            found.append(one.id)
        else:
            from_.blocked(one.id)
    return found
