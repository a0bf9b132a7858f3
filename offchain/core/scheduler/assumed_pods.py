"""Assumed pods: placed by the scheduler, and not yet final in the chain's records."""

from __future__ import annotations

from array import array
from bisect import bisect
from collections.abc import Iterable, Iterator, KeysView, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from offchain.core.scheduler.cluster import Cluster
from offchain.core.scheduler.columns import device_indices
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.scheduler.pods_by_host import ASSUMED, CONFIRMED, REMOVED, PodsByHost
from offchain.core.values import PodPlacement, Task

_FEW_TASKS: Final = 16
"""For at most this many tasks a search is cheaper than an index."""


class TaskPlacement(NamedTuple):
    """The placement of a task: pod numbers, the rows of their hosts, their devices as bits."""

    request: PodRequest
    pods: tuple[int, ...]
    hosts: tuple[int, ...]
    devices: tuple[int, ...]


class PodBatch:
    """Pods that were placed together, of one task after the other.

    `pods_each` pods of each, of the last possibly fewer.

    Columns, because a cycle may place a hundred thousand.
    """

    __slots__ = ("_index_of", "_records", "devices", "hosts", "placed_ms", "pods_each", "request", "tasks")

    def __init__(
        self,
        request: PodRequest,
        tasks: Sequence[Task],
        hosts: Sequence[int],
        devices: Sequence[int],
        numbers: Sequence[int] | None = None,
    ) -> None:
        self.request = request
        self.pods_each = len(tasks[0].open_pods)
        self.tasks = [task.id for task in tasks] if numbers is None else numbers
        self._records = tasks
        self.hosts = array("i", hosts)
        """[pod]: the row of its host."""
        self.devices = array("i", devices)
        """[pod]: as bits."""
        self.placed_ms: int | None = None
        """Chain time of the placement, where it matters."""
        self._index_of: dict[int, int] | None = None

    def placement_of(self, task: int) -> TaskPlacement:
        """Return the placement of one of the tasks."""
        here = self.pods_of(task)
        hosts, devices = tuple(self.hosts[here.start : here.stop]), tuple(self.devices[here.start : here.stop])
        return TaskPlacement(
            self.request, self._records[here.start // self.pods_each].open_pods[: len(hosts)], hosts, devices
        )

    def rows(self, task: int) -> set[int]:
        """Return the hosts of one of the tasks."""
        here = self.pods_of(task)
        return set(self.hosts[here.start : here.stop])

    def pods(self, task: int) -> tuple[int, ...]:
        """Return the placed pods of one of the tasks."""
        return self.placement_of(task).pods

    def pods_of(self, task: int) -> range:
        """Return the indexes in the columns of one of the tasks."""
        if len(self.tasks) == 1:
            return range(len(self.hosts))
        if len(self.tasks) <= _FEW_TASKS:
            first = self.tasks.index(task) * self.pods_each
        else:
            if self._index_of is None:
                self._index_of = {number: position for position, number in enumerate(self.tasks)}
            first = self._index_of[task] * self.pods_each
        return range(first, min(first + self.pods_each, len(self.hosts)))


def placement_at(table: HostTable, request: PodRequest, pod: int, host: int, devices: int) -> PodPlacement:
    """Return the placement of a pod on the host in this row, with the rate that the host asks for now.

    The chain refuses the placement where the host asks for more by then.
    """
    name = table.cluster.names[host]
    return PodPlacement(pod, name, bytes(device_indices(devices)), table.rate_per_hour(request, host, devices))


class Placements(Mapping[int, tuple[PodPlacement, ...]]):
    """[task]: its placement in the form of the chain, in the order of placement.

    Computed when it is read, so it is to be read before a host of it is removed.
    """

    def __init__(self, batches: Sequence[PodBatch], table: HostTable) -> None:
        self._batches = batches
        self._hosts = table
        self._by_task: dict[int, PodBatch] = {}
        self._indexed = 0
        """The number of batches in the index."""

    def __getitem__(self, task: int) -> tuple[PodPlacement, ...]:
        """Return the placement of each placed pod."""
        request, pods, hosts, devices = self._batch(task).placement_of(task)
        return tuple(
            placement_at(self._hosts, request, pod, host, on)
            for pod, host, on in zip(pods, hosts, devices, strict=True)
        )

    def request(self, task: int) -> PodRequest:
        return self._batch(task).request

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(batch.tasks for batch in self._batches)

    def __len__(self) -> int:
        """The number of tasks."""
        return sum(len(batch.tasks) for batch in self._batches)

    def __contains__(self, task: object) -> bool:
        return task in self._index()

    def _batch(self, task: int) -> PodBatch:
        return self._index()[task]

    def _index(self) -> Mapping[int, PodBatch]:
        if self._indexed < len(self._batches):
            for batch in self._batches[self._indexed :]:
                self._by_task.update(dict.fromkeys(batch.tasks, batch))
            self._indexed = len(self._batches)
        return self._by_task


_MAX_STALE: Final = 4096
"""Removed tasks that are always tolerated in the columns."""


class InFlightAssignments:
    """Assumed pods by task and by host. A task is held once at a time.

    New batches are entered into the columns all at once, when a host is looked up; before that, adding a batch takes no
    time for each of its tasks.
    """

    def __init__(self) -> None:
        self._batches: dict[int, PodBatch] = {}
        self._confirmed: set[int] = set()
        self._new: list[PodBatch] = []
        """Batches that are not entered yet."""
        self._changes: list[tuple[PodBatch, range, int]] = []
        """(batch, its pods, state) of what changed since the last flush."""
        self._reset()

    def _reset(self) -> None:
        self._pods = PodsByHost()
        self._entered: list[PodBatch] = []
        self._firsts: list[int] = []
        self._first: dict[PodBatch, int] = {}
        self._removed = 0

    def batch_of(self, task: int) -> PodBatch | None:
        """Return the batch of a task; None: nothing is assumed of it."""
        return self._batches.get(task)

    def __contains__(self, task: int) -> bool:
        return task in self._batches

    @property
    def tasks(self) -> KeysView[int]:
        return self._batches.keys()

    def add(self, batch: PodBatch) -> None:
        """Hold the pods of this batch, which the chain's records do not contain yet."""
        self._batches.update(dict.fromkeys(batch.tasks, batch))
        self._new.append(batch)

    def remove(self, tasks: Iterable[int]) -> list[tuple[PodBatch, range, bool]]:
        """Forget these tasks.

        Return for each that was held its batch and pods, and whether the records contain them already.
        """
        held, confirmed, changes = self._batches, self._confirmed, self._changes
        found: list[tuple[PodBatch, range, bool]] = []
        for task in tasks:
            batch = held.pop(task, None)
            if batch is not None:
                here = batch.pods_of(task)
                found.append((batch, here, task in confirmed))
                changes.append((batch, here, REMOVED))
                confirmed.discard(task)
        self._removed += len(found)
        if self._removed > max(_MAX_STALE, len(held)):
            self._rebuild()
        return found

    def has_pods(self, row: int) -> bool:
        """Whether pods that are held are on the host in this row."""
        self._flush()
        return self._pods.has_pods(row)

    def is_confirmed(self, task: int) -> bool:
        """Whether the records contain the task's pods already, in a block that may be reverted."""
        return task in self._confirmed

    def set_assumed(self, task: int, *, assumed: bool) -> bool:
        """Set whether the task's pods are missing in the records. Return whether that changed."""
        batch = self._batches.get(task)
        if batch is None or self.is_confirmed(task) != assumed:
            return False
        self._confirmed ^= {task}
        self._changes.append((batch, batch.pods_of(task), ASSUMED if assumed else CONFIRMED))
        return True

    def allocate(self, rows: Sequence[int], cluster: Cluster) -> list[int]:
        """Allocate on each of these hosts all pods that the records do not contain.

        Return the rows of hosts where not all of them fit; there the lowest task numbers come first.
        """
        self._flush()
        short = self._pods.allocate(rows, cluster)
        if short:
            here = [(row, self._task_of(pod), pod) for row in short for pod in self._pods.assumed(row)]
            here.sort()
            self._pods.allocate_each([row for row, *_ in here], [pod for *_, pod in here], cluster)
        return short

    def _task_of(self, pod: int) -> int:
        position = bisect(self._firsts, pod) - 1
        batch = self._entered[position]
        return batch.tasks[(pod - self._firsts[position]) // batch.pods_each]

    def _flush(self) -> None:
        if self._new:
            touched = {batch for batch, *_ in self._changes}
            new = [batch for batch in self._new if batch not in touched or self._is_held(batch)]
            firsts, pods = [], len(self._pods)
            for batch in new:
                firsts.append(pods)
                pods += len(batch.hosts)
            self._first.update(zip(new, firsts, strict=True))
            self._firsts += firsts
            self._entered += new
            self._new = []
            if new:
                hosts, devices = [batch.hosts for batch in new], [batch.devices for batch in new]
                self._pods.add(hosts, devices, [batch.request.shape for batch in new])
        if self._changes:
            marked: list[int] = []
            states: list[int] = []
            for batch, here, state in self._changes:
                # A batch that was added and removed since was not entered.
                first = self._first.get(batch)
                if first is not None:
                    marked += range(first + here.start, first + here.stop)
                    states += [state] * len(here)
            self._pods.mark(marked, states)
            self._changes = []

    def _is_held(self, batch: PodBatch) -> bool:
        """Whether one of its tasks is still held."""
        return any(self._batches.get(task) is batch for task in batch.tasks)

    def _rebuild(self) -> None:
        """Rebuild the columns from the tasks that are still held."""
        self._reset()
        self._new = list(dict.fromkeys(self._batches.values()))
        self._changes = [
            (batch, batch.pods_of(task), REMOVED)
            for batch in self._new
            for task in batch.tasks
            if self._batches.get(task) is not batch
        ]
        self._changes += [
            (batch, batch.pods_of(task), CONFIRMED) for task in self._confirmed for batch in (self._batches[task],)
        ]
