"""What was placed and is not yet in the chain's records for good, by task and by host.

Nothing is done for each task of a batch before somebody asks for a host: what came since is entered then, all at once.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, KeysView, Sequence
from typing import Final

from offchain.core.placing.cluster import Cluster
from offchain.core.planning.chains import AHEAD, BEHIND, GONE, Chains
from offchain.core.planning.placements import Batch

_FORGET: Final = 4096
"""So many tasks that are held no more may always be in the chains."""


class Held:
    """Each task is held once at a time."""

    def __init__(self) -> None:
        self._batches: dict[int, Batch] = {}
        self._behind: set[int] = set()
        self._new: list[Batch] = []
        """Those that are not entered yet."""
        self._marks: list[tuple[Batch, range, int]] = []
        """(batch, its pods, state) of what has changed since somebody asked for a host."""
        self._forget()

    def _forget(self) -> None:
        self._chains = Chains()
        self._entered: list[Batch] = []
        self._firsts: list[int] = []
        """The first pod of each of these."""
        self._first: dict[Batch, int] = {}
        """The same by batch."""
        self._gone = 0
        """How many tasks are held no more since this was made."""

    def get(self, task: int) -> Batch | None:
        """Where it was placed; None: it holds nothing."""
        return self._batches.get(task)

    def __contains__(self, task: int) -> bool:
        """Whether it holds something."""
        return task in self._batches

    @property
    def tasks(self) -> KeysView[int]:
        """Those that hold something."""
        return self._batches.keys()

    def add(self, batch: Batch) -> None:
        """Its tasks hold this, and the chain's records do not have it yet."""
        self._batches.update(dict.fromkeys(batch.tasks, batch))
        self._new.append(batch)

    def drop(self, tasks: Iterable[int]) -> list[tuple[Batch, range, bool]]:
        """They hold nothing any more. Of each that did: its batch and pods, and whether the records have it already."""
        held, behind, marks = self._batches, self._behind, self._marks
        found: list[tuple[Batch, range, bool]] = []
        for task in tasks:
            batch = held.pop(task, None)
            if batch is not None:
                here = batch.pods_of(task)
                found.append((batch, here, task in behind))
                marks.append((batch, here, GONE))
                behind.discard(task)
        self._gone += len(found)
        if self._gone > max(_FORGET, len(held)):
            self._sweep()
        return found

    def is_behind(self, task: int) -> bool:
        """Whether it holds something that the records have already, in a block that may go again."""
        return task in self._behind

    def follow(self, task: int, *, ahead: bool) -> bool:
        """Whether what it holds is ahead of the records, or in them. Gives whether that is new."""
        batch = self._batches.get(task)
        if batch is None or self.is_behind(task) != ahead:
            return False
        self._behind ^= {task}
        self._marks.append((batch, batch.pods_of(task), AHEAD if ahead else BEHIND))
        return True

    def take(self, rows: Sequence[int], cluster: Cluster) -> list[int]:
        """On each of these hosts, take all that is held there ahead of the records.

        Gives the rows of hosts that have no room for all; there the tasks with the lowest numbers come first.
        """
        self._enter()
        short = self._chains.take(rows, cluster)
        if short:
            here = [(row, self._task_of(pod), pod) for row in short for pod in self._chains.ahead(row)]
            here.sort()
            self._chains.take_each([row for row, *_ in here], [pod for *_, pod in here], cluster)
        return short

    def _task_of(self, pod: int) -> int:
        at = bisect(self._firsts, pod) - 1
        batch = self._entered[at]
        return batch.tasks[(pod - self._firsts[at]) // batch.each]

    def _enter(self) -> None:
        if self._new:
            touched = {batch for batch, *_ in self._marks}
            new = [batch for batch in self._new if batch not in touched or self._holds(batch)]
            firsts, pods = [], len(self._chains)
            for batch in new:
                firsts.append(pods)
                pods += len(batch.hosts)
            self._first.update(zip(new, firsts, strict=True))
            self._firsts += firsts
            self._entered += new
            self._new = []
            if new:
                hosts, devices = [batch.hosts for batch in new], [batch.devices for batch in new]
                self._chains.add(hosts, devices, [batch.want.shape for batch in new])
        if self._marks:
            marked: list[int] = []
            states: list[int] = []
            for batch, here, state in self._marks:
                # Of what came and went since, nothing was entered.
                first = self._first.get(batch)
                if first is not None:
                    marked += range(first + here.start, first + here.stop)
                    states += [state] * len(here)
            self._chains.mark(marked, states)
            self._marks = []

    def _holds(self, batch: Batch) -> bool:
        """Whether one of its tasks is still held."""
        return any(self._batches.get(task) is batch for task in batch.tasks)

    def _sweep(self) -> None:
        """Begin anew with what is still held."""
        self._forget()
        self._new = list(dict.fromkeys(self._batches.values()))
        self._marks = [
            (batch, batch.pods_of(task), GONE)
            for batch in self._new
            for task in batch.tasks
            if self._batches.get(task) is not batch
        ]
        self._marks += [
            (batch, batch.pods_of(task), BEHIND) for task in self._behind for batch in (self._batches[task],)
        ]
