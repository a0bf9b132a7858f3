"""What lent resources are to be taken back: from queues above what they have a right to, for those below it that wait.

A queue that may borrow uses what others leave. When those want it again, and it does not come free by itself, the
preempter ends spot tasks of the borrower. Rights are divided from the root down, by weight among those that want more;
one that wants no more has a right to what it holds (:func:`offchain.core.queues.share.divided`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from offchain.core.queues.amount import NOTHING, Amount
from offchain.core.queues.share import Wish, divided, dominant_share
from offchain.core.queues.tree import DEFAULT, ROOT, Part, Tree


@dataclass(frozen=True, slots=True)
class Reclaim:
    """Take so much back from a part of the tree: never more than it holds above its right."""

    part: Part
    amount: Amount


def reclaims(
    tree: Tree,
    totals: Amount,
    holdings: Mapping[Part, Amount],
    wanted: Mapping[Part, Amount],
    free: Amount = NOTHING,
) -> tuple[Reclaim, ...]:
    """What to take back, from those the furthest above their rights first.

    `wanted`: what waits and no limit keeps, as :meth:`offchain.core.queues.turn.Turn.wanted` gives it. `free`: what is
    free and will serve them first.
    """
    rights = _rights(tree, totals, holdings, wanted)
    need = NOTHING
    for part, asks in wanted.items():
        if dominant_share(holdings.get(part, NOTHING), totals) < rights[part]:
            due = totals.part(rights[part]).minus(holdings.get(part, NOTHING))
            need = need.plus(asks.at_most(due))
    need = need.minus(free)
    above = sorted(
        (part for part, held in holdings.items() if dominant_share(held, totals) > rights[part] + 1e-9),
        key=lambda part: (rights[part] / dominant_share(holdings[part], totals), part),
    )
    found: list[Reclaim] = []
    for part in above:
        lent = holdings[part].minus(totals.part(rights[part]))
        amount = lent.at_most(need)
        if amount != NOTHING:
            found.append(Reclaim(part, amount))
            need = need.minus(amount)
    return tuple(found)


def _rights(
    tree: Tree, totals: Amount, holdings: Mapping[Part, Amount], wanted: Mapping[Part, Amount]
) -> dict[Part, float]:
    """The share that each part has a right to."""
    rights: dict[Part, float] = {}
    members: dict[str, list[Part]] = {}
    held: dict[str, Amount] = {}
    wants: set[str] = set()
    for part in holdings.keys() | wanted.keys():
        members.setdefault(part.queue, []).append(part)
        for queue in tree.path(part.queue):
            held[queue.name] = held.get(queue.name, NOTHING).plus(holdings.get(part, NOTHING))
            if part in wanted:
                wants.add(queue.name)

    def divide(queue: str, right: float) -> None:
        if queue == DEFAULT:
            accounts = {
                part.account: Wish(1.0, dominant_share(holdings.get(part, NOTHING), totals), part in wanted)
                for part in sorted(members.get(queue, []))
            }
            rights.update({Part(DEFAULT, name): share for name, share in divided(right, accounts).items()})
        elif queue in tree.parts:
            wishes = {
                name: Wish(tree.queues[name].weight, dominant_share(held[name], totals), name in wants)
                for name in tree.parts[queue]
                if name in held
            }
            for name, share in divided(right, wishes).items():
                divide(name, share)
        else:
            rights[Part(queue)] = right

    divide(ROOT, 1.0)
    return rights
