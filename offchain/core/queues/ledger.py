"""What each queue and account holds, the limits on it, and which limit keeps a task waiting."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from offchain.core.queues import index, moves
from offchain.core.queues.ageing import Ageing
from offchain.core.queues.amount import NOTHING, UNLIMITED, Amount
from offchain.core.queues.claim import Held, broken
from offchain.core.queues.tables import NEVER, NOBODY, Table, Tables, longer, tables
from offchain.core.queues.tree import DEFAULT, ROOT, Part, Tree

_EACH: Final = ("cpu", "memory", "gpu")
_MOST: Final = ("cpu_most", "memory_most", "gpu_most")


class Place(NamedTuple):
    """Where a task counts: its part of the tree, and its account where it has limits (NOBODY: none)."""

    leaf: int
    holder: int


class Ledger:
    """A node for each queue of the tree, and for each account in `default` that has come; `totals`: of hosts online."""

    def __init__(self, tree: Tree, totals: Amount) -> None:
        self.tree = tree
        self.totals = NOTHING
        self.tables: Tables = tables()
        self.leaves: dict[Part, int] = {}
        """[part]: its node."""
        self.names: list[str] = []
        """[node]: of a queue, or of an account in `default`."""
        self.ageing: list[Ageing] = []
        """[node]: that holds there."""
        self._queues: dict[str, int] = {}
        """[queue]: its node."""
        self._sorted: dict[int, list[tuple[str, int]]] = {}
        """[node]: its parts by name, in the order in which the tables have them from the next round on."""
        self._unsorted: set[int] = set()
        self._holders: dict[tuple[str, str], int] = {}
        self._held_by: list[tuple[str, str]] = []
        """[holder]: its queue and account."""
        self._places: dict[tuple[str, str], Place] = {}
        self._branches = 0
        self._limiting = {
            name: [one.name for one in tree.path(name) if one.account_most is not None] for name in tree.queues
        }
        for name, queue in tree.queues.items():
            parent = NOBODY if name == ROOT else self._queues[queue.parent]
            if name in (ROOT, DEFAULT) or name in tree.parts:
                self._queues[name] = self._node(name, name, queue.weight, parent)
                self._make_branch(self._queues[name])
            else:
                self._queues[name] = self._leaf(Part(name), queue.weight, parent)
        self.resize(totals)

    def leaf(self, part: Part) -> int:
        """The node of a part of the tree; a new account in `default` gets one."""
        leaf = self.leaves.get(part)
        if leaf is None:
            if part.queue != DEFAULT:
                raise ValueError(f'no tasks wait in queue "{part.queue}"')
            leaf = self._leaf(part, 1.0, self._queues[DEFAULT])
        return leaf

    def place(self, queue: str, account: str) -> Place:
        """Where a task of this account that names this queue counts."""
        if queue not in self.tree.queues:
            queue = DEFAULT
        found = self._places.get((queue, account))
        if found is None:
            part = self.tree.part_of(queue, account)
            holder = NOBODY
            for name in reversed(self._limiting[part.queue]):
                holder = self._holder(name, account, holder)
            found = self._places[queue, account] = Place(self.leaf(part), holder)
        return found

    def charge(self, place: Place, amount: Amount) -> None:
        """So much more is held there."""
        moves.charge(self.tables, *place, *amount)

    def release(self, holdings: Sequence[tuple[int, ...]]) -> None:
        """So much is held there no more. ValueError where less is; then what comes before it is released.

        Of each, its leaf, its holder, cores, memory, thousandths of GPUs.
        """
        if not holdings:
            return
        done = moves.give_back(self.tables, np.array(holdings))
        if done < len(holdings):
            leaf, _, *amount = holdings[done]
            raise ValueError(f'queue "{self.names[leaf]}" does not hold the {Amount(*amount)} that it is to release')

    def resize(self, totals: Amount) -> None:
        """The network has so much now. The next round must begin after that."""
        self.totals = totals
        nodes, holders = self.tables.nodes, self.tables.holders
        for field, whole in zip(_EACH, totals, strict=True):
            self.tables.round[field] = whole
        for name, node in self._queues.items():
            limit = self.tree.limit(name, totals)
            nodes[node]["limited"] = limit is not None
            for field, most in zip(_MOST, limit or UNLIMITED, strict=True):
                nodes[node][field] = most
        for (name, _), holder in self._holders.items():
            for field, most in zip(_MOST, self._account_most(name), strict=True):
                holders[holder][field] = most

    def sort(self) -> None:
        """Give new parts their place among their siblings, by name."""
        for node in self._unsorted:
            numbers = np.array([number for _, number in self._sorted[node]])
            self.tables.nodes["rank"][numbers] = np.arange(len(numbers))
        self._unsorted.clear()

    def limit_on(self, place: Place, asks: Amount) -> Held | None:
        """The limit that keeps a task waiting that asks for so much, of its account first; None: no limit does."""
        node, holder = place
        while holder != NOBODY:
            of = self.tables.holders[holder]
            holds, most = _amount(of, _EACH), _amount(of, _MOST)
            at = broken(holds, asks, most)
            if at is not None:
                queue, account = self._held_by[holder]
                return Held(
                    queue=queue,
                    account=account,
                    owned=False,
                    resource=at,
                    holds=holds[at],
                    most=most[at],
                    asks=asks[at],
                )
            holder = int(of["above"])
        while node != NOBODY:
            here = self.tables.nodes[node]
            holds, most = _amount(here, _EACH), _amount(here, _MOST)
            at = broken(holds, asks, most) if here["limited"] else None
            if at is not None:
                name = self.names[node]
                return Held(
                    queue=name,
                    account="",
                    owned=most[at] < self._most(name)[at],
                    resource=at,
                    holds=holds[at],
                    most=most[at],
                    asks=asks[at],
                )
            node = int(here["parent"])
        return None

    def served(self) -> Iterator[tuple[Part, int]]:
        """When each part was last served."""
        for part, leaf in self.leaves.items():
            when_ms = int(self.tables.nodes[leaf]["served"])
            if when_ms != NEVER:
                yield part, when_ms

    def grow(self, table: str, *, columns: bool = False) -> None:
        """Make one of the tables twice as long; or as wide."""
        more = longer(getattr(self.tables, table), columns=columns)
        self.tables = self.tables._replace(**{table: more})
        if table == "alikes":
            self.tables = self.tables._replace(found_by=np.zeros(2 * len(more), np.int64))
            index.fill(self.tables)

    def _node(self, name: str, queue: str, weight: float, parent: int) -> int:
        number = len(self.names)
        self.names.append(name)
        self.ageing.append(self.tree.ageing(queue))
        if number == len(self.tables.nodes):
            self.grow("nodes")
        nodes: Any = self.tables.nodes
        here = nodes[number]
        here["weight"], here["served"], here["parent"] = weight, NEVER, parent
        for field in ("child", "sibling", "branch", "head", "pick"):
            here[field] = NOBODY
        if parent != NOBODY:
            here["sibling"], nodes[parent]["child"] = nodes[parent]["child"], number
            insort(self._sorted.setdefault(parent, []), (name, number))
            self._unsorted.add(parent)
        return number

    def _make_branch(self, node: int) -> None:
        if self._branches == len(self.tables.waits):
            self.grow("waits")
            self.grow("asked")
        self.tables.nodes[node]["branch"] = self._branches
        self._branches += 1

    def _leaf(self, part: Part, weight: float, parent: int) -> int:
        number = self.leaves[part] = self._node(part.account or part.queue, part.queue, weight, parent)
        self.tables.nodes[number]["together_ms"] = self.ageing[number].together_ms
        return number

    def _holder(self, queue: str, account: str, above: int) -> int:
        found = self._holders.get((queue, account))
        if found is None:
            found = self._holders[queue, account] = len(self._holders)
            self._held_by.append((queue, account))
            if found == len(self.tables.holders):
                self.grow("holders")
            of: Any = self.tables.holders[found]
            of["above"] = above
            for field, most in zip(_MOST, self._account_most(queue), strict=True):
                of[field] = most
        return found

    def _most(self, queue: str) -> Amount:
        most = self.tree.queues[queue].most
        return UNLIMITED if most is None else most.of(self.totals)

    def _account_most(self, queue: str) -> Amount:
        most = self.tree.queues[queue].account_most
        return UNLIMITED if most is None else most.of(self.totals)


def _amount(row: Table, fields: tuple[str, str, str]) -> Amount:
    cpu, memory, gpu = (int(row[field]) for field in fields)
    return Amount(cpu, memory, gpu)
