"""Entitlements and reclaim: whose spot tasks may be preempted for a waiting task, by usage and entitlement of queues.

A queue that uses less than its entitlement reclaims what others borrow: from those above their entitlements, and no
more than they are above. As tasks cannot be divided, two queues may also exchange positions: after the move the
reclaiming queue's weighted share is at most what the other's was before, and the other's at least what the first one's
was. A queue at its entitlement preempts only its own tasks. docs/scheduling.md, "Taking back what was lent".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

from offchain.core.scheduler.pod_request import NO_RESOURCES, ResourceAmount, dominant_share, sharing_account
from offchain.core.values import LeaseState, Task, TaskState

NO_PARENT: Final = -1
_EPSILON: Final = 1e-9
"""Shares that differ by less are equal."""


class RetainedShare(NamedTuple):
    """A node of the queue tree and the share of the network that it must be left with."""

    node: int
    share: float


class EntitlementNode(NamedTuple):
    """A queue, or an account in `default`: its usage with all descendants, and the share that it is entitled to."""

    parent: int
    weight: float
    used: ResourceAmount
    entitlement: float


_NOTHING_TAKEN: Final[Mapping[RetainedShare, ResourceAmount]] = MappingProxyType({})


class Entitlements:
    """Usage and entitlement of each node at one moment. A node is known by its index in `nodes`."""

    def __init__(self, totals: ResourceAmount, nodes: Sequence[EntitlementNode]) -> None:
        self._totals = totals
        self._nodes = nodes
        self._used = [node.used for node in nodes]

    def add_usage(self, node: int, amount: ResourceAmount) -> None:
        """Count an amount that is about to be used by this node as used."""
        for one in self._path(node):
            self._used[one] = self._used[one].plus(amount)

    def remove_usage(self, node: int, amount: ResourceAmount) -> None:
        """Count an amount that this node is about to free as free."""
        for one in self._path(node):
            self._used[one] = self._used[one].minus(amount)

    def entitlement(self, node: int) -> float:
        return self._nodes[node].entitlement

    def share(self, node: int, extra: ResourceAmount = NO_RESOURCES) -> float:
        """Return the node's dominant share, with `extra` added to its usage."""
        return dominant_share(self._used[node].plus(extra), self._totals)

    def share_without(self, node: int, taken: ResourceAmount) -> float:
        return dominant_share(self._used[node].minus(taken), self._totals)

    def borrowed_from(self, node: int) -> RetainedShare | None:
        """Return what the node retains if its borrowing is reclaimed; None: it is not above its entitlement."""
        entitlement = self.entitlement(node)
        return RetainedShare(node, entitlement) if self.share(node) > entitlement + _EPSILON else None

    def exchange(self, node: int, request: ResourceAmount, other: int) -> RetainedShare | None:
        """Return what the queue of `other` retains if the two exchange positions; None: `node` would have too much.

        They are compared below their lowest common ancestor.
        """
        mine, theirs = self._siblings(node, other)
        weight, other_weight = self._nodes[mine].weight, self._nodes[theirs].weight
        if self.share(mine, request) / weight > self.share(theirs) / other_weight + _EPSILON:
            return None
        return RetainedShare(theirs, self.share(mine) / weight * other_weight)

    def max_loss(self, retained: RetainedShare) -> ResourceAmount:
        """Return what the node may lose per resource: at least one must stay within it; below 0: that one cannot."""
        used, totals = self._used[retained.node], self._totals
        return ResourceAmount(
            *(
                math.floor(has - (retained.share - _EPSILON) * total) if total else -1
                for has, total in zip(used, totals, strict=True)
            )
        )

    def reclaim_policies(self, node: int, request: ResourceAmount) -> tuple[ReclaimPolicy, ...]:
        """Return how a task of this node may preempt others; the first policy by which it becomes feasible applies."""
        if self.share(node) >= self.entitlement(node) - _EPSILON:
            return (ReclaimPolicy(self, node, lambda _: None),)
        exchange = ReclaimPolicy(self, node, partial(self.exchange, node, request))
        if self.share(node, request) > self.entitlement(node) + _EPSILON:
            return (exchange,)
        return ReclaimPolicy(self, node, self.borrowed_from), exchange

    def _siblings(self, node: int, other: int) -> tuple[int, int]:
        """Return the two nodes, or their ancestors, below their lowest common ancestor."""
        pairs = zip(self._path(node), self._path(other), strict=False)
        return next((one, two) for one, two in pairs if one != two)

    def _path(self, node: int) -> list[int]:
        """Return the nodes from the root down to this one."""
        found = [node]
        while (parent := self._nodes[found[-1]].parent) != NO_PARENT:
            found.append(parent)
        return found[::-1]


