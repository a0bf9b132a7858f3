"""Whose turn it is: one waiting task after the other, as shares, limits and priorities say.

A planning round: `begin`, then `next` as long as it gives a task, and after each either `placed` or `blocked`. Between
rounds tasks come and go (`add`, `remove`) and running ones end (`release`); nothing is computed that did not change.
The same state gives the same order, whatever way it came about.

From the root down the part with the least share by weight is next (:mod:`offchain.core.queues.share`); of equals
the one served the longest ago, then the first by name. In a part of the tree without parts, the highest effective
priority is next (:mod:`offchain.core.queues.ageing`), then the oldest, then the lowest number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from offchain.core.queues.amount import NOTHING, UNLIMITED, Amount
from offchain.core.queues.claim import Claim, Held, Holding
from offchain.core.queues.ledger import Ledger, above
from offchain.core.queues.line import Alike, Shape
from offchain.core.queues.nodes import Branch, Leaf, Node
from offchain.core.queues.tree import DEFAULT, Part, Tree


@dataclass(frozen=True, slots=True)
class Memory:
    """What a Turn knows of earlier rounds.

    `served`: when each part was last served, chain time in ms, which decides between equal shares. `asleep`: the shapes
    that fitted nowhere when they were last tried.
    """

    served: Mapping[Part, int] = field(default_factory=dict)
    asleep: frozenset[Hashable] = frozenset()


class Turn:
    """All that waits and all that is held, by queue.

    `totals`: what the hosts online have. `used`: what running tasks hold. `memory`: of the Turn that this one goes on
    for, or what is known of it, such as the youngest lease of each part.
    """

    def __init__(
        self,
        tree: Tree,
        totals: Amount,
        used: Iterable[Holding],
        waiting: Iterable[Claim],
        now_ms: int,
        *,
        memory: Memory | None = None,
    ) -> None:
        self._ledger = Ledger(tree, totals)
        self._now_ms = now_ms
        self._waiting: dict[int, Claim] = {}
        self._shapes: dict[Hashable, Shape] = {}
        self._awake: set[Shape] = set()
        self._aside: list[Node] = []
        for holding in used:
            self._ledger.charge(holding)
        known = memory or Memory()
        for part, when_ms in known.served.items():
            if part.queue == DEFAULT or part in self._ledger.leaves:
                self._ledger.served(self._ledger.leaf(part), when_ms)
        self._fill(waiting, known.asleep)

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    @property
    def memory(self) -> Memory:
        """What is known of earlier rounds."""
        served = {part: leaf.served for part, leaf in self._ledger.leaves.items() if leaf.served >= 0}
        return Memory(served, frozenset(name for name, shape in self._shapes.items() if shape.asleep))

    def begin(self, now_ms: int, totals: Amount | None = None) -> None:
        """A new round: what was blocked may fit again. `totals`: where the hosts have changed."""
        self._now_ms = now_ms
        for shape in self._shapes.values():
            shape.blocked = False
        self._awake = set(self._shapes.values())
        self._bring_back()
        if totals is not None and totals != self._ledger.totals:
            self._let_go(self._ledger.resize(totals))
            self._ledger.settle()

    def next(self) -> Claim | None:
        """The task whose turn it is: the same until it is placed, blocked or removed. None: nobody can go now."""
        while True:
            node: Node = self._ledger.root
            room = UNLIMITED
            while isinstance(node, Branch):
                room = node.room(room)
                part = node.next_part() if node.can_serve(room) else None
                if part is None:
                    break
                node = part
            if isinstance(node, Leaf):
                alike = node.line.first(self._now_ms, node.room(room), self._awake)
                if alike is not None:
                    return alike.claims[0]
            elif node.parent is None:
                return None
            node.aside = True
            self._aside.append(node)
            node.settle(self._ledger.totals)

    def placed(self, claim: Claim) -> None:
        """It has its place, and holds what it asked for from now on."""
        shape = self._take(claim)
        leaf = self._ledger.charge(Holding(claim.queue, claim.account, claim.amount))
        self._ledger.served(leaf, self._now_ms)
        if shape.asleep:
            self._asleep(shape, asleep=False)
        leaf.settle(self._ledger.totals)

    def blocked(self, claim: Claim) -> None:
        """It fits nowhere now: its shape is passed over in this round, in all queues."""
        shape = self._shapes[self._known(claim).shape]
        shape.blocked = True
        self._awake.discard(shape)
        if not shape.asleep:
            self._asleep(shape, asleep=True)

    def add(self, claim: Claim) -> None:
        """A task waits. ValueError where its number waits already, or its shape is known with another amount."""
        if claim.id in self._waiting:
            raise ValueError(f"task {claim.id} waits already")
        alike = self._alike(claim)
        leaf = self._ledger.leaf(alike.line.part)
        for branch in above(leaf):
            branch.comes(alike.shape, 1)
        self._waiting[claim.id] = claim
        alike.join(claim)
        self._place(alike)
        self._bring_back()
        leaf.settle(self._ledger.totals)

    def remove(self, task: int) -> None:
        """The task with this number does not wait any more. ValueError where it did not."""
        claim = self._waiting.get(task)
        if claim is None:
            raise ValueError(f"task {task} does not wait")
        self._take(claim)
        self._leaf(claim).settle(self._ledger.totals)

    def charge(self, holding: Holding) -> None:
        """A task runs that was not placed through here."""
        self._ledger.charge(holding).settle(self._ledger.totals)

    def release(self, holding: Holding) -> None:
        """A task holds so much no more. ValueError where its part of the tree does not hold as much."""
        leaf, free = self._ledger.release(holding)
        self._let_go(free)
        self._bring_back()
        leaf.settle(self._ledger.totals)

    def held(self, claim: Claim) -> Held | None:
        """The limit that keeps a task waiting now, of its account first; None: no limit does."""
        return self._ledger.limit_on(claim)

    def holdings(self) -> dict[Part, Amount]:
        """What each part of the tree holds."""
        return self._ledger.holdings()

    def wanted(self) -> dict[Part, Amount]:
        """What each part waits for, without what a limit keeps. Looks at every task."""
        found: dict[Part, Amount] = {}
        for claim in self._waiting.values():
            if self._ledger.limit_on(claim) is None:
                part = self._ledger.tree.part_of(claim.queue, claim.account)
                found[part] = found.get(part, NOTHING).plus(claim.amount)
        return found

    def _fill(self, claims: Iterable[Claim], asleep: frozenset[Hashable]) -> None:
        """The first tasks, all at once."""
        found: dict[tuple[str, str, Hashable, int], Alike] = {}
        waiting, count = self._waiting, 0
        for claim in claims:
            key = (claim.queue, claim.account, claim.shape, claim.priority)
            alike = found.get(key)
            if alike is None:
                alike = found[key] = self._alike(claim)
            elif claim.amount is not alike.shape.amount and claim.amount != alike.shape.amount:
                raise ValueError(_two_amounts(claim, alike.shape.amount))
            alike.claims.append(claim)
            waiting[claim.id] = claim
            count += 1
        if count != len(waiting):
            raise ValueError(f"{count - len(waiting)} tasks are there twice")
        for name, shape in self._shapes.items():
            shape.asleep = name in asleep
        by_leaf: dict[Part, Counter[Shape]] = {}
        for alike in dict.fromkeys(found.values()):
            alike.claims.sort(key=_AGE)
            by_leaf.setdefault(alike.line.part, Counter())[alike.shape] += len(alike.claims)
        for part, shapes in by_leaf.items():
            leaf = self._ledger.leaf(part)
            leaf.line.fill(self._now_ms)
            for branch in above(leaf):
                for shape, of_shape in shapes.items():
                    branch.comes(shape, of_shape)
        self._ledger.settle()

    def _leaf(self, claim: Claim) -> Leaf:
        return self._ledger.leaf(self._ledger.tree.part_of(claim.queue, claim.account))

    def _alike(self, claim: Claim) -> Alike:
        """Those that it stands among, or will."""
        line = self._leaf(claim).line
        shape = self._shapes.get(claim.shape)
        if shape is None:
            shape = self._shapes[claim.shape] = Shape(claim.amount)
            self._awake.add(shape)
        elif claim.amount != shape.amount:
            raise ValueError(_two_amounts(claim, shape.amount))
        accounts = self._ledger.accounts(line.part, claim.account)
        account = claim.account if accounts else ""
        alike = line.find(shape, account, claim.priority)
        if alike is None:
            alike = Alike(line, shape, account, claim.priority, accounts)
            line.take_in(alike)
        return alike

    def _take(self, claim: Claim) -> Shape:
        """It waits no more."""
        claim = self._known(claim)
        alike = self._alike(claim)
        shape = alike.shape
        del self._waiting[claim.id]
        alike.leaves(claim, self._waiting)
        first = self._place(alike)
        if first is None:
            alike.line.drop(alike)
        for branch in above(self._ledger.leaf(alike.line.part)):
            branch.goes(shape)
        if shape not in self._ledger.root.waits:
            del self._shapes[claim.shape]
            self._awake.discard(shape)
        return shape

    def _known(self, claim: Claim) -> Claim:
        """The one that waits."""
        known = self._waiting.get(claim.id)
        if known is None or (known is not claim and known != claim):
            raise ValueError(f"task {claim.id} does not wait, or not as it is said to")
        return known

    def _place(self, alike: Alike) -> Claim | None:
        first = alike.first(self._waiting)
        alike.line.place(alike, first, self._now_ms)
        return first

    def _let_go(self, free: list[Alike]) -> None:
        for alike in free:
            self._place(alike)
            self._ledger.leaf(alike.line.part).settle(self._ledger.totals)

    def _asleep(self, shape: Shape, *, asleep: bool) -> None:
        """Found out that it fits nowhere, or somewhere: queues with parts are compared in other resources now."""
        shape.asleep = asleep
        for branch in self._ledger.branches.values():
            if shape in branch.waits:
                branch.ask(shape, -1 if asleep else 1)
                branch.settle(self._ledger.totals)

    def _bring_back(self) -> None:
        """Whoever was set aside is looked at again."""
        aside, self._aside = self._aside, []
        for node in aside:
            node.aside = False
        for node in aside:
            node.settle(self._ledger.totals)


_AGE = attrgetter("submitted_at", "id")


def _two_amounts(claim: Claim, amount: Amount) -> str:
    return f"task {claim.id} asks for {claim.amount}, others of its shape for {amount}"
