"""A plan for one snapshot, made by a new planner, and placement in a given order."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from offchain.core.scheduler.cycle_filters import AntiAffinity
from offchain.core.scheduler.explain import WaitReason, explain_waiting
from offchain.core.scheduler.placement import Planner
from offchain.core.scheduler.plan import TaskBatch
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.snapshot import Snapshot
from offchain.core.values import Layout, PodPlacement, Task, TaskState


class InOrder:
    """A queue that returns these tasks in order."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._left = iter(tasks)

    def next_batch(self) -> TaskBatch | None:
        task = next(self._left, None)
        return None if task is None else TaskBatch.of((task,), PodRequest.of(task))

    def on_placed(self, tasks: int) -> None: ...

    def unschedulable(self, task: Task) -> None: ...


@dataclass(frozen=True, slots=True)
class Plan:
    placements: Mapping[int, tuple[PodPlacement, ...]]
    waiting: tuple[WaitReason, ...]


def plan(snapshot: Snapshot, now: int, seed: bytes, *, skip: frozenset[int] = frozenset()) -> Plan:
    """Place what can be placed at chain time `now`: the highest priority first, then the oldest task."""
    late: list[WaitReason] = []
    tasks: list[Task] = []
    queue = (task for task in snapshot.tasks.values() if task.open_pods and task.id not in skip)
    for task in sorted(queue, key=lambda task: (-task.priority, task.submitted_at, task.id)):
        if task.state is TaskState.QUEUED and task.deadline is not None and now > task.deadline:
            late.append(WaitReason(task.id, len(snapshot.hosts), {}, 0, task.least, deadline_passed=True))
        else:
            tasks.append(task)
    planner = Planner(seed)
    planner.update_hosts(snapshot.hosts.values())
    has_layout = any(task.layout is not Layout.ANY for task in tasks)
    result = planner.plan(InOrder(tasks), [AntiAffinity(planner.hosts)] if has_layout else ())
    reasons = (explain_waiting(planner, task) for task in result.unschedulable)
    return Plan(dict(result.placements), (*late, *reasons))