class ReclaimPolicy:
    """From which nodes a task of the node `own` may preempt tasks, and how much. Its own tasks are always allowed.

    `retains`: [node], what must be left to it or its ancestor; None: nothing may be taken from it.
    """

    def __init__(self, entitlements: Entitlements, own: int, retains: Callable[[int], RetainedShare | None]) -> None:
        self._entitlements = entitlements
        self._own = own
        self._retains = retains
        self._known: dict[int, RetainedShare | None] = {}

    def is_open(self, node: int) -> bool:
        """Return whether any task of this node may be preempted."""
        return node == self._own or self._retained(node) is not None

    def bound(self, node: int) -> tuple[int, ResourceAmount] | None:
        """Return the node that retains its share, and its `max_loss`; None: tasks of this node are not bounded."""
        retained = None if node == self._own else self._retained(node)
        # A node that retains nothing may lose everything, also what shares do not count.
        if retained is None or retained.share <= _EPSILON:
            return None
        return retained.node, self._entitlements.max_loss(retained)

    def allows(
        self,
        taken: Iterable[tuple[int, ResourceAmount]],
        before: Mapping[RetainedShare, ResourceAmount] = _NOTHING_TAKEN,
    ) -> bool:
        """Return whether all of these, each of an open node, may be taken. Then any subset may.

        `before`: what is taken anyway, as :meth:`sums` returns it.
        """
        for retained, amount in self.sums(taken).items():
            total = amount.plus(before.get(retained, NO_RESOURCES))
            if self._entitlements.share_without(retained.node, total) < retained.share - _EPSILON:
                return False
        return True

    def sums(self, taken: Iterable[tuple[int, ResourceAmount]]) -> dict[RetainedShare, ResourceAmount]:
        """Add up what is taken from each node that retains a share."""
        found: dict[RetainedShare, ResourceAmount] = {}
        for node, amount in taken:
            retained = None if node == self._own else self._retained(node)
            if retained is not None:
                found[retained] = found.get(retained, NO_RESOURCES).plus(amount)
        return found

    def _retained(self, node: int) -> RetainedShare | None:
        if node not in self._known:
            self._known[node] = self._retains(node)
        return self._known[node]


_LIVE: Final = frozenset({LeaseState.PENDING, LeaseState.ACTIVE})


def may_preempt(task: Task) -> bool:
    """Return whether a task may preempt others: it waits, has a priority above 0, and was not preempted itself.

    A task that requests a share of a GPU may not: who shares the devices that victims free is not known in advance. Nor
    may a task for which others are leaving already.
    """
    waits = task.state is TaskState.QUEUED and task.preemption is None and task.notice_ends_at is None
    return waits and task.priority > 0 and not sharing_account(task)


def is_preemptible(task: Task) -> bool:
    """Return whether the chain allows preempting the task, and its resources would then be free."""
    runs = task.spot and task.state is TaskState.RUNNING and task.preemption is None
    return runs and bool(task.leases) and all(lease.state in _LIVE for lease in task.leases)


SHARES_REASON: Final = "the spot tasks that hold enough are of others, who need not give them up"


def shares_reason(entitlements: Entitlements, node: int, request: ResourceAmount) -> str:
    """Explain to people why entitlements do not allow a task of this node to preempt."""
    shares = f"its queue or account holds {entitlements.share(node):.1%} of the network, with the task "
    shares += f"{entitlements.share(node, request):.1%}, and has a right to {entitlements.entitlement(node):.1%}"
    return f"{SHARES_REASON}: {shares}"


def entitlement_nodes(
    parents: Sequence[int],
    weights: Sequence[float],
    used: Sequence[ResourceAmount],
    wanted: Sequence[ResourceAmount],
    limits: Sequence[ResourceAmount],
    totals: ResourceAmount,
) -> list[EntitlementNode]:
    """Divide the network by water-filling; all arguments are by node, parents before children, node 0 is the root.

    From the root down an entitlement is divided among the children by weight, none gets more than it wants, and what
    one does not want is divided among the others. `wanted`: what a leaf uses and waits for; nothing for other nodes.
    """
    sums, demands = list(wanted), [0.0] * len(wanted)
    children: dict[int, list[int]] = {}
    for node in reversed(range(len(sums))):
        sums[node] = sums[node].minimum(limits[node])
        demands[node] = dominant_share(sums[node], totals)
        if parents[node] != NO_PARENT:
            sums[parents[node]] = sums[parents[node]].plus(sums[node])
            children.setdefault(parents[node], []).append(node)
    shares = [1.0] + [0.0] * (len(sums) - 1)
    for node in sorted(children):
        # Children with the least demand per weight get all of it.
        order = sorted(children[node], key=lambda child: demands[child] / weights[child])
        left, weight_left = shares[node], sum(weights[child] for child in order)
        for child in order:
            share = left * weights[child] / weight_left if weight_left > 0 else 0.0
            shares[child] = min(demands[child], share)
            left -= shares[child]
            weight_left -= weights[child]
    return list(map(EntitlementNode, parents, weights, used, shares))
