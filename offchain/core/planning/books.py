"""Who waits and who holds what, by the records of tasks and what is on its way to the chain."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from offchain.core.fleet.want import Want, shape_of
from offchain.core.planning.charges import Charges
from offchain.core.planning.coming import Coming, only_waits
from offchain.core.planning.groups import Group, Groups
from offchain.core.planning.heads import needs_much
from offchain.core.planning.keeper import Keeper
from offchain.core.planning.learning import Learning
from offchain.core.planning.placements import Batch
from offchain.core.planning.planner import Planner
from offchain.core.scheduler.fair_share import FairShareQueue, QueuedTask
from offchain.core.scheduler.host_health import FailureHistory
from offchain.core.scheduler.preemption import ReservedHosts
from offchain.core.scheduler.resources import queue_name, task_amount
from offchain.core.values import LeaseState, Task, TaskState

_AT_ONCE: Final = 1 << 14
"""So many tasks are put in together: what is noted of each for a moment is small beside what is kept."""


class Books:
    """Of one scheduler: it shares all of this with it."""

    def __init__(self, planner: Planner, keeper: Keeper, turn: FairShareQueue, memory: FailureHistory) -> None:
        self.tasks: dict[int, Task] = {}
        """Those that are waiting or hold something."""
        self.groups = Groups()
        self.learning = Learning(planner)
        self.not_before: dict[int, int] = {}
        """[task]: until when it rests, ms of chain time."""
        self.rooms: Mapping[int, ReservedHosts] = {}
        """Those that are kept for tasks, each of which is looked at by itself."""
        self._planner = planner
        self._keeper = keeper
        self._turn = turn
        self._memory = memory
        self._charges = Charges(turn, planner)
        self._coming = Coming(turn, self.groups, keeper.windows)
        self._deadlines: list[tuple[int, int]] = []

    def put_task(self, task: Task) -> None:
        """Take in a record of a task that is not final."""
        before = self.tasks.get(task.id)
        if before is None and task.open_pods:
            self.learning.came(shape_of(task.resources, task.placement, task.takes_over), len(task.open_pods))
        for lease in task.leases:
            if lease.state is LeaseState.ACTIVE:
                self._planner.ran(task.manifest, lease.host)
        self.tasks[task.id] = task
        held = self._planner.placed_pods(task.id)
        if held:
            self._planner.follow(task.id, ahead=held <= set(task.open_pods))
        if held or task.leases or (before is not None and before.leases):
            self._keeper.changed((task.id,))
        if before is not None or task.leases:
            self._charges.account(task)
        self.queue(task)

    def put_tasks(self, tasks: Iterable[Task]) -> None:
        """The same for many: of those that only wait, and nobody knew, what is the same for several is found once."""
        left = iter(tasks)
        while some := list(islice(left, _AT_ONCE)):
            self._put_some(some)

    def _put_some(self, tasks: Sequence[Task]) -> None:
        new, known = [], self.tasks
        for task in tasks:
            number = task.id
            once = number in known or number in self.not_before or number in self.rooms or self._planner.holds(number)
            if once or not only_waits(task):
                self.put_task(task)
            else:
                known[number] = task
                new.append(task)
        for group, same in self._coming.came(new, self.want, self._remembers):
            self.learning.came(shape_of(same[0].resources, same[0].placement), group[2], len(same))
            if needs_much(same[0]):
                for task in same:
                    self._keeper.waits(task)
        for task in new:
            if task.deadline is not None:
                heapq.heappush(self._deadlines, (task.deadline, task.id))

    def tasks_gone(self, numbers: Sequence[int]) -> None:
        """They are final."""
        self._planner.release_all(numbers)
        self._keeper.changed(numbers)
        for number in self._turn.among(numbers):
            self.drop(number)
        self._charges.drop(numbers)
        for number in numbers:
            self.tasks.pop(number, None)
        for number in self.not_before.keys() & numbers:
            del self.not_before[number]

    def release(self, number: int) -> None:
        """What was placed of this task is final, or was refused."""
        self._planner.release(number)
        self._keeper.changed((number,))
        task = self.tasks.get(number)
        if task is not None:
            self._charges.account(task)
            self.queue(task)

    def wait(self, number: int, until_ms: int) -> None:
        """Do not place this task before then: the chain has refused it."""
        self.not_before[number] = until_ms
        self.drop(number)

    def keep_rooms(self, rooms: Mapping[int, ReservedHosts]) -> None:
        """Rooms that are kept for these tasks."""
        changed, self.rooms = self.rooms.keys() ^ rooms.keys(), dict(rooms)
        for number in sorted(changed & self.tasks.keys()):
            self.queue(self.tasks[number])

    def queue(self, task: Task) -> None:
        """Let it wait, if its record and what is on its way say so."""
        if not task.open_pods or self._planner.holds(task.id) or task.id in self.not_before:
            self.drop(task.id)
            return
        group = self._coming.group_of(task, self.want(task))
        amount = task_amount(task, len(task.open_pods))
        if task.id in self._turn:
            as_it_is = QueuedTask(
                task.id,
                queue_name(task),
                task.tenant,
                self._turn.class_of(task.id),
                amount,
                task.priority,
                task.submitted_at,
            )
            if self.group(task.id) == group and self._turn.matches(as_it_is):
                return
            self.drop(task.id)
        number = self.groups.join(group)
        self._turn.add(
            QueuedTask(task.id, queue_name(task), task.tenant, number, amount, task.priority, task.submitted_at)
        )
        self._keeper.waits(task)
        if task.state is TaskState.QUEUED and task.deadline is not None:
            heapq.heappush(self._deadlines, (task.deadline, task.id))

    def want(self, task: Task) -> Want:
        """What its pods ask for; with its manifest only where hosts differ for that, as each costs a row of points."""
        want = Want.of(task, task.id if task.id in self.rooms else None)
        return replace(want, manifest=task.manifest) if self._remembers(task.manifest) else want

    def _remembers(self, manifest: bytes) -> bool:
        """Whether hosts differ for pods with this manifest."""
        return manifest in self._planner.fleet.facts.ran or self._memory.has_failed(manifest)

    def group(self, number: int) -> Group:
        """Of a task that waits."""
        return self.groups.of(self._turn.class_of(number))

    def drop(self, number: int) -> None:
        """It waits no more."""
        if number not in self._turn:
            return
        group = self.group(number)
        self._turn.remove(number)
        self._keeper.waits_no_more(number)
        self.groups.leave(group, (number,))

    def wake(self, now_ms: int) -> None:
        """Those whose time has come wait again; those whose deadline has passed do not any more."""
        for number in [number for number, when in self.not_before.items() if when <= now_ms]:
            del self.not_before[number]
            task = self.tasks.get(number)
            if task is not None:
                self.queue(task)
        while self._deadlines and self._deadlines[0][0] < now_ms:
            _, number = heapq.heappop(self._deadlines)
            if number in self.tasks and self.late(number, now_ms):
                self.drop(number)

    def late(self, number: int, now_ms: int) -> bool:
        """Whether the task's deadline for its start has passed."""
        task = self.tasks[number]
        return task.state is TaskState.QUEUED and task.deadline is not None and now_ms > task.deadline

    def hold(self, group: Group, tasks: Sequence[Task], now_ms: int) -> None:
        """These, all of one group and placed together, have their places."""
        batch: Batch = self._planner.batch(tasks[0].id)
        again = dict.fromkeys(self._charges.placed(tasks, batch.tasks))
        if len(batch.hosts) < batch.each * len(tasks):
            # Of the last, fewer than it would have were placed.
            again[tasks[-1].id] = None
        for number in again:
            self._charges.account(self.tasks[number])
        self._keeper.placed(batch, tasks, now_ms)
        self.groups.leave(group, batch.tasks)
