"""What each task holds, or has on its way, charged to its queue and account."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from offchain.core.planning.planner import Planner
from offchain.core.scheduler.fair_share import FairShareQueue
from offchain.core.scheduler.queue_usage import ChargeTarget
from offchain.core.scheduler.resources import ResourceAmount, ResourceUsage, queue_name, task_amount, task_usage
from offchain.core.values import Resources, Task


class Charges:
    """Of one scheduler."""

    def __init__(self, turn: FairShareQueue, planner: Planner) -> None:
        self._turn = turn
        self._planner = planner
        self._holdings: dict[int, ResourceUsage] = {}
        self._placed: dict[int, Task] = {}
        """Those of which all open pods of the record as it was then have a place, and nothing else is charged."""

    def account(self, task: Task) -> None:
        """Charge its leases, and what is on its way."""
        pods = len(task.leases) + len(self._planner.pods_ahead(task.id))
        self._charge(task.id, task_usage(task, pods) if pods else None)

    def drop(self, numbers: Iterable[int]) -> None:
        """They hold nothing any more."""
        charged: list[tuple[int, ...]] = []
        places: dict[tuple[bytes, str], ChargeTarget] = {}
        amounts: dict[tuple[int, int], tuple[Resources, ResourceAmount]] = {}
        for number in numbers:
            task = self._placed.pop(number, None)
            if task is None:
                held = self._holdings.pop(number, None)
                if held is not None:
                    charged.append((*self._turn.target(held.queue, held.account), *held.amount))
                continue
            # Records share what they ask for: to see that is quicker than to compare it.
            what = id(task.resources), len(task.open_pods)
            if what not in amounts:
                amounts[what] = task.resources, task_amount(task, what[1])
            who = task.queue, task.tenant
            if who not in places:
                places[who] = self._turn.target(queue_name(task), task.tenant)
            charged.append((*places[who], *amounts[what][1]))
        self._turn.release_all(charged)

    def placed(self, tasks: Sequence[Task], numbers: Sequence[int]) -> list[int]:
        """These, which have these numbers and ask for the same, were charged by the queues for all of their pods.

        Gives those that held something before.
        """
        if self._holdings.keys().isdisjoint(numbers) and self._placed.keys().isdisjoint(numbers):
            self._placed.update(zip(numbers, tasks, strict=True))
            return []
        held = []
        for task in tasks:
            before, more = self._before(task.id), _of_all(task)
            if before is not None:
                held.append(task.id)
                more = more._replace(amount=more.amount.plus(before.amount))
            self._holdings[task.id] = more
        return held

    def _charge(self, number: int, holding: ResourceUsage | None) -> None:
        before = self._before(number)
        if before != holding:
            if before is not None:
                self._turn.release(before)
            if holding is not None:
                self._turn.charge(holding)
        if holding is not None:
            self._holdings[number] = holding

    def _before(self, number: int) -> ResourceUsage | None:
        """What was charged for it, which is forgotten."""
        placed = self._placed.pop(number, None)
        return self._holdings.pop(number, None) if placed is None else _of_all(placed)


def _of_all(task: Task) -> ResourceUsage:
    """What its open pods hold."""
    return task_usage(task, len(task.open_pods))
