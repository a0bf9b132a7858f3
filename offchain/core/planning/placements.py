"""What was placed: pods of tasks that ask for the same, in batches; and a round's placements, as the chain is told."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.want import Want
from offchain.core.placing.free import indices
from offchain.core.values import PodPlacement, Task

_FEW: Final = 16
"""Up to so many tasks it is less work to look through them than to remember where each is."""


class Places(NamedTuple):
    """Where a task's pods go: the numbers of the pods, the rows of their hosts, their devices as bits."""

    want: Want
    pods: tuple[int, ...]
    hosts: tuple[int, ...]
    devices: tuple[int, ...]


class Batch:
    """Pods that were placed together: of one task after the other, `each` pods of each; of the last perhaps fewer.

    Columns, for a round may place a hundred thousand.
    """

    __slots__ = ("_at", "_records", "devices", "each", "hosts", "placed_ms", "tasks", "want")

    def __init__(
        self,
        want: Want,
        tasks: Sequence[Task],
        hosts: Sequence[int],
        devices: Sequence[int],
        numbers: Sequence[int] | None = None,
    ) -> None:
        self.want = want
        self.each = len(tasks[0].open_pods)
        self.tasks = [task.id for task in tasks] if numbers is None else numbers
        self._records = tasks
        self.hosts = array("i", hosts)
        """[pod]: the row of its host."""
        self.devices = array("i", devices)
        """[pod]: as bits."""
        self.placed_ms: int | None = None
        """Since when they have their places, where that counts: chain time."""
        self._at: dict[int, int] | None = None

    def places(self, task: int) -> Places:
        """Of one of the tasks."""
        here = self.pods_of(task)
        hosts, devices = tuple(self.hosts[here.start : here.stop]), tuple(self.devices[here.start : here.stop])
        return Places(self.want, self._records[here.start // self.each].open_pods[: len(hosts)], hosts, devices)

    def rows(self, task: int) -> set[int]:
        """The hosts of one of the tasks."""
        here = self.pods_of(task)
        return set(self.hosts[here.start : here.stop])

    def pods(self, task: int) -> tuple[int, ...]:
        """The pods of one of the tasks that have a place."""
        return self.places(task).pods

    def pods_of(self, task: int) -> range:
        """The places in the columns of one of the tasks."""
        if len(self.tasks) == 1:
            return range(len(self.hosts))
        if len(self.tasks) <= _FEW:
            first = self.tasks.index(task) * self.each
        else:
            if self._at is None:
                self._at = {number: at for at, number in enumerate(self.tasks)}
            first = self._at[task] * self.each
        return range(first, min(first + self.each, len(self.hosts)))


def placement_at(fleet: Fleet, want: Want, pod: int, host: int, devices: int) -> PodPlacement:
    """Return the placement of a pod on the host in this row, with the rate that the host asks for now.

    The chain refuses the placement where the host asks for more by then.
    """
    name = fleet.cluster.names[host]
    return PodPlacement(pod, name, bytes(indices(devices)), fleet.rate_per_hour(want, host, devices))


class Placements(Mapping[int, tuple[PodPlacement, ...]]):
    """[task]: in the order in which they were placed; as the chain is told, made when it is asked for."""

    def __init__(self, made: Sequence[Batch], fleet: Fleet) -> None:
        self._made = made
        self._fleet = fleet
        self._of: dict[int, Batch] = {}
        self._seen = 0
        """How many batches are in it."""

    def __getitem__(self, task: int) -> tuple[PodPlacement, ...]:
        """Of each of its pods that have a place."""
        want, pods, hosts, devices = self._batch(task).places(task)
        return tuple(
            placement_at(self._fleet, want, pod, host, on) for pod, host, on in zip(pods, hosts, devices, strict=True)
        )

    def want(self, task: int) -> Want:
        """What its pods ask for."""
        return self._batch(task).want

    def __iter__(self) -> Iterator[int]:
        """The tasks."""
        return chain.from_iterable(batch.tasks for batch in self._made)

    def __len__(self) -> int:
        """How many tasks."""
        return sum(len(batch.tasks) for batch in self._made)

    def __contains__(self, task: object) -> bool:
        """Whether this task was placed."""
        return task in self._known()

    def _batch(self, task: int) -> Batch:
        return self._known()[task]

    def _known(self) -> Mapping[int, Batch]:
        if self._seen < len(self._made):
            for batch in self._made[self._seen :]:
                self._of.update(dict.fromkeys(batch.tasks, batch))
            self._seen = len(self._made)
        return self._of
