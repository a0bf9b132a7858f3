"""What each queue and account holds, the limits on it, and which limit keeps a task waiting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from offchain.core.queues.accounts import AccountHolds
from offchain.core.queues.amount import NOTHING, UNLIMITED, Amount
from offchain.core.queues.claim import Claim, Held, broken
from offchain.core.queues.line import Alike
from offchain.core.queues.nodes import Branch, Leaf
from offchain.core.queues.tree import DEFAULT, ROOT, Part, Tree


class Place(NamedTuple):
    """Where a task counts: its part of the tree, what that is a part of, and its account where it has limits."""

    leaf: Leaf
    branches: tuple[Branch, ...]
    accounts: tuple[AccountHolds, ...]


class Ledger:
    """A node for each queue of the tree, and for each account in `default` that has come; `totals`: of hosts online."""

    def __init__(self, tree: Tree, totals: Amount) -> None:
        self.tree = tree
        self.totals = totals
        self.root = Branch(ROOT, 1.0, None)
        self.branches: dict[str, Branch] = {ROOT: self.root}
        self.leaves: dict[Part, Leaf] = {}
        self._accounts: dict[tuple[str, str], AccountHolds] = {}
        self._places: dict[tuple[str, str], Place] = {}
        self._limiting = {
            name: tuple(one for one in tree.path(name) if one.account_most is not None) for name in tree.queues
        }
        for name, queue in tree.queues.items():
            if name == DEFAULT or (name and name in tree.parts):
                self.branches[name] = Branch(name, queue.weight, self.branches[queue.parent])
            elif name:
                parent = self.branches[queue.parent]
                self.leaves[Part(name)] = Leaf(Part(name), queue.weight, parent, tree.ageing(name))
        self._set_limits()

    def leaf(self, part: Part) -> Leaf:
        """The node of a part of the tree; a new account in `default` gets one."""
        leaf = self.leaves.get(part)
        if leaf is None:
            if part.queue != DEFAULT:
                raise ValueError(f'no tasks wait in queue "{part.queue}"')
            leaf = self.leaves[part] = Leaf(part, 1.0, self.branches[DEFAULT], self.tree.ageing(DEFAULT))
        return leaf

    def place(self, queue: str, account: str) -> Place:
        """Where a task of this account that names this queue counts."""
        if queue not in self.tree.queues:
            queue = DEFAULT
        found = self._places.get((queue, account))
        if found is None:
            part = self.tree.part_of(queue, account)
            leaf = self.leaf(part)
            limiting = tuple(self._account(one.name, account) for one in self._limiting[part.queue])
            found = self._places[queue, account] = Place(leaf, tuple(_above(leaf)), limiting)
        return found

    def charge(self, place: Place, amount: Amount) -> None:
        """So much more is held there."""
        place.leaf.held = place.leaf.held.plus(amount)
        for branch in place.branches:
            branch.held = branch.held.plus(amount)
        for account in place.accounts:
            account.held = account.held.plus(amount)

    def release(self, place: Place, amount: Amount) -> list[Alike]:
        """So much is held there no more. Gives the tasks that no limit of their account keeps any longer."""
        if not amount.within(place.leaf.held):
            raise ValueError(f'queue "{place.leaf.name}" does not hold the {amount} that it is to release')
        place.leaf.held = place.leaf.held.minus(amount)
        for branch in place.branches:
            branch.held = branch.held.minus(amount)
        free: list[Alike] = []
        for account in place.accounts:
            account.held = account.held.minus(amount)
            free += account.let_go()
        return free

    def resize(self, totals: Amount) -> list[Alike]:
        """The network has so much now. Gives the tasks that no limit of their account keeps any longer."""
        self.totals = totals
        self._set_limits()
        free: list[Alike] = []
        for (queue, _), account in self._accounts.items():
            account.most = self._account_most(queue)
            free += account.let_go()
        return free

    def limit_on(self, claim: Claim) -> Held | None:
        """The limit that keeps a task waiting now, of its account first; None: no limit does."""
        place = self.place(claim.queue, claim.account)
        for holds in place.accounts:
            at = broken(holds.held, claim.amount, holds.most)
            if at is not None:
                return Held(
                    queue=holds.queue,
                    account=holds.account,
                    owned=False,
                    resource=at,
                    holds=holds.held[at],
                    most=holds.most[at],
                    asks=claim.amount[at],
                )
        for node in (place.leaf, *place.branches):
            at = None if node.limit is None else broken(node.held, claim.amount, node.limit)
            if at is not None and node.limit is not None:
                return Held(
                    queue=node.name,
                    account="",
                    owned=node.limit[at] < self._most(node.name)[at],
                    resource=at,
                    holds=node.held[at],
                    most=node.limit[at],
                    asks=claim.amount[at],
                )
        return None

    def settle(self) -> None:
        """Find the place of every node among its siblings again."""
        for leaf in self.leaves.values():
            leaf.settle(self.totals)

    def holdings(self) -> dict[Part, Amount]:
        """What each part of the tree holds."""
        return {part: leaf.held for part, leaf in self.leaves.items() if leaf.held != NOTHING}

    def _most(self, queue: str) -> Amount:
        most = self.tree.queues[queue].most
        return UNLIMITED if most is None else most.of(self.totals)

    def _account_most(self, queue: str) -> Amount:
        most = self.tree.queues[queue].account_most
        return UNLIMITED if most is None else most.of(self.totals)

    def _account(self, queue: str, account: str) -> AccountHolds:
        found = self._accounts.get((queue, account))
        if found is None:
            found = self._accounts[queue, account] = AccountHolds(queue, account, self._account_most(queue))
        return found

    def _set_limits(self) -> None:
        for node in (*self.branches.values(), *(leaf for part, leaf in self.leaves.items() if not part.account)):
            node.limit = self.tree.limit(node.name, self.totals)


def _above(leaf: Leaf) -> Iterator[Branch]:
    """The queues that it is a part of, up to the root."""
    branch = leaf.parent
    while branch is not None:
        yield branch
        branch = branch.parent
