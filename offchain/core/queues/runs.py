"""Tasks that go together: of one shape, come at about the same time, from parts of the tree that hold about as much."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from offchain.core.queues.ageing import Key
from offchain.core.queues.amount import UNLIMITED, Amount
from offchain.core.queues.claim import Claim
from offchain.core.queues.line import Alike
from offchain.core.queues.nodes import Branch, Entry, Leaf, Node
from offchain.core.queues.share import dominant_share

SLICE: Final = 1 / 1024
"""Of the network: so far a part of the tree may get ahead of the others when several tasks go together."""

MOST_IN_RUN: Final = 4096


class Slice(NamedTuple):
    """Some of a part of the tree that are alike, the oldest first."""

    leaf: Leaf
    alike: Alike
    claims: list[Claim]


def run_from(leaf: Leaf, alike: Alike, totals: Amount, waiting: Mapping[int, Claim]) -> list[Slice]:
    """Those that may go together with the first of `alike`, which is next; `waiting` has all that wait.

    All that go together have come at about the same time as those ahead of them in their part of the tree, and no
    part of the tree gets more than a slice of the network ahead of the others.
    """
    each = dominant_share(alike.shape.amount, totals)
    room = _room(leaf, alike)
    step = SLICE / each if each else math.inf
    count = max(1, min(int(min(step, MOST_IN_RUN)), room))
    claims = alike.oldest(waiting, count, alike.claims[alike.head].submitted_at + alike.line.together_ms)
    found = [Slice(leaf, alike, claims)]
    if leaf.parent is not None and not alike.accounts and len(alike.shape.alikes) > 1 and step >= 1:
        _join(found, each, room - len(claims), waiting)
    return found


def first_of(slices: Sequence[Slice], count: int) -> Sequence[Slice]:
    """The first so many tasks of these; none of them is empty."""
    if count >= sum(len(one.claims) for one in slices):
        return slices
    found = []
    for leaf, alike, claims in slices:
        if count <= 0:
            break
        found.append(Slice(leaf, alike, claims[:count]))
        count -= len(claims)
    return found


def leave(slices: Sequence[Slice], count: int, waiting: dict[int, Claim], now_ms: int, totals: Amount) -> None:
    """So many of these, the first ones, have their places, and their parts of the tree hold what they asked for."""
    amount = slices[0].alike.shape.amount
    moved: dict[Branch, list[Entry]] = {}
    for leaf, alike, claims in first_of(slices, count):
        many = len(claims)
        for claim in claims:
            del waiting[claim.id]
        first = alike.leave(many, waiting)
        if first is None:
            alike.line.drop(alike)
        else:
            alike.line.place(alike, first, now_ms)
        more = amount.times(many)
        leaf.held = leaf.held.plus(more)
        for account in alike.accounts:
            account.held = account.held.plus(more)
        leaf.served = now_ms
        entry = leaf.renew(totals)
        if leaf.parent is not None and entry is not None:
            moved.setdefault(leaf.parent, []).append(entry)
    for branch, entries in moved.items():
        branch.enter_all(entries)


def _room(leaf: Leaf, alike: Alike) -> int:
    """How many of these the limits of queues and of the account leave room for."""
    room = UNLIMITED
    node: Node | None = leaf
    while node is not None:
        room = node.room(room)
        node = node.parent
    for account in alike.accounts:
        room = room.at_most(account.most.minus(account.held))
    return min(room[at] // asked for at, asked in enumerate(alike.shape.amount) if asked)


def _join(found: list[Slice], each: float, room: int, waiting: Mapping[int, Claim]) -> None:
    """Let the same part's siblings in, as far as they are not ahead of it by more than a slice."""
    leaf, first, claims = found[0]
    parent = leaf.parent
    if leaf.entry is None or parent is None or not _alone(parent):
        return
    level = leaf.entry[0] + SLICE / leaf.weight
    others: list[tuple[Entry, Key, Leaf, Alike]] = []
    for alike in first.shape.alikes:
        line = alike.line
        other = line.leaf
        entry = other.entry
        if entry is None or entry[0] >= level or other.parent is not parent or other.limit is not None:
            continue
        key = alike.standing_key or alike.rising_key
        if key is not None and other is not leaf and line.near(key):
            others.append((entry, key, other, alike))
    others.sort(key=_PLACE)
    left = min(room, MOST_IN_RUN - len(claims))
    served: set[Leaf] = set()
    for entry, _, other, alike in others:
        if left <= 0:
            return
        most = min(left, int((level - entry[0]) * other.weight / each))
        if most and other not in served:
            until = alike.claims[alike.head].submitted_at + alike.line.together_ms
            claims = alike.oldest(waiting, most, until)
            left -= len(claims)
            served.add(other)
            found.append(Slice(other, alike, claims))


def _alone(branch: Branch) -> bool:
    """Whether no other part of the tree is compared with this one or what it is a part of."""
    above = branch.parent
    return above is None or (len(above.parts) == 1 and _alone(above))


_PLACE = itemgetter(0, 1)
