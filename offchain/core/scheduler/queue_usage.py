"""What each queue and account uses, the limits on it, and the entitlements that follow from usage and demand."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from offchain.core.scheduler import fair_share_updates as updates
from offchain.core.scheduler.columns import Ints
from offchain.core.scheduler.entitlements import Entitlements, entitlement_nodes
from offchain.core.scheduler.fair_share_compaction import compacted
from offchain.core.scheduler.fair_share_selection import available_to, class_fits
from offchain.core.scheduler.fair_share_tables import NEVER, NONE, FairShareTables, Table, empty_tables, grown
from offchain.core.scheduler.jit import compiled
from offchain.core.scheduler.pod_request import NO_RESOURCES, UNLIMITED, ResourceAmount, amount_text, number_text
from offchain.core.scheduler.queue_definitions import DEFAULT, ROOT, AgeingPolicy, QueueLeaf, QueueTree, ResourceLimit

_USED: Final = ("cpu", "memory", "gpu")
_LIMITS: Final = ("cpu_limit", "memory_limit", "gpu_limit")


@dataclass(frozen=True, slots=True)
class QuotaExceeded:
    """A limit that keeps a task waiting: of its queue or an ancestor, or of its account there.

    `is_nominal_share`: the limit is the share of a queue that may not borrow. `resource`: index in a ResourceAmount.
    """

    queue: str
    account: str
    is_nominal_share: bool
    resource: int
    used: int
    limit: int
    requested: int

    def __str__(self) -> str:
        """One line for people."""
        who = f"account {self.account}" if self.account else f"queue {self.queue}"
        limit = amount_text(self.resource, self.limit)
        of_queue = f" of queue {self.queue}" if self.account else ""
        requested = number_text(self.resource, self.requested)
        if self.requested > self.limit:
            return f"the task asks for {requested} of at most {limit}{of_queue} that {who} may ever hold"
        why = ", its share, and may not borrow" if self.is_nominal_share and not self.account else ""
        used = number_text(self.resource, self.used)
        return f"{who} holds {used} of at most {limit}{of_queue}{why}; the task asks for {requested}"


class ChargeTarget(NamedTuple):
    """Where a task is charged: its leaf, and the row of its account's limit (NONE: it has no limit)."""

    leaf: int
    account_limit: int


FEW_TARGETS: Final = 64
"""Up to this many targets are kept, also those of idle accounts."""


