"""Input and result of a plan: the waiting tasks in their order, and what was placed or could not be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from offchain.core.scheduler.assumed_pods import Placements
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.values import Task


class TaskBatch(NamedTuple):
    """Tasks that are next, in this order, with equal requests and equal minimum and maximum numbers of pods."""

    tasks: Sequence[Task]
    numbers: Sequence[int]
    """The tasks' numbers."""
    request: PodRequest

    @classmethod
    def of(cls, tasks: Sequence[Task], request: PodRequest) -> TaskBatch:
        return cls(tasks, [task.id for task in tasks], request)


class PlacementOrder(Protocol):
    """The order of one cycle: each waiting task comes at most once, unless it is neither placed nor unschedulable."""

    def next_batch(self) -> TaskBatch | None:
        """Return the next tasks; None: no more."""

    def on_placed(self, tasks: int) -> None:
        """The first `tasks` tasks of the batch were placed."""

    def unschedulable(self, task: Task) -> None:
        """Note that neither the task nor any other with an equal request can be placed now."""


@dataclass(frozen=True, slots=True)
class UnschedulableTask:
    """A task that could not be placed, for itself and all with an equal request, and how many of its pods could."""

    task: int
    request: PodRequest
    pods_fitting: int
    pods_needed: int


@dataclass(frozen=True, slots=True)
class PlanResult:
    """The result of a scheduling cycle: what to assign, in this order, and what could not be placed."""

    placements: Placements
    unschedulable: tuple[UnschedulableTask, ...]
