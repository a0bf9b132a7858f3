"""A plan for one snapshot: what the planner would do with it, made anew.

The scheduler keeps one planner and tells it of changes; this is for tests, for dry runs and for whoever has a snapshot
and a question. The same snapshot, time and seed give the same plan.
"""

from __future__ import annotations

from collections.abc import Iterable

from offchain.core.plan import Plan, Waiting, queue_order
from offchain.core.planning.planner import Blocked, Planner
from offchain.core.snapshot import Snapshot
from offchain.core.values import Task, TaskState


def plan(snapshot: Snapshot, now: int, seed: bytes, *, skip: frozenset[int] = frozenset()) -> Plan:
    """Place what can be placed at chain time `now` (ms). Tasks in `skip` are left out (they wait after a refusal)."""
    planner = Planner(seed)
    planner.put_hosts(snapshot.hosts.values())
    late: list[Waiting] = []
    open_tasks: list[Task] = []
    for task in queue_order(snapshot.tasks.values()):
        if task.id in skip:
            continue
        if task.state is TaskState.QUEUED and task.deadline is not None and now > task.deadline:
            late.append(Waiting(task.id, len(snapshot.hosts), {}, 0, task.least, deadline_passed=True))
        else:
            open_tasks.append(task)
    made = planner.plan(InTurn(open_tasks))
    return Plan(made.placements, (*late, *(explain(planner, blocked) for blocked in made.blocked)))


def explain(planner: Planner, blocked: Blocked) -> Waiting:
    """Why a task found no place, as hosts are now."""
    excluded = planner.excluded(blocked.want)
    return Waiting(blocked.task, len(planner.fleet.records), excluded, blocked.pods_fitting, blocked.pods_needed)


class InTurn:
    """Each of these, one after the other."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._left = iter(tasks)

    def next(self) -> Task | None:
        """The next."""
        return next(self._left, None)

    def placed(self, task: Task, pods: int) -> None:
        """Changes nothing."""

    def blocked(self, task: Task) -> None:
        """Changes nothing."""