class QueueUsage:
    """A node for each queue of the tree and for each account in `default`; `totals`: of the online hosts."""

    def __init__(self, tree: QueueTree, totals: ResourceAmount) -> None:
        self.tree = tree
        self.totals = NO_RESOURCES
        self.tables: FairShareTables = empty_tables()
        self.leaves: dict[QueueLeaf, int] = {}
        """[leaf]: its node."""
        self.names: list[str] = []
        """[node]: name of the queue, or of the account in `default`."""
        self.ageing: list[AgeingPolicy] = []
        """[node]"""
        self._queues: dict[str, int] = {}
        """[queue]: its node."""
        self._children: dict[int, list[tuple[str, int]]] = {}
        """[node]: its children, sorted by name."""
        self._unranked: set[int] = set()
        """Nodes with new children, whose ranks in the tables are stale."""
        self._account_limits: dict[tuple[str, str], int] = {}
        """[queue, account]: row in the tables."""
        self._limit_owners: list[tuple[str, str]] = []
        """[row]: queue and account."""
        self._targets: dict[tuple[str, str], ChargeTarget] = {}
        self._most_targets = FEW_TARGETS
        """Idle accounts are dropped where more targets are known."""
        self._new_served_ms = NEVER
        """`served_ms` of the leaf of a new account."""
        self._branches = 0
        self._limiting = {
            name: [one.name for one in tree.path(name) if one.account_limit is not None] for name in tree.queues
        }
        for name, queue in tree.queues.items():
            parent = NONE if name == ROOT else self._queues[queue.parent]
            if name in (ROOT, DEFAULT) or name in tree.children:
                self._queues[name] = self._add_node(name, name, queue.weight, parent)
                self._make_branch(self._queues[name])
            else:
                self._queues[name] = self._add_leaf(QueueLeaf(name), queue.weight, parent)
        self.resize(totals)

    def leaf(self, leaf: QueueLeaf) -> int:
        """Return the node of a leaf; a new account in `default` gets one."""
        node = self.leaves.get(leaf)
        if node is None:
            node = self._add_leaf(leaf, 1.0, self._queues[DEFAULT])
        return node

    def by_queue(self, by_node: npt.NDArray[Any]) -> dict[str, int]:
        """Return the values of leaves, by queue; those of accounts in `default` are added up."""
        parents = self.tables.nodes["parent"][: len(by_node)]
        found = {queue: int(by_node[node]) for queue, node in self._queues.items() if queue not in self.tree.children}
        return found | {DEFAULT: int(by_node[parents == self._queues[DEFAULT]].sum())}

    def target(self, queue: str, account: str) -> ChargeTarget:
        """Return where tasks of this account that name this queue are charged."""
        if queue not in self.tree.queues:
            queue = DEFAULT
        found = self._targets.get((queue, account))
        if found is None:
            leaf = self.tree.leaf_of(queue, account)
            row = NONE
            for name in reversed(self._limiting[leaf.queue]):
                row = self._account_limit(name, account, row)
            found = self._targets[queue, account] = ChargeTarget(self.leaf(leaf), row)
        return found

    def drop_idle(self) -> None:
        """Drop accounts that use nothing and have no waiting tasks, where many accounts are known.

        Nodes and limits get new numbers: no :class:`ChargeTarget` may be kept. An account that comes back, or is new,
        counts as served when the last dropped one was: one that waits since then comes before it.
        """
        if len(self._targets) <= self._most_targets:
            return
        droppable = np.zeros(len(self.names), dtype=np.bool_)
        droppable[[node for leaf, node in self.leaves.items() if leaf.account]] = True
        self.tables, nodes, limits, served_ms = compacted(self.tables, droppable, len(self._limit_owners))
        self._new_served_ms = max(self._new_served_ms, served_ms)
        numbers = {old: new for new, old in enumerate(nodes.tolist())}
        self.names, self.ageing = [self.names[old] for old in numbers], [self.ageing[old] for old in numbers]
        self.leaves = {leaf: numbers[node] for leaf, node in self.leaves.items() if node in numbers}
        self._queues = {name: numbers[node] for name, node in self._queues.items()}
        self._children = {
            numbers[parent]: [(name, numbers[node]) for name, node in children if node in numbers]
            for parent, children in self._children.items()
        }
        self._unranked = set(self._children)
        self._limit_owners = [self._limit_owners[old] for old in limits.tolist()]
        self._account_limits = {owner: row for row, owner in enumerate(self._limit_owners)}
        self._targets = {}
        self._most_targets = FEW_TARGETS + 2 * (len(self.leaves) + len(self._limit_owners))

    def charge(self, target: ChargeTarget, amount: ResourceAmount) -> None:
        updates.charge(self.tables, *target, *amount)

    def release(self, usages: Sequence[tuple[int, ...]]) -> None:
        """Subtract usages: of each leaf, account limit, cores, memory, GPUs.

        ValueError if a leaf does not use as much; those before it are released.
        """
        if not usages:
            return
        done = updates.release(self.tables, np.array(usages))
        if done < len(usages):
            leaf, _, *amount = usages[done]
            raise ValueError(
                f'queue "{self.names[leaf]}" does not hold the {ResourceAmount(*amount)} that it is to release'
            )

    def resize(self, totals: ResourceAmount) -> None:
        """Set the totals of the network; the next cycle must begin after that."""
        self.totals = totals
        for field, total in zip(_USED, totals, strict=True):
            self.tables.state[field] = total
        for name, node in self._queues.items():
            limit = self.tree.limit_of(name, totals)
            self.tables.nodes[node]["limited"] = limit is not None
            _set_limits(self.tables.nodes[node], limit or UNLIMITED)
        for (name, _), row in self._account_limits.items():
            _set_limits(self.tables.account_limits[row], self._of_totals(self.tree.queues[name].account_limit))

    def rank(self) -> None:
        """Rank new nodes among their siblings, by name."""
        for node in self._unranked:
            numbers = np.array([number for _, number in self._children[node]], dtype=np.int64)
            self.tables.nodes["rank"][numbers] = np.arange(len(numbers))
        self._unranked.clear()

    def quota_exceeded(self, target: ChargeTarget, request: ResourceAmount) -> QuotaExceeded | None:
        """Return the limit that keeps a task waiting, limits of its account first; None: no limit does."""
        node, row = target
        while row != NONE:
            limit = self.tables.account_limits[row]
            found = _exceeded(limit, request, *self._limit_owners[row])
            if found is not None:
                return found
            row = int(limit["parent"])
        while node != NONE:
            one = self.tables.nodes[node]
            name = self.names[node]
            nominal = self._of_totals(self.tree.queues[name].limit) if one["limited"] else None
            found = _exceeded(one, request, name, "", nominal) if one["limited"] else None
            if found is not None:
                return found
            node = int(one["parent"])
        return None

    def grow(self, table: str, *, columns: bool = False) -> None:
        self.tables = grown(self.tables, table, columns=columns)

    def entitlements(self) -> Entitlements:
        """Return usage and entitlement of each node now; a node is known by its number."""
        nodes = self.tables.nodes[: len(self.names)]
        used = np.column_stack([nodes[name] for name in _USED])
        limits = np.column_stack([nodes[name] for name in _LIMITS])
        limits[nodes["limited"] == 0] = UNLIMITED
        wanted: Ints = np.where(nodes["branch"][:, None] < 0, used, 0)
        _add_waiting(self.tables, wanted)
        amounts = ([ResourceAmount(*row) for row in table.tolist()] for table in (used, wanted, limits))
        used_amounts, wanted_amounts, limit_amounts = amounts
        parents, weights = nodes["parent"].tolist(), nodes["weight"].tolist()
        found = entitlement_nodes(parents, weights, used_amounts, wanted_amounts, limit_amounts, self.totals)
        return Entitlements(self.totals, found)

    def _add_node(self, name: str, queue: str, weight: float, parent: int) -> int:
        number = len(self.names)
        self.names.append(name)
        self.ageing.append(self.tree.ageing(queue))
        if number == len(self.tables.nodes):
            self.grow("nodes")
        nodes: Any = self.tables.nodes
        one = nodes[number]
        one["weight"], one["served_ms"], one["parent"] = weight, NEVER, parent
        for field in ("child", "sibling", "branch", "head", "candidate"):
            one[field] = NONE
        if parent != NONE:
            one["sibling"], nodes[parent]["child"] = nodes[parent]["child"], number
            insort(self._children.setdefault(parent, []), (name, number))
            self._unranked.add(parent)
        return number

    def _make_branch(self, node: int) -> None:
        if self._branches == len(self.tables.class_counts):
            self.grow("class_counts")
            self.grow("requested")
        self.tables.nodes[node]["branch"] = self._branches
        self._branches += 1

    def _add_leaf(self, leaf: QueueLeaf, weight: float, parent: int) -> int:
        number = self.leaves[leaf] = self._add_node(leaf.account or leaf.queue, leaf.queue, weight, parent)
        self.tables.nodes[number]["batch_window_ms"] = self.ageing[number].batch_window_ms
        if leaf.account:
            self.tables.nodes[number]["served_ms"] = self._new_served_ms
        return number

    def _account_limit(self, queue: str, account: str, parent: int) -> int:
        found = self._account_limits.get((queue, account))
        if found is None:
            found = self._account_limits[queue, account] = len(self._account_limits)
            self._limit_owners.append((queue, account))
            if found == len(self.tables.account_limits):
                self.grow("account_limits")
            limit: Any = self.tables.account_limits[found]
            limit["parent"] = parent
            _set_limits(limit, self._of_totals(self.tree.queues[queue].account_limit))
        return found

    def _of_totals(self, limit: ResourceLimit | None) -> ResourceAmount:
        return UNLIMITED if limit is None else limit.of(self.totals)


