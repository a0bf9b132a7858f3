"""Enqueues tasks by equivalence class, many at once: what is equal for several of them is computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from offchain.core.scheduler.config import ReservationWindows
from offchain.core.scheduler.equivalence import EquivalenceClass, EquivalenceClasses
from offchain.core.scheduler.fair_share import FairShareQueue
from offchain.core.scheduler.pod_request import PodRequest, queue_name, sharing_account, task_amount
from offchain.core.values import Layout, Task, TaskState


class BulkEnqueue:
    """Adds many tasks to the queues at once: what is equal for several of them is computed once."""

    def __init__(self, queue: FairShareQueue, classes: EquivalenceClasses, windows: ReservationWindows) -> None:
        self._queue = queue
        self._classes = classes
        self._windows = windows

    def enqueue(
        self, tasks: Sequence[Task], request_for: Callable[[Task], PodRequest], has_history: Callable[[bytes], bool]
    ) -> Iterator[tuple[EquivalenceClass, list[Task]]]:
        """Enqueue new tasks (see :func:`is_new_and_waiting`), and return them by equivalence class.

        `has_history`: whether hosts differ for pods with this manifest.
        """
        numbers_by_key: dict[tuple[object, ...], int] = {}
        equals: list[list[Task]] = []
        position_of: dict[tuple[bytes, str, int], int] = {}
        positions: list[tuple[int, int, int, int]] = []
        of: list[int] = []
        at: list[int] = []
        for task in tasks:
            who = task.queue, task.tenant, task.priority
            position = position_of.get(who)
            if position is None:
                position = position_of[who] = len(positions)
                positions.append(
                    (*self._queue.position(queue_name(task), *who[1:]), self._windows.open_to(task.tenant))
                )
            # Records share equal values: comparing identities is faster.
            what = (
                id(task.resources),
                id(task.placement),
                sharing_account(task),
                id(task.unit),
                task.max_rate_per_hour,
                task.surcharge_ppm,
                task.pods_min,
                len(task.open_pods),
                task.max_duration_ms,
                has_history(task.manifest) and task.manifest,
                positions[position][3],
            )
            class_number = numbers_by_key.get(what)
            if class_number is None:
                class_number = numbers_by_key[what] = len(equals)
                equals.append([])
            equals[class_number].append(task)
            of.append(class_number)
            at.append(position)
        if not tasks:
            return
        classes = [self._class_of_equals(same, request_for) for same in equals]
        asked = np.empty((len(tasks), 6), dtype=np.int64)
        asked[:, 0] = [task.id for task in tasks]
        asked[:, 1] = [task.submitted_at for task in tasks]
        asked[:, (2, 4, 5)] = np.array(positions, dtype=np.int64)[at, :3]
        asked[:, 3] = np.array([number for _, number in classes])[of]
        self._queue.add_all(asked)
        for (task_class, _), same in zip(classes, equals, strict=True):
            yield task_class, same

    def _class_of_equals(
        self, same: Sequence[Task], request_for: Callable[[Task], PodRequest]
    ) -> tuple[EquivalenceClass, int]:
        """Return the class of these tasks and its number."""
        task = same[0]
        task_class = self.class_for(task, request_for(task))
        number = self._classes.join(task_class, {task.tenant for task in same}, len(same))
        self._queue.register_class(number, task_amount(task, len(task.open_pods)))
        return task_class, number

    def class_for(self, task: Task, request: PodRequest) -> EquivalenceClass:
        """Return the equivalence class of a waiting task."""
        windows = self._windows.open_to(task.tenant)
        return (
            self._classes.unique(request),
            task.least,
            len(task.open_pods),
            _rounded_minutes(task.max_duration_ms),
            windows,
        )


def is_new_and_waiting(task: Task) -> bool:
    """Whether the task waits, holds nothing, takes no data over, and has no layout."""
    plain = task.takes_over is None and not task.refused_by and task.layout is Layout.ANY
    return plain and task.state is TaskState.QUEUED and not task.leases and bool(task.open_pods)


def _rounded_minutes(duration_ms: int) -> int:
    """Return the duration in minutes, rounded down by at most a quarter, so that there are few equivalence classes.

    The duration matters where something is reserved: a short task may fit, and a long one not.
    """
    minutes = duration_ms // 60_000
    lost = max(0, minutes.bit_length() - 3)
    return minutes >> lost << lost
