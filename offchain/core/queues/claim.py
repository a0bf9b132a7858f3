"""A waiting task as the queues see it, and what is told to its tenant while a limit holds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from offchain.core.queues.amount import Amount, number, words


@dataclass(frozen=True, slots=True)
class Claim:
    """What a waiting task asks for, all of its pods that must start together.

    `shape`: a small number for whatever decides where it fits: tasks of one shape ask for the same amount, and where
    one fits nowhere none does. Once nobody waits with it, it may stand for something else.
    """

    id: int
    queue: str
    account: str
    shape: int
    amount: Amount
    priority: int
    submitted_at: int


class Holding(NamedTuple):
    """What a running task of an account holds, and of which queue."""

    queue: str
    account: str
    amount: Amount


@dataclass(frozen=True, slots=True)
class Held:
    """A limit that a waiting task would break: of its queue or one above it, or of its account there.

    `owned`: the limit is the share of a queue that may not borrow. `resource`: its place in an Amount.
    """

    queue: str
    account: str
    owned: bool
    resource: int
    holds: int
    most: int
    asks: int

    def __str__(self) -> str:
        """One line for people."""
        who = f"account {self.account}" if self.account else f"queue {self.queue}"
        limit = words(self.resource, self.most)
        of_queue = f" of queue {self.queue}" if self.account else ""
        asks = number(self.resource, self.asks)
        if self.asks > self.most:
            return f"the task asks for {asks} of at most {limit}{of_queue} that {who} may ever hold"
        why = ", its share, and may not borrow" if self.owned and not self.account else ""
        holds = number(self.resource, self.holds)
        return f"{who} holds {holds} of at most {limit}{of_queue}{why}; the task asks for {asks}"


def broken(holds: Amount, asks: Amount, most: Amount) -> int | None:
    """The first resource of which the limit would be broken."""
    return next((at for at in range(3) if asks[at] and holds[at] + asks[at] > most[at]), None)
