"""Resource amounts as queues count them, dominant shares and Jain's fairness index. Does not need numpy."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from offchain.core.scheduler.pod_request import PodShape
from offchain.core.values import Resources, Task

_new = tuple.__new__  # faster than the constructor; amounts are created in inner loops


class ResourceAmount(NamedTuple):
    """Cores and GPUs in thousandths, memory in MiB. The amount of a task is the sum over its pods."""

    cpu_milli: int = 0
    memory_mib: int = 0
    gpu_milli: int = 0

    def fits_in(self, available: ResourceAmount) -> bool:
        return self[0] <= available[0] and self[1] <= available[1] and self[2] <= available[2]

    def plus(self, other: ResourceAmount) -> ResourceAmount:
        return _new(ResourceAmount, (self[0] + other[0], self[1] + other[1], self[2] + other[2]))

    def times(self, count: int) -> ResourceAmount:
        return _new(ResourceAmount, (self[0] * count, self[1] * count, self[2] * count))

    def minus(self, other: ResourceAmount) -> ResourceAmount:
        """Subtract per resource, not below 0."""
        return ResourceAmount(max(0, self[0] - other[0]), max(0, self[1] - other[1]), max(0, self[2] - other[2]))

    def minimum(self, other: ResourceAmount) -> ResourceAmount:
        """Return the lesser of both per resource."""
        return ResourceAmount(min(self[0], other[0]), min(self[1], other[1]), min(self[2], other[2]))

    def scaled(self, fraction: float) -> ResourceAmount:
        """Multiply and round down; a result within a millionth below a whole number is that number."""
        return ResourceAmount(*(int(each * fraction + 1e-6) for each in self))


NO_RESOURCES: Final = ResourceAmount()
UNLIMITED: Final = ResourceAmount(1 << 62, 1 << 62, 1 << 62)

_NAMES: Final = (("core", "cores"), ("GiB of memory", "GiB of memory"), ("GPU", "GPUs"))
_UNITS: Final = (1000, 1024, 1000)


def amount_text(resource: int, amount: int) -> str:
    """Format an amount of the resource with this index in a ResourceAmount, such as "2 GPUs"."""
    number = number_text(resource, amount)
    return f"{number} {_NAMES[resource][number != '1']}"


def number_text(resource: int, amount: int) -> str:
    """Format an amount like :func:`amount_text`, without the name of the resource."""
    return f"{round(amount / _UNITS[resource], 3):g}"


class ResourceUsage(NamedTuple):
    """What a running task of an account uses, and the queue that it is charged to."""

    queue: str
    account: str
    amount: ResourceAmount


def task_amount(task: Task, pods: int) -> ResourceAmount:
    """Return the request of `pods` pods of the task."""
    return _amount(task.resources, pods)


def shape_amount(shape: PodShape, pods: int) -> ResourceAmount:
    """Return the request of `pods` pods of this shape."""
    return ResourceAmount(shape.cpu_milli, shape.memory_mib, shape.total_milli).times(pods)


def queue_name(task: Task) -> str:
    """Return the name of the queue that the task asks for."""
    return _decoded(task.queue)


def task_usage(task: Task, pods: int) -> ResourceUsage:
    """Return the usage of `pods` pods of the task."""
    return ResourceUsage(queue_name(task), task.tenant, task_amount(task, pods))


@lru_cache(maxsize=1 << 13)
def _amount(resources: Resources, pods: int) -> ResourceAmount:
    """Cached: a million tasks request a few hundred different amounts."""
    gpus = resources.gpus
    return ResourceAmount(resources.cpu_milli, resources.memory_mib, gpus.count * gpus.milli).times(pods)


@lru_cache(maxsize=1 << 10)
def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "replace")


def dominant_share(used: ResourceAmount, totals: ResourceAmount) -> float:
    """Return the dominant resource share of `used` (Ghodsi et al., NSDI 2011).

    The greatest of the fractions of the network's cores, memory and GPUs; a resource that the network lacks is ignored.
    """
    cpu, memory, gpu = totals
    if cpu and memory and gpu:  # fast path
        return max(used[0] / cpu, used[1] / memory, used[2] / gpu)
    return max((has / total for has, total in zip(used, totals, strict=True) if total), default=0.0)


def jain_fairness(values: Iterable[float]) -> float:
    """Return Jain's fairness index, (Σ x)² / (n · Σ x²): 1 if all values are equal, 1/n if all but one are 0.

    1 if there are no values or all are 0. (Jain, Chiu and Hawe, DEC Research Report TR-301, 1984.)
    """
    found = list(values)
    squares = sum(value * value for value in found)
    return sum(found) ** 2 / (len(found) * squares) if squares else 1.0
