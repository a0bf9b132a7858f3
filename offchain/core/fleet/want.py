"""What a pod asks for, in the form in which all pods that ask for the same are equal."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

from offchain.core.placing.shapes import WHOLE_GPU, Shape
from offchain.core.values import BillingUnit, Layout, Placement, Resources, RetainedData, Task


@dataclass(frozen=True, slots=True)
class Want:
    """`shape` is for columns, the rest is what its filters and the chain's own rule look at."""

    shape: Shape
    resources: Resources
    placement: Placement
    unit: BillingUnit
    max_rate_per_hour: int
    takes_over: RetainedData | None = None
    alone: int | None = None
    """This task alone asks for it: room is kept for it, so that it fits where others do not."""
    manifest: bytes | None = None
    """Its digest, where something is remembered of pods with this manifest, so that hosts differ for it."""
    refused_by: tuple[str, ...] = ()
    """Hosts that may run no pod of its task, see :class:`Task`."""
    layout: Layout = Layout.ANY
    beside: frozenset[str] = frozenset()
    """Where other pods of its task are, where that matters to its layout."""
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Rows are looked up by it all the time."""
        rest = self.resources, self.placement, self.unit, self.max_rate_per_hour, self.takes_over, self.manifest
        object.__setattr__(self, "_hash", hash((*rest, self.refused_by, self.layout, self.beside, self.shape.account)))

    def __hash__(self) -> int:
        """Counted once."""
        return self._hash

    @classmethod
    def of(cls, task: Task, alone: int | None = None) -> Want:
        """What each of the task's pods asks for."""
        plain = task.takes_over is None and not task.refused_by and task.layout is Layout.ANY
        if plain and alone is None:
            return _anywhere(task.resources, task.placement, task.unit, task.max_rate_per_hour, sharer(task))
        return cls(
            shape_of(task.resources, task.placement, task.takes_over, sharer(task)),
            task.resources,
            task.placement,
            task.unit,
            task.max_rate_per_hour,
            task.takes_over,
            alone,
            refused_by=task.refused_by,
            layout=task.layout,
            beside=frozenset() if task.layout is Layout.ANY else frozenset(lease.host for lease in task.leases),
        )


@lru_cache(maxsize=1 << 13)
def _anywhere(
    resources: Resources, placement: Placement, unit: BillingUnit, max_rate_per_hour: int, account: str
) -> Want:
    """Kept, for a million tasks ask for a few hundred different things."""
    return Want(shape_of(resources, placement, None, account), resources, placement, unit, max_rate_per_hour)


def sharer(task: Task) -> str:
    """Whose the task is, where that decides which devices it may have: it asks for a share. Else empty."""
    gpus = task.resources.gpus
    return task.tenant if gpus.milli < WHOLE_GPU and gpus.count else ""


def alone(shape: Shape) -> Shape:
    """What is reserved for such a pod: of a share a whole device, since nobody knows whose shares are there then."""
    return replace(shape, gpu_milli=WHOLE_GPU, account="") if shape.account else shape


def shape_of(
    resources: Resources, placement: Placement, takes_over: RetainedData | None = None, account: str = ""
) -> Shape:
    """The part of it that is a matter of room. What it takes over lies there already, with its disk.

    `account`: whose it is, by :func:`sharer`; empty where it does not matter which devices would do.
    """
    gpus = resources.gpus
    disk = resources.disk_gib - (takes_over.disk_gib if takes_over else 0)
    if not gpus.count:
        return Shape(resources.cpu_milli, resources.memory_mib, disk_gib=max(0, disk))
    return Shape(
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
