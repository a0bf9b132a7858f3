"""Whose spot tasks may leave for a waiting task, by what each part of the tree holds and has a right to.

Who holds less than its right gets back what was lent: of parts above their rights, and no more than is above. As tasks
cannot be divided, two parts may also change places: the one that waits then has at most what the other had, and the
other at least what the first had, each by its weight. Who holds its right has only tasks of its own leave.
docs/scheduling.md, "Taking back what was lent". Without numpy, for commands look at it, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

from offchain.core.queues.amount import NOTHING, Amount
from offchain.core.queues.share import dominant_share

ABOVE_ROOT: Final = -1
"""The parent of the root."""
_SAME: Final = 1e-9
"""Shares that differ by less are the same."""


class Least(NamedTuple):
    """A node of the tree, and the share of the network that it must be left with."""

    node: int
    share: float


class Node(NamedTuple):
    """A queue, or an account in `default`: what it holds with all its parts, and the share that it has a right to."""

    parent: int
    weight: float
    held: Amount
    right: float


_NONE: Final[Mapping[Least, Amount]] = MappingProxyType({})


class Rights:
    """What each part holds and has a right to, at one moment. A part is known by its place among the `nodes`.

    `totals`: what the network has.
    """

    def __init__(self, totals: Amount, nodes: Sequence[Node]) -> None:
        self._totals = totals
        self._nodes = nodes
        self._held = [node.held for node in nodes]

    def comes(self, part: int, amount: Amount) -> None:
        """So much is on its way to this part, which is counted as holding it."""
        for node in self._path(part):
            self._held[node] = self._held[node].plus(amount)

    def goes(self, part: int, amount: Amount) -> None:
        """So much is about to be left by this part, which is counted as not holding it."""
        for node in self._path(part):
            self._held[node] = self._held[node].minus(amount)

    def right(self, part: int) -> float:
        """The share of the network that it has a right to."""
        return self._nodes[part].right

    def share(self, part: int, more: Amount = NOTHING) -> float:
        """The share of the network that it holds; or would, with more."""
        return dominant_share(self._held[part].plus(more), self._totals)

    def left(self, node: int, taken: Amount) -> float:
        """The share that a part or a queue is left with."""
        return dominant_share(self._held[node].minus(taken), self._totals)

    def lent(self, part: int) -> Least | None:
        """What it keeps of what is taken back; None: it holds no more than its right."""
        right = self.right(part)
        return Least(part, right) if self.share(part) > right + _SAME else None

    def changes_places(self, part: int, asks: Amount, other: int) -> Least | None:
        """What the queue of the `other` keeps where the two change places; None: this one would have more than it had.

        Compared is where the two are parts of the same queue: themselves, or the queues that they are in.
        """
        mine, theirs = self._beside(part, other)
        weight, other_weight = self._nodes[mine].weight, self._nodes[theirs].weight
        if self.share(mine, asks) / weight > self.share(theirs) / other_weight + _SAME:
            return None
        return Least(theirs, self.share(mine) / weight * other_weight)

    def most(self, least: Least) -> Amount:
        """How much may leave its node: as long as one resource at least stays within this; below 0: none does."""
        held, totals = self._held[least.node], self._totals
        some = (
            math.floor(has - (least.share - _SAME) * total) if total else -1
            for has, total in zip(held, totals, strict=True)
        )
        return Amount(*some)

    def taking(self, part: int, asks: Amount) -> tuple[Taking, ...]:
        """How a task of this part may have others leave: the first way by which it finds room is the one to take."""
        if self.share(part) >= self.right(part) - _SAME:
            return (Taking(self, part, _nothing),)
        changing = Taking(self, part, partial(self.changes_places, part, asks))
        if self.share(part, asks) > self.right(part) + _SAME:
            return (changing,)
        return Taking(self, part, self.lent), changing

    def _beside(self, part: int, other: int) -> tuple[int, int]:
        """The two, or what they are parts of, as parts of the same queue."""
        above = self._path(part)
        path = self._path(other)
        depth = next(at for at, (one, two) in enumerate(zip(above, path, strict=False)) if one != two)
        return above[depth], path[depth]

    def _path(self, node: int) -> list[int]:
        """From the root down to it."""
        found = [node]
        while (parent := self._nodes[found[-1]].parent) != ABOVE_ROOT:
            found.append(parent)
        return found[::-1]


class Taking:
    """Of which parts tasks may leave for one of the part `own`, and how many. Its own ones always may."""

    def __init__(self, rights: Rights, own: int, keeps: Callable[[int], Least | None]) -> None:
        self._rights = rights
        self._own = own
        self._keeps = keeps
        self._known: dict[int, Least | None] = {}

    def open(self, part: int) -> bool:
        """Whether any of this part may leave."""
        return part == self._own or self._least(part) is not None

    def bound(self, part: int) -> tuple[int, Amount] | None:
        """The node that keeps its least, and how much may leave it (`Rights.most`); None: nothing bounds this part."""
        least = None if part == self._own else self._least(part)
        # Who keeps nothing may lose everything, also what is not counted in shares.
        return None if least is None or least.share <= _SAME else (least.node, self._rights.most(least))

    def allows(self, taken: Iterable[tuple[int, Amount]], before: Mapping[Least, Amount] = _NONE) -> bool:
        """Whether all of these may leave, each of a part that is open. Then any of them may.

        `before`: what leaves anyhow, as `sums` gives it, and may.
        """
        for least, amount in self.sums(taken).items():
            all_ = amount.plus(before.get(least, NOTHING))
            if self._rights.left(least.node, all_) < least.share - _SAME:
                return False
        return True

    def sums(self, taken: Iterable[tuple[int, Amount]]) -> dict[Least, Amount]:
        """How much of these counts for whom who has to be left with something."""
        found: dict[Least, Amount] = {}
        for part, amount in taken:
            least = None if part == self._own else self._least(part)
            if least is not None:
                found[least] = found.get(least, NOTHING).plus(amount)
        return found

    def _least(self, part: int) -> Least | None:
        if part not in self._known:
            self._known[part] = self._keeps(part)
        return self._known[part]


def _nothing(part: int) -> None:
    """Others keep all they have."""
    del part
