"""Tasks that come, many at once: what is the same for several of them is found once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from offchain.core.fleet.want import Want, sharer
from offchain.core.planning.groups import Group, Groups
from offchain.core.scheduler.fair_share import FairShareQueue
from offchain.core.scheduler.reservation_windows import ReservationWindows
from offchain.core.scheduler.resources import queue_name, task_amount
from offchain.core.values import Layout, Task, TaskState


class Coming:
    """Of one scheduler: it shares all of this with it."""

    def __init__(self, turn: FairShareQueue, groups: Groups, windows: ReservationWindows) -> None:
        self._turn = turn
        self._groups = groups
        self._windows = windows

    def came(
        self, tasks: Sequence[Task], want_of: Callable[[Task], Want], remembers: Callable[[bytes], bool]
    ) -> Iterator[tuple[Group, list[Task]]]:
        """These wait from now on; nobody knew them, and each :func:`only_waits`. Gives those that ask for the same.

        `remembers`: whether hosts differ for pods with this manifest.
        """
        kinds: dict[tuple[object, ...], int] = {}
        alike: list[list[Task]] = []
        spots: dict[tuple[bytes, str, int], int] = {}
        stands: list[tuple[int, int, int, int]] = []
        of: list[int] = []
        at: list[int] = []
        for task in tasks:
            who = task.queue, task.tenant, task.priority
            spot = spots.get(who)
            if spot is None:
                spot = spots[who] = len(stands)
                stands.append((*self._turn.position(queue_name(task), *who[1:]), self._windows.open_to(task.tenant)))
            # Records share what they ask for: to see that is quicker than to compare it.
            what = (
                id(task.resources),
                id(task.placement),
                sharer(task),
                id(task.unit),
                task.max_rate_per_hour,
                task.pods_min,
                len(task.open_pods),
                task.max_duration_ms,
                remembers(task.manifest) and task.manifest,
                stands[spot][3],
            )
            kind = kinds.get(what)
            if kind is None:
                kind = kinds[what] = len(alike)
                alike.append([])
            alike[kind].append(task)
            of.append(kind)
            at.append(spot)
        if not tasks:
            return
        groups = [self._group(same, want_of) for same in alike]
        asked = np.empty((len(tasks), 6), dtype=np.int64)
        asked[:, 0] = [task.id for task in tasks]
        asked[:, 1] = [task.submitted_at for task in tasks]
        asked[:, (2, 4, 5)] = np.array(stands, dtype=np.int64)[at, :3]
        asked[:, 3] = np.array([number for _, number in groups])[of]
        self._turn.add_all(asked)
        for (group, _), same in zip(groups, alike, strict=True):
            yield group, same

    def _group(self, same: Sequence[Task], want_of: Callable[[Task], Want]) -> tuple[Group, int]:
        """The group of these, and its number."""
        task = same[0]
        group = self.group_of(task, want_of(task))
        number = self._groups.join(group, len(same))
        self._turn.register_class(number, task_amount(task, len(task.open_pods)))
        return group, number

    def group_of(self, task: Task, want: Want) -> Group:
        """The group that it belongs to while it waits."""
        windows = self._windows.open_to(task.tenant)
        return self._groups.once(want), task.least, len(task.open_pods), _about(task.max_duration_ms), windows


def only_waits(task: Task) -> bool:
    """Whether it waits, holds nothing, takes nothing over, and its pods may be anywhere."""
    plain = task.takes_over is None and not task.refused_by and task.layout is Layout.ANY
    return plain and task.state is TaskState.QUEUED and not task.leases and bool(task.open_pods)


def _about(duration_ms: int) -> int:
    """The same for durations that are about the same: where something is reserved, a short task may fit and a long not.

    At most a quarter apart, so that tasks that ask for the same are still few groups.
    """
    minutes = duration_ms // 60_000
    lost = max(0, minutes.bit_length() - 3)
    return minutes >> lost << lost
