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
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from offchain.core.queues.amount import NOTHING, UNLIMITED, Amount
from offchain.core.queues.claim import Claim, Held, Holding
from offchain.core.queues.ledger import Ledger, Place
from offchain.core.queues.line import Alike, Shape
from offchain.core.queues.nodes import Branch, Leaf, Node
from offchain.core.queues.runs import Slice, leave, run_from
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
        self._passing: set[Leaf] = set()
        self._offer: Alike | None = None
        """Among whom the task was that `next` gave: mostly it is the next to be placed."""
        for holding in used:
            self._ledger.charge(self._of(holding), holding.amount)
        known = memory or Memory()
        for part, when_ms in known.served.items():
            if part.queue == DEFAULT or part in self._ledger.leaves:
                self._ledger.leaf(part).serve(when_ms)
        self._fill(list(waiting), known.asleep)

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    @property
    def memory(self) -> Memory:
        """What is known of earlier rounds."""
        served = {part: leaf.served for part, leaf in self._ledger.leaves.items() if leaf.served >= 0}
        return Memory(served, frozenset(name for name, shape in self._shapes.items() if shape.asleep))

    def begin(self, now_ms: int, totals: Amount | None = None, away: Container[Hashable] = ()) -> None:
        """A new round: what was blocked may fit again.

        `totals`: where the hosts have changed. `away`: shapes that are passed over in this round.
        """
        self._now_ms = now_ms
        for name, shape in self._shapes.items():
            shape.blocked = name in away
        self._awake = {shape for shape in self._shapes.values() if not shape.blocked}
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
                part = node.next_part() if node.can_serve(room, self._awake) else None
                if part is None:
                    break
                node = part
            if isinstance(node, Leaf):
                alike = node.line.first(self._now_ms, node.room(room), self._awake)
                if node.line.passed:
                    self._passing.add(node)
                if alike is not None:
                    self._offer = alike
                    return alike.claims[alike.head]
            elif node.parent is None:
                return None
            node.aside = True
            self._aside.append(node)
            node.settle(self._ledger.totals)

    def placed(self, claim: Claim) -> None:
        """It has its place, and holds what it asked for from now on."""
        place = self._of(claim)
        shape = self._take(place, self._known(claim))
        self._ledger.charge(place, claim.amount)
        place.leaf.serve(self._now_ms)
        if shape.asleep:
            self._asleep(shape, asleep=False)
        place.leaf.settle(self._ledger.totals)

    def run(self) -> list[Slice]:
        """Tasks that are alike and may go together, the first of them the one that :meth:`next` gives; none: nobody."""
        alike = self._offer if self.next() is not None else None
        if alike is None:
            return []
        return run_from(alike.line.leaf, alike, self._ledger.totals, self._waiting)

    def ran(self, slices: Sequence[Slice], count: int) -> None:
        """So many of a run, the first ones, have their places. It must be the run that was given last."""
        if not count:
            return
        shape, totals = slices[0].alike.shape, self._ledger.totals
        first = slices[0].claims[0]
        place = self._of(first)
        leave(slices, count, self._waiting, self._now_ms, totals)
        more = shape.amount.times(count)
        for branch in place.branches:
            branch.held = branch.held.plus(more)
            branch.goes(shape, count)
        if shape not in self._ledger.root.waits:
            del self._shapes[first.shape]
            self._awake.discard(shape)
        place.leaf.serve(self._now_ms)
        if shape.asleep:
            self._asleep(shape, asleep=False)
        place.leaf.settle(totals)

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
        place = self._of(claim)
        alike = self._alike(place, claim)
        for branch in place.branches:
            branch.comes(alike.shape, 1)
        self._waiting[claim.id] = claim
        alike.join(claim)
        self._place(alike)
        self._bring_back()
        place.leaf.settle(self._ledger.totals)

    def remove(self, task: int) -> None:
        """The task with this number does not wait any more. ValueError where it did not."""
        claim = self._waiting.get(task)
        if claim is None:
            raise ValueError(f"task {task} does not wait")
        place = self._of(claim)
        self._take(place, claim)
        place.leaf.settle(self._ledger.totals)

    def charge(self, holding: Holding) -> None:
        """A task runs that was not placed through here."""
        place = self._of(holding)
        self._ledger.charge(place, holding.amount)
        place.leaf.settle(self._ledger.totals)

    def release(self, holding: Holding) -> None:
        """A task holds so much no more. ValueError where its part of the tree does not hold as much."""
        place = self._of(holding)
        self._let_go(self._ledger.release(place, holding.amount))
        self._bring_back()
        place.leaf.settle(self._ledger.totals)

    def held(self, claim: Claim) -> Held | None:
        """The limit that keeps a task waiting now, of its account first; None: no limit does."""
        return self._ledger.limit_on(claim)

    def holdings(self) -> dict[Part, Amount]:
        """What each part of the tree holds."""
        return self._ledger.holdings()

    def wanted(self) -> dict[Part, Amount]:
        """What each part waits for, without what a limit keeps."""
        found: dict[Part, Amount] = {}
        for part, leaf in self._ledger.leaves.items():
            for alike in leaf.line.alikes():
                if self._ledger.limit_on(alike.claims[alike.head]) is None:
                    found[part] = found.get(part, NOTHING).plus(alike.shape.amount.times(alike.count))
        return found

    def _fill(self, claims: list[Claim], asleep: frozenset[Hashable]) -> None:
        """The first tasks, all at once."""
        self._waiting = {claim.id: claim for claim in claims}
        if len(self._waiting) != len(claims):
            raise ValueError(f"{len(claims) - len(self._waiting)} tasks are there twice")
        tallies: dict[Branch, Counter[Hashable]] = {}
        leaves: set[Leaf] = set()
        for (queue, account), here in _split(_WHO, claims).items():
            place = self._ledger.place(queue, account)
            leaves.add(place.leaf)
            for branch in place.branches:
                tallies.setdefault(branch, Counter()).update(map(_SHAPE, here))
            for (name, priority), of_kind in _split(_KIND, here).items():
                shape = self._shape(name, of_kind)
                shape.asleep = name in asleep
                place.leaf.line.gather(shape, account if place.accounts else "", priority, place.accounts, of_kind)
        for branch, tally in tallies.items():
            for name, count in tally.items():
                branch.comes(self._shapes[name], count)
        for leaf in leaves:
            leaf.line.fill(self._now_ms)
        self._ledger.settle()

    def _of(self, task: Claim | Holding) -> Place:
        return self._ledger.place(task.queue, task.account)

    def _alike(self, place: Place, claim: Claim) -> Alike:
        """Those that it stands among, or will."""
        shape = self._shape(claim.shape, (claim,))
        account = claim.account if place.accounts else ""
        line = place.leaf.line
        alike = line.find(shape, account, claim.priority)
        if alike is None:
            alike = Alike(line, shape, account, claim.priority, place.accounts)
            line.take_in(alike)
        return alike

    def _shape(self, name: Hashable, claims: Sequence[Claim]) -> Shape:
        """The shape of these tasks. ValueError where they ask for different amounts."""
        shape = self._shapes.get(name)
        if shape is None:
            shape = self._shapes[name] = Shape(claims[0].amount)
            self._awake.add(shape)
        amount = shape.amount
        for claim in claims:
            if claim.amount is not amount and claim.amount != amount:
                raise ValueError(f"task {claim.id} asks for {claim.amount}, others of its shape for {amount}")
        return shape

    def _take(self, place: Place, claim: Claim) -> Shape:
        """It waits no more."""
        offer = self._offer
        mine = offer is not None and offer.count > 0 and offer.claims[offer.head] is claim
        alike = offer if offer is not None and mine else self._alike(place, claim)
        shape = alike.shape
        del self._waiting[claim.id]
        alike.leaves(claim, self._waiting)
        if self._place(alike) is None:
            alike.line.drop(alike)
        for branch in place.branches:
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
        for part in {alike.line.part for alike in free}:
            self._ledger.leaf(part).settle(self._ledger.totals)

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
        passing, self._passing = self._passing, set()
        for node in aside:
            node.aside = False
        for leaf in passing:
            leaf.line.bring_back()
            leaf.settle(self._ledger.totals)
        for node in aside:
            node.settle(self._ledger.totals)


_WHO = attrgetter("queue", "account")
_KIND = attrgetter("shape", "priority")
_SHAPE = attrgetter("shape")


def _split(by: Callable[[Claim], Any], claims: list[Claim]) -> dict[Any, list[Claim]]:
    """The tasks by this property of theirs."""
    found: dict[Any, list[Claim]] = {}
    for value, claim in zip(map(by, claims), claims, strict=True):
        if value in found:
            found[value].append(claim)
        else:
            found[value] = [claim]
    return found
