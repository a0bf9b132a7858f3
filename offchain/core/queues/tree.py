"""The definitions of queues: a tree of names, each with its weight, limits and ageing.

A task names its queue. Where there is no such queue, where it has parts, or where the task's account may not use it,
the task is in `default`, in which every account is a part of its own and all weigh the same. So without any definition
there is a fair share between accounts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from offchain.core.queues.ageing import Ageing
from offchain.core.queues.amount import UNLIMITED, Amount

ROOT: Final = ""
DEFAULT: Final = "default"


class Part(NamedTuple):
    """Where tasks wait in one line: a queue without parts, or one account in `default` (elsewhere empty)."""

    queue: str
    account: str = ""


@dataclass(frozen=True, slots=True)
class Most:
    """A hard limit: a part of the network (0 to 1) and absolute amounts. What is None is not limited by it."""

    part: float | None = None
    cpu_milli: int | None = None
    memory_mib: int | None = None
    gpu_milli: int | None = None

    def of(self, totals: Amount) -> Amount:
        """The limit in a network that has so much."""
        whole = UNLIMITED if self.part is None else totals.part(self.part)
        said = (self.cpu_milli, self.memory_mib, self.gpu_milli)
        return whole.at_most(Amount(*(UNLIMITED[0] if one is None else one for one in said)))


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue.

    `weight`: its share among its siblings. `borrow`: may use more than its share while others leave it. `most`: never
    holds more. `account_most`: no account ever holds more in it and its parts. `ageing` holds for its parts too, unless
    they say their own. `accounts`: who may use it and its parts; empty: everybody.
    """

    name: str
    weight: float = 1.0
    borrow: bool = True
    most: Most | None = None
    account_most: Most | None = None
    ageing: Ageing | None = None
    accounts: frozenset[str] = frozenset()

    @property
    def parent(self) -> str:
        """The queue that it is a part of; the root's name is empty."""
        return self.name.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Tree:
    """All queues by name, each after the one it is a part of; the root and `default` are always there."""

    queues: Mapping[str, Queue]
    parts: Mapping[str, tuple[str, ...]] = field(init=False)
    """The names of the parts of each queue that has some."""

    def __post_init__(self) -> None:
        """Refuse what no file can say: :func:`tree` makes a whole one."""
        parts: dict[str, list[str]] = {ROOT: []}
        for name, queue in self.queues.items():
            if name != queue.name or (name and queue.parent not in self.queues):
                raise ValueError(f'queue "{name}" has no place in the tree')
            if name:
                parts.setdefault(queue.parent, []).append(name)
        if DEFAULT not in self.queues or DEFAULT in parts or ROOT not in self.queues:
            raise ValueError(f'there must be a queue "{DEFAULT}", without parts')
        object.__setattr__(self, "parts", {name: tuple(found) for name, found in parts.items()})

    def part_of(self, queue: str, account: str) -> Part:
        """Where a task of this account that names this queue waits."""
        if queue not in (ROOT, DEFAULT) and queue in self.queues and queue not in self.parts:
            above = self.path(queue)
            if all(not one.accounts or account in one.accounts for one in above):
                return Part(queue)
        return Part(DEFAULT, account)

    def path(self, queue: str) -> tuple[Queue, ...]:
        """The queue, what it is a part of, and so on up to the root."""
        found = [self.queues[queue]]
        while found[-1].name:
            found.append(self.queues[found[-1].parent])
        return tuple(found)

    def ageing(self, queue: str) -> Ageing:
        """The ageing that holds in a queue."""
        return next((one.ageing for one in self.path(queue) if one.ageing is not None), Ageing())

    def nominal(self, queue: str) -> float:
        """The part of the network that a queue has by its weight when all want all they can get."""
        share = 1.0
        for one in self.path(queue):
            if one.name:
                share *= one.weight / sum(self.queues[name].weight for name in self.parts[one.parent])
        return share

    def limit(self, queue: str, totals: Amount) -> Amount | None:
        """The most that a queue may hold: its `most`, and its share where it may not borrow. None: no limit."""
        defined = self.queues[queue]
        if defined.borrow and defined.most is None:
            return None
        limit = UNLIMITED if defined.most is None else defined.most.of(totals)
        return limit if defined.borrow else limit.at_most(totals.part(self.nominal(queue)))


def tree(queues: Iterable[Queue] = ()) -> Tree:
    """The tree of these queues; what they are parts of, and `default`, are there with defaults if not among them."""
    said = {queue.name: queue for queue in queues}
    found: dict[str, Queue] = {ROOT: Queue(ROOT)}
    for name in (*said, DEFAULT):
        steps = name.split("/")
        for depth in range(1, len(steps) + 1):
            above = "/".join(steps[:depth])
            found.setdefault(above, said.get(above) or Queue(above))
    return Tree(found)
