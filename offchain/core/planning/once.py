"""A plan for one snapshot: what the planner would do with it, made anew.

The scheduler keeps one planner and tells it of changes; this is for tests, for dry runs and for whoever has a snapshot
and a question. The same snapshot, time and seed give the same plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from offchain.core.fit import Misfit
from offchain.core.fleet.want import Want
from offchain.core.planning.apart import Apart
from offchain.core.planning.most import carried_out, fewest_waiting
from offchain.core.planning.order import Run
from offchain.core.planning.planner import Blocked, Planner, Round
from offchain.core.snapshot import Snapshot
from offchain.core.values import Host, Layout, PodPlacement, Task, TaskState


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a task stays in the queue: how many hosts each rule excludes, and how many of its pods found a place."""

    task: int
    hosts: int
    excluded: Mapping[Misfit, int]
    pods_fitting: int
    pods_needed: int
    deadline_passed: bool = False
    closed: int = 0
    """Hosts with room that were kept for others."""

    def __str__(self) -> str:
        """One line for people."""
        if self.deadline_passed:
            return "its deadline has passed"
        if self.hosts == 0:
            return "no host is registered"
        counts = [f"{count} {misfit}" for misfit, count in self.excluded.items()]
        reasons = ", ".join([*counts, f"{self.closed} kept for others"] if self.closed else counts)
        if self.pods_fitting:
            return f"{self.pods_fitting} of {self.pods_needed} pods fit now; of {self.hosts} hosts: {reasons}"
        return f"of {self.hosts} hosts: {reasons}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What to assign, in this order, and what waits.

    `fewest`: no other plan leaves fewer tasks waiting, and of those that leave as few none places more pods; so no plan
    with fewer hosts does either. It is not always known.
    """

    placements: Mapping[int, tuple[PodPlacement, ...]]
    waiting: tuple[Waiting, ...]
    fewest: bool


def plan(snapshot: Snapshot, now: int, seed: bytes, *, skip: frozenset[int] = frozenset()) -> Plan:
    """Place what can be placed at chain time `now` (ms). Tasks in `skip` are left out (they wait after a refusal).

    In turn; where a pod waits then, so that the fewest tasks wait, and then the fewest pods, as far as that is found
    out in a bounded time.
    """
    late: list[Waiting] = []
    open_tasks: list[Task] = []
    for task in queue_order(snapshot.tasks.values()):
        if task.id in skip:
            continue
        if task.state is TaskState.QUEUED and task.deadline is not None and now > task.deadline:
            late.append(Waiting(task.id, len(snapshot.hosts), {}, 0, task.least, deadline_passed=True))
        else:
            open_tasks.append(task)
    planner, made = _in_turn(snapshot.hosts.values(), open_tasks, seed)
    if all(len(made.placements.get(task.id, ())) == len(task.open_pods) for task in open_tasks):
        return Plan(made.placements, tuple(late), fewest=True)
    hosts = [snapshot.hosts[name] for name in sorted(snapshot.hosts)]
    found = fewest_waiting(hosts, open_tasks, made.placements)
    if found.placements is made.placements:
        return Plan(made.placements, (*late, *(explain(planner, b) for b in made.blocked)), found.proven)
    after = carried_out(snapshot.hosts, open_tasks, found.placements)
    planner, rest = _in_turn(after.values(), [task for task in open_tasks if task.id not in found.placements], seed)
    all_of_them = {**found.placements, **rest.placements}
    placements = {task.id: all_of_them[task.id] for task in open_tasks if task.id in all_of_them}
    return Plan(placements, (*late, *(explain(planner, blocked) for blocked in rest.blocked)), found.proven)


def _in_turn(hosts: Iterable[Host], tasks: Sequence[Task], seed: bytes) -> tuple[Planner, Round]:
    planner = Planner(seed)
    planner.put_hosts(hosts)
    laid_out = any(task.layout is not Layout.ANY for task in tasks)
    return planner, planner.plan(InTurn(tasks), [Apart(planner.fleet)] if laid_out else ())


def explain(planner: Planner, blocked: Blocked) -> Waiting:
    """Why a task found no place, as hosts are now."""
    excluded = planner.excluded(blocked.want)
    hosts = len(planner.fleet.records)
    # Who finds no place at all although no rule is against a host is kept from it.
    kept = 0 if blocked.pods_fitting else hosts - sum(excluded.values())
    return Waiting(blocked.task, hosts, excluded, blocked.pods_fitting, blocked.pods_needed, closed=max(0, kept))


def queue_order(tasks: Iterable[Task]) -> list[Task]:
    """Tasks with pods to place, the highest priority first, then the oldest."""
    return sorted(
        (task for task in tasks if task.open_pods), key=lambda task: (-task.priority, task.submitted_at, task.id)
    )


class InTurn:
    """Each of these, one after the other."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._left = iter(tasks)

    def run(self) -> Run | None:
        """The next."""
        task = next(self._left, None)
        return None if task is None else Run.of((task,), Want.of(task))

    def ran(self, tasks: int) -> None:
        """Changes nothing."""

    def blocked(self, task: Task) -> None:
        """Changes nothing."""
