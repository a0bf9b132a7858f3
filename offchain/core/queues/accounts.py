"""What accounts hold of queues that limit what one account may hold, and who waits for them to hold less."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offchain.core.queues.amount import NOTHING, Amount

if TYPE_CHECKING:
    from offchain.core.queues.line import Alike


class AccountHolds:
    """What one account holds of a queue and its parts. `keeps`: the tasks of it that would break the limit."""

    __slots__ = ("account", "held", "keeps", "most", "queue")

    def __init__(self, queue: str, account: str, most: Amount) -> None:
        self.queue = queue
        self.account = account
        self.most = most
        self.held = NOTHING
        self.keeps: list[Alike] = []

    def allows(self, amount: Amount) -> bool:
        """Whether it may hold so much more."""
        return amount.within(self.most.minus(self.held))

    def keep(self, alike: Alike) -> None:
        """These wait until it holds less."""
        alike.kept = True
        self.keeps.append(alike)

    def let_go(self) -> list[Alike]:
        """Those that it may hold now; they are kept no more."""
        room = self.most.minus(self.held)
        free: list[Alike] = []
        kept: list[Alike] = []
        for alike in self.keeps:
            if alike.count:
                (free if alike.shape.amount.within(room) else kept).append(alike)
        self.keeps = kept
        for alike in free:
            alike.kept = False
        return free