def _set_limits(row: Any, limit: ResourceAmount) -> None:
    for field, most in zip(_LIMITS, limit, strict=True):
        row[field] = most


def _exceeded(
    row: Table, request: ResourceAmount, queue: str, account: str, own_limit: ResourceAmount | None = None
) -> QuotaExceeded | None:
    """Return the first limit of this row that the request would exceed. `own_limit`: without the nominal share."""
    for resource, (used_field, limit_field) in enumerate(zip(_USED, _LIMITS, strict=True)):
        used, limit = int(row[used_field]), int(row[limit_field])
        if request[resource] and used + request[resource] > limit:
            nominal = own_limit is not None and limit < own_limit[resource]
            return QuotaExceeded(queue, account, nominal, resource, used, limit, request[resource])
    return None


@compiled
def _add_waiting(tables: FairShareTables, wanted: Ints) -> None:
    """Add the requests of waiting tasks, [node, resource], except those kept waiting by a limit."""
    for bucket in range(tables.state[0].buckets):
        one = tables.buckets[bucket]
        if one.count and class_fits(tables, one.class_id, available_to(tables, bucket)):
            request = tables.classes[one.class_id]
            wanted[one.leaf, 0] += one.count * request.cpu
            wanted[one.leaf, 1] += one.count * request.memory
            wanted[one.leaf, 2] += one.count * request.gpu
