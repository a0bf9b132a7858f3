"""Whose turn it is: one waiting task after the other, as shares, limits and priorities say.

A planning round: `begin`, then `next` as long as it gives a task, and after each either `placed` or `blocked`; or `run`
and `ran`, where tasks that are alike go together. Between rounds tasks come and go (`add`, `remove`) and running ones
end (`release`). The same state gives the same order, whatever way it came about.

From the root down the part with the least share by weight is next (:mod:`offchain.core.queues.share`); of equals
the one served the longest ago, then the first by name. In a part of the tree without parts, the highest effective
priority is next (:mod:`offchain.core.queues.ageing`), then the oldest, then the lowest number. All of it stands in
tables (:mod:`offchain.core.queues.tables`), and who is next is found by compiled loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, NamedTuple, cast

import numpy as np

from offchain.core.queues import moves
from offchain.core.queues.amount import NOTHING, Amount
from offchain.core.queues.claim import Claim, Held, Holding
from offchain.core.queues.ledger import Ledger, Place
from offchain.core.queues.picking import next_alike
from offchain.core.queues.rights import Rights
from offchain.core.queues.runs import MOST_IN_RUN, run_next
from offchain.core.queues.sharing import rights_in
from offchain.core.queues.tables import NOBODY
from offchain.core.queues.tree import DEFAULT, Part, Tree
from offchain.core.scheduler.columns import Ints

_SWEEP: Final = 8
"""To go through all tasks in their order takes as long as to forget so many times fewer here and there."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What a Turn knows of earlier rounds.

    `served`: when each part was last served, chain time in ms, which decides between equal shares. `asleep`: the shapes
    that fitted nowhere when they were last tried.
    """

    served: Mapping[Part, int] = field(default_factory=dict)
    asleep: frozenset[int] = frozenset()


class Run(NamedTuple):
    """Tasks that may go together: their numbers, and of how many tasks each part of the tree is one after the other."""

    tasks: list[int]
    of_parts: list[int]


class Spot(NamedTuple):
    """Where a task stands among those that wait."""

    leaf: int
    """Its part of the tree."""
    rise_ms: int
    """Stands for its priority."""
    holder: int
    """Its account, where that has limits."""


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
        self._rows: dict[int, int] = {}
        """[task]: its row, of those that wait and of those in the next, whose rows are not theirs any more."""
        self._left: list[Sequence[int]] = []
        """Who has left in runs since somebody needed to know all that wait."""
        self._many_left = 0
        self._amounts: list[Amount] = []
        """[shape]."""
        self._ids: Ints = np.zeros(MOST_IN_RUN, dtype=np.int64)
        self._parts: Ints = np.zeros((MOST_IN_RUN, 2), dtype=np.int64)
        self._run = Run([], [])
        """The last one."""
        for holding in used:
            self._ledger.charge(self._of(holding), holding.amount)
        known = memory or Memory()
        for part, when_ms in known.served.items():
            if part.queue == DEFAULT or part in self._ledger.leaves:
                moves.serve(self._ledger.tables, self._ledger.leaf(part), when_ms)
        for claim in waiting:
            self.add(claim)
        for shape in known.asleep:
            if self._waits_with(shape):
                moves.sleep(self._ledger.tables, shape, 1)
        self.begin(now_ms)

    def __len__(self) -> int:
        """How many wait."""
        return len(self._rows) - self._many_left

    def __contains__(self, task: object) -> bool:
        """Whether the task with this number waits."""
        row = self._rows.get(cast("int", task))
        return row is not None and self._is_at(task, row)

    def __iter__(self) -> Iterator[int]:
        """The numbers of those that wait, in the order in which they came."""
        return iter(self._waiting())

    def among(self, tasks: Sequence[int]) -> list[int]:
        """Those of these tasks that wait."""
        rows = self._waiting()
        return [task for task in tasks if task in rows]

    def shape(self, task: int) -> int:
        """The shape of a task that waits. KeyError where it does not."""
        return self._at(task)[1]

    def stands_as(self, claim: Claim) -> bool:
        """Whether a task with this number waits, in this place, with this priority; and so for its shape."""
        if claim.id not in self:
            return False
        alike, shape = self._at(claim.id)
        these = self._ledger.tables.alikes[alike]
        leaf, holder = self._of(claim)
        rise_ms = self._ledger.ageing[leaf].rise_ms(claim.priority)
        return (these["leaf"], these["holder"], these["rise_ms"], shape) == (leaf, holder, rise_ms, claim.shape)

    @property
    def memory(self) -> Memory:
        """What is known of earlier rounds."""
        asleep = np.flatnonzero(self._ledger.tables.shapes["asleep"]).tolist()
        return Memory(dict(self._ledger.served()), frozenset(filter(self._waits_with, asleep)))

    def begin(self, now_ms: int, totals: Amount | None = None, away: Iterable[int] = ()) -> None:
        """A new round: what was blocked may fit again.

        `totals`: where the hosts have changed. `away`: shapes that are passed over in this round.
        """
        if totals is not None and totals != self._ledger.totals:
            self._ledger.resize(totals)
        tables = self._ledger.tables
        tables.round["now_ms"] = now_ms
        tables.shapes["blocked"] = 0
        for shape in away:
            tables.shapes["blocked"][shape] = 1
        moves.begin(tables)

    def go_on(self, shapes: Ints) -> None:
        """The last round goes on: of what was blocked in it, only these may fit by now."""
        moves.block(self._ledger.tables, shapes, 0)

    def pass_over(self, shapes: Ints) -> None:
        """These do not fit after all, as nothing has changed for them since they were blocked."""
        moves.block(self._ledger.tables, shapes, 1)

    def next(self) -> int | None:
        """The task whose turn it is: the same until it is placed, blocked or removed. None: nobody can go now."""
        self._ledger.sort()
        tables = self._ledger.tables
        alike = next_alike(tables)
        return None if alike == NOBODY else int(tables.alikes["id"][alike])

    def placed(self, task: int) -> None:
        """It has its place, and holds what it asked for from now on. ValueError: it does not wait."""
        row = self._known(task)
        moves.place(self._ledger.tables, row)
        del self._rows[task]

    def run(self) -> Run | None:
        """Tasks that are alike and may go together, the first of them the one that :meth:`next` gives; None: nobody."""
        self._ledger.sort()
        many = run_next(self._ledger.tables, self._ids, self._parts)
        if not many:
            return None
        counts: list[int] = self._parts[:many, 1].tolist()
        self._run = Run(self._ids[: sum(counts)].tolist(), counts)
        return self._run

    def ran(self, count: int) -> None:
        """So many of a run, the first ones, have their places. It must be the run that was given last."""
        if not count:
            return
        moves.leave(self._ledger.tables, self._parts, len(self._run.of_parts), count)
        self._left.append(self._run.tasks[:count])
        self._many_left += count

    def blocked(self, task: int) -> None:
        """It fits nowhere now: its shape is passed over in this round, in all queues. ValueError: it does not wait."""
        self._known(task)
        shape = self._at(task)[1]
        moves.block(self._ledger.tables, np.array([shape]), 1)
        moves.sleep(self._ledger.tables, shape, 1)

    def add(self, claim: Claim) -> None:
        """A task waits. ValueError where its number waits already, or its shape is known with another amount."""
        at = self.spot(claim.queue, claim.account, claim.priority)
        self.look_at(claim.shape, claim.amount)
        self.add_all(np.array([(claim.id, claim.submitted_at, at.leaf, claim.shape, at.rise_ms, at.holder)]))

    def spot(self, queue: str, account: str, priority: int) -> Spot:
        """Where tasks of this account stand that name this queue and have this priority."""
        leaf, holder = self._ledger.place(queue, account)
        return Spot(leaf, self._ledger.ageing[leaf].rise_ms(priority), holder)

    def add_all(self, asked: Ints) -> None:
        """Tasks wait: [task], number, when submitted, leaf, shape, how it rises, holder. ValueError: one waits already.

        Their shapes were looked at before (:meth:`look_at`).
        """
        numbers: list[int] = asked[:, 0].tolist()
        waits = self._waiting().keys() & numbers
        if waits:
            raise ValueError(f"task {min(waits)} waits already")
        rows, done = np.empty(len(asked), dtype=np.int64), 0
        while (done := moves.join(self._ledger.tables, asked, done, rows)) < len(asked):
            self._ledger.grow(_GROWS[int(rows[done])])
        self._rows.update(zip(numbers, rows.tolist(), strict=True))

    def remove(self, task: int) -> None:
        """The task with this number does not wait any more. ValueError where it did not."""
        moves.part(self._ledger.tables, self._known(task))
        del self._rows[task]

    def charge(self, holding: Holding) -> None:
        """A task runs that was not placed through here."""
        self._ledger.charge(self._of(holding), holding.amount)

    def release(self, holding: Holding) -> None:
        """A task holds so much no more. ValueError where its part of the tree does not hold as much."""
        self.release_all(((*self._of(holding), *holding.amount),))

    def place(self, queue: str, account: str) -> Place:
        """Where tasks of this account are charged that name this queue."""
        return self._ledger.place(queue, account)

    def release_all(self, holdings: Sequence[tuple[int, ...]]) -> None:
        """Tasks hold so much no more: of each, the numbers of its place and of the amount. ValueError as above."""
        self._ledger.release(holdings)

    def held(self, task: int) -> Held | None:
        """The limit that keeps a task waiting now, of its account first; None: no limit does."""
        alike, shape = self._at(task)
        return self._ledger.limit_on(self._place(alike), self._amounts[shape])

    def part(self, queue: str, account: str) -> int:
        """The number of the part of the tree in which tasks of this account wait that name this queue."""
        return self._ledger.place(queue, account).leaf

    def rights(self) -> Rights:
        """What each part holds and has a right to now."""
        return rights_in(self._ledger)

    def _of(self, task: Claim | Holding) -> Place:
        return self._ledger.place(task.queue, task.account)

    def _place(self, alike: int) -> Place:
        these = self._ledger.tables.alikes[alike]
        return Place(int(these["leaf"]), int(these["holder"]))

    def _at(self, task: int) -> tuple[int, int]:
        """Among whom it stands, and their shape."""
        tables, row = self._ledger.tables, self._rows[task]
        if not self._is_at(task, row):
            raise KeyError(task)
        alike = tables.tasks["alike"][row]
        return int(alike), int(tables.alikes["shape"][alike])

    def _is_at(self, task: object, row: int) -> bool:
        """Whether the row is the task's. It is not if the task has left it."""
        return bool(self._ledger.tables.tasks["id"][row] == task)

    def _waiting(self) -> dict[int, int]:
        """[task]: its row, of those that wait."""
        if self._many_left * _SWEEP > len(self._rows):
            count = len(self._rows)
            numbers = np.fromiter(self._rows, dtype=np.int64, count=count)
            rows = np.fromiter(self._rows.values(), dtype=np.int64, count=count)
            here = self._ledger.tables.tasks["id"][rows] == numbers
            self._rows = dict(zip(numbers[here].tolist(), rows[here].tolist(), strict=True))
        elif self._left:
            for task in chain.from_iterable(self._left):
                del self._rows[task]
        self._left, self._many_left = [], 0
        return self._rows

    def _known(self, task: int) -> int:
        """The row of one that waits."""
        row = self._rows.get(task)
        if row is None or not self._is_at(task, row):
            raise ValueError(f"task {task} does not wait")
        return row

    def _waits_with(self, shape: int) -> bool:
        """Whether anybody waits with this shape."""
        shapes = self._ledger.tables.shapes
        return shape < len(shapes) and bool(shapes["members"][shape])

    def look_at(self, shape: int, amount: Amount) -> None:
        """Tasks of this shape ask for so much. ValueError where others wait with it that ask for another amount."""
        if self._waits_with(shape):
            others = self._amounts[shape]
            if amount is not others and amount != others:
                raise ValueError(f"a task asks for {amount}, others of its shape for {others}")
            return
        while shape >= len(self._ledger.tables.shapes):
            self._ledger.grow("shapes")
            self._ledger.grow("waits", columns=True)
        self._amounts += [NOTHING] * (1 + shape - len(self._amounts))
        self._amounts[shape] = amount
        moves.new_shape(self._ledger.tables, shape, *amount)


_GROWS = {moves.NO_TASK: "tasks", moves.NO_ALIKE: "alikes", moves.NO_PLACE: "lists"}
