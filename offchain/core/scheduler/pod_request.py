"""What pods ask for: shapes, requests that are equal for the scheduler, and amounts of resources by queue."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, NamedTuple

from offchain.core.values import (
    BillingUnit,
    Device,
    DeviceSpec,
    Layout,
    Placement,
    Resources,
    RetainedData,
    Task,
)

WHOLE_GPU = 1000
"""Thousandths of a GPU."""


@dataclass(frozen=True, slots=True, order=True)
class DeviceClass:
    """What a pod can tell of a device: devices of one class are equal but for what is free of them.

    `account` has shares of the device; empty: nobody has.
    """

    model: str
    vram_mib: int = 0
    attested: bool = False
    simulated: bool = False
    account: str = ""


@lru_cache(maxsize=4096)
def _device_class(spec: DeviceSpec, *, attested: bool) -> DeviceClass:
    model = spec.model.decode("utf-8", "surrogateescape")
    return DeviceClass(model, spec.vram_mib, attested, simulated=spec.simulated)


def device_class_of(device: Device) -> DeviceClass:
    """Return the class of a device, without the account that has shares of it."""
    return _device_class(device.spec, attested=device.attested)


@dataclass(frozen=True, slots=True)
class PodShape:
    """The resources of one pod: `gpus` devices of one host with `gpu_milli` free thousandths each, of one of `models`.

    No models: any model. A pod without GPUs has neither thousandths nor models. `account` owns the pod where that
    matters, because the pod asks for a share of a device; empty: devices shared by others are accepted.
    """

    cpu_milli: int
    memory_mib: int
    gpus: int = 0
    gpu_milli: int = 0
    models: frozenset[str] = frozenset()
    disk_gib: int = 0
    min_vram_mib: int = 0
    verified_only: bool = False
    allow_simulated: bool = True
    account: str = ""

    @property
    def total_milli(self) -> int:
        """Thousandths of GPUs in all."""
        return self.gpus * self.gpu_milli

    def accepts(self, device_class: DeviceClass) -> bool:
        """Whether a device of this class is suitable."""
        return all(self.device_checks(device_class)) and (
            not self.account or device_class.account in ("", self.account)
        )

    def device_checks(self, device_class: DeviceClass) -> tuple[bool, bool, bool, bool]:
        """Return whether such a device satisfies each of the first rules for devices, in the chain's order."""
        return (
            self.allow_simulated or not device_class.simulated,
            device_class.attested or not self.verified_only,
            not self.models or device_class.model in self.models,
            device_class.vram_mib >= self.min_vram_mib,
        )


@dataclass(frozen=True, slots=True)
class PodRequest:
    """`shape` is for the columns; filters and the chain's own rule read the rest."""

    shape: PodShape
    resources: Resources
    placement: Placement
    unit: BillingUnit
    max_rate_per_hour: int
    takes_over: RetainedData | None = None
    reserved_for: int | None = None
    """The only task with this request: resources are reserved for it, so that it fits where others do not."""
    manifest: bytes | None = None
    """The digest of the manifest, where the scheduler has a record of pods with it, so that hosts differ for it."""
    refused_by: tuple[str, ...] = ()
    """Hosts that must not run a pod of the task, see :class:`Task`."""
    layout: Layout = Layout.ANY
    beside: frozenset[str] = frozenset()
    """Hosts of other pods of the task, where its layout depends on them."""
    surcharge_ppm: int = 0
    """What a host gets besides its price, see :class:`Task`; the limit is for both together."""
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the hash once: requests are keys of caches."""
        rest = self.resources, self.placement, self.unit, self.max_rate_per_hour, self.takes_over, self.manifest
        more = self.refused_by, self.layout, self.beside, self.shape.account, self.surcharge_ppm
        object.__setattr__(self, "_hash", hash((*rest, *more)))

    def __hash__(self) -> int:
        return self._hash

    @classmethod
    def of(cls, task: Task, reserved_for: int | None = None) -> PodRequest:
        """Return the request of each of the task's pods."""
        plain = task.takes_over is None and not task.refused_by and task.layout is Layout.ANY
        if plain and reserved_for is None:
            return plain_request(
                task.resources,
                task.placement,
                task.unit,
                task.max_rate_per_hour,
                sharing_account(task),
                task.surcharge_ppm,
            )
        return cls(
            shape_of(task.resources, task.placement, task.takes_over, sharing_account(task)),
            task.resources,
            task.placement,
            task.unit,
            task.max_rate_per_hour,
            task.takes_over,
            reserved_for,
            refused_by=task.refused_by,
            layout=task.layout,
            beside=frozenset() if task.layout is Layout.ANY else task.hosts,
            surcharge_ppm=task.surcharge_ppm,
        )


@lru_cache(maxsize=1 << 13)
def plain_request(
    resources: Resources,
    placement: Placement,
    unit: BillingUnit,
    max_rate_per_hour: int,
    account: str,
    surcharge_ppm: int = 0,
) -> PodRequest:
    """Return the request of pods without a layout, data to take over, or refusals. `account`: see `sharing_account`.

    Cached, because a million tasks make a few hundred different requests.
    """
    shape = shape_of(resources, placement, None, account)
    return PodRequest(shape, resources, placement, unit, max_rate_per_hour, surcharge_ppm=surcharge_ppm)


def sharing_account(task: Task) -> str:
    """Return the owner of a task that asks for shares of devices, because that decides which devices fit; else ""."""
    gpus = task.resources.gpus
    return task.tenant if gpus.milli < WHOLE_GPU and gpus.count else ""


def exclusive_shape(shape: PodShape) -> PodShape:
    """Return the shape to reserve for such a pod.

    Whole devices instead of shares, since their users are not known in advance.
    """
    return replace(shape, gpu_milli=WHOLE_GPU, account="") if shape.account else shape


def shape_of(
    resources: Resources, placement: Placement, takes_over: RetainedData | None = None, account: str = ""
) -> PodShape:
    """Return the resources that a pod takes. Data that it takes over is on its host's disk already.

    `account`: see :func:`sharing_account`.
    """
    gpus = resources.gpus
    disk = resources.disk_gib - (takes_over.disk_gib if takes_over else 0)
    if not gpus.count:
        return PodShape(resources.cpu_milli, resources.memory_mib, disk_gib=max(0, disk))
    return PodShape(
        resources.cpu_milli,
        resources.memory_mib,
        gpus.count,
        gpus.milli,
        frozenset(model.decode("utf-8", "surrogateescape") for model in gpus.models),
        max(0, disk),
        gpus.min_vram_mib,
        placement.verified_only,
        placement.allow_simulated,
        account,
    )


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
