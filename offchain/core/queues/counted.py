"""Rights counted without tables and compiled loops, for commands that look at one task: the same as the scheduler's.

docs/scheduling.md, "Taking back what was lent". :mod:`offchain.core.queues.shared_out` has the rule.
"""

from __future__ import annotations

from collections.abc import Iterable

from offchain.core.queues.amount import NOTHING, Amount
from offchain.core.queues.claim import Holding
from offchain.core.queues.rights import ABOVE_ROOT, Node, Rights
from offchain.core.queues.share import dominant_share
from offchain.core.queues.tree import DEFAULT, Queue, Tree


class Counted:
    """A network that has `totals`: what is `held` in it, and what each of those who wait asks for."""

    def __init__(self, tree: Tree, totals: Amount, held: Iterable[Holding], waiting: Iterable[Holding]) -> None:
        self._tree = tree
        self._totals = totals
        held, waiting = tuple(held), tuple(waiting)
        # A part comes after what it is a part of; accounts are parts of the default.
        self._queues = {name: number for number, name in enumerate(tree.queues)}
        parts = [tree.part_of(one.queue, one.account) for one in (*held, *waiting)]
        accounts = dict.fromkeys(part.account for part in parts if part.queue == DEFAULT)
        self._accounts = {name: len(self._queues) + number for number, name in enumerate(accounts)}
        self._parents = [self._queues[queue.parent] if name else ABOVE_ROOT for name, queue in tree.queues.items()]
        self._parents += [self._queues[DEFAULT]] * len(accounts)
        self._weights = [queue.weight for queue in tree.queues.values()] + [1.0] * len(accounts)
        self._held = self._sums(held)
        self.rights = Rights(totals, self._nodes(held, waiting))

    def part(self, queue: str, account: str) -> int:
        """Where a task counts. KeyError where nobody of this account was counted, and it counts in the default."""
        found = self._tree.part_of(queue, account)
        return self._accounts[found.account] if found.queue == DEFAULT else self._queues[found.queue]

    def _sums(self, held: Iterable[Holding]) -> list[Amount]:
        """[node]: what is held there and in all its parts."""
        found = [NOTHING] * len(self._parents)
        for one in held:
            node = self.part(one.queue, one.account)
            while node != ABOVE_ROOT:
                found[node] = found[node].plus(one.amount)
                node = self._parents[node]
        return found

    def _nodes(self, held: Iterable[Holding], waiting: Iterable[Holding]) -> list[Node]:
        demands = self._demands(held, waiting)
        rights = [0.0] * len(demands)
        rights[0] = 1.0
        parts: dict[int, list[int]] = {}
        for node, parent in enumerate(self._parents):
            parts.setdefault(parent, []).append(node)
        for node in range(len(demands)):
            # Those that want the least for their weight get all of it.
            order = sorted(parts.get(node, ()), key=lambda part: demands[part] / self._weights[part])
            left, weights = rights[node], sum(self._weights[part] for part in order)
            for part in order:
                rights[part] = min(demands[part], left * self._weights[part] / weights)
                left -= rights[part]
                weights -= self._weights[part]
        return list(map(Node, self._parents, self._weights, self._held, rights))

    def _demands(self, held: Iterable[Holding], waiting: Iterable[Holding]) -> list[float]:
        """[node]: the share that is held and waited for there, as far as limits allow."""
        limits = {name: self._tree.limit(name, self._totals) for name in self._tree.queues}
        of_accounts: dict[tuple[str, str], Amount] = {}
        for one in held:
            for queue in self._path(one):
                key = queue.name, one.account
                of_accounts[key] = of_accounts.get(key, NOTHING).plus(one.amount)

        def within(asks: Holding) -> bool:
            """Whether no limit keeps it waiting."""
            for queue in self._path(asks):
                limit, most = limits[queue.name], queue.account_most
                if limit is not None and not asks.amount.within(limit.minus(self._held[self._queues[queue.name]])):
                    return False
                own = of_accounts.get((queue.name, asks.account), NOTHING)
                if most is not None and not asks.amount.within(most.of(self._totals).minus(own)):
                    return False
            return True

        wanted = self._sums(filter(within, waiting))
        branches = {self._queues[name] for name in (DEFAULT, *self._tree.parts)}
        sums = [NOTHING if node in branches else one for node, one in enumerate(map(Amount.plus, wanted, self._held))]
        of_queues = list(limits.values())
        demands = [0.0] * len(sums)
        for node in reversed(range(len(sums))):
            limit = of_queues[node] if node < len(of_queues) else None
            if limit is not None:
                sums[node] = sums[node].at_most(limit)
            demands[node] = dominant_share(sums[node], self._totals)
            if self._parents[node] != ABOVE_ROOT:
                sums[self._parents[node]] = sums[self._parents[node]].plus(sums[node])
        return demands

    def _path(self, one: Holding) -> tuple[Queue, ...]:
        return self._tree.path(self._tree.part_of(one.queue, one.account).queue)
