"""Hosts as columns: what each has, and what is free of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from offchain.core.placing.shapes import WHOLE_GPU, Shape

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

MOST_DEVICES = 16
"""Of one host."""


@dataclass(frozen=True, slots=True)
class HostSpec:
    """One host as it is when nothing runs there; all its GPUs are of one model."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    model: str = ""


class Columns(NamedTuple):
    """What is free, as compiled loops read it. Row `i` of each column is host `i`."""

    cpu: Ints
    memory: Ints
    device: Ints
    """[host, device]: free thousandths; 0 beyond the host's last device, so that nothing fits there."""
    count: Ints
    """How many devices."""
    model: Ints
    """Its place in :attr:`Cluster.models`."""


@dataclass(slots=True)
class Cluster:
    """All hosts. What is free changes by :meth:`take` and :meth:`give` alone."""

    specs: tuple[HostSpec, ...]
    models: tuple[str, ...]
    free: Columns
    total_milli: int
    free_milli: int
    """Thousandths of all GPUs."""

    @classmethod
    def of(cls, specs: Sequence[HostSpec]) -> Cluster:
        """Empty hosts."""
        models = tuple(sorted({spec.model for spec in specs}))
        device = np.zeros((len(specs), MOST_DEVICES), dtype=np.int64)
        for index, spec in enumerate(specs):
            device[index, : spec.gpus] = WHOLE_GPU
        total = sum(spec.gpus for spec in specs) * WHOLE_GPU
        free = Columns(
            cpu=np.array([spec.cpu_milli for spec in specs], dtype=np.int64),
            memory=np.array([spec.memory_mib for spec in specs], dtype=np.int64),
            device=device,
            count=np.array([spec.gpus for spec in specs], dtype=np.int64),
            model=np.array([models.index(spec.model) for spec in specs], dtype=np.int64),
        )
        return cls(specs=tuple(specs), models=models, free=free, total_milli=total, free_milli=total)

    def __len__(self) -> int:
        """How many hosts."""
        return len(self.specs)

    @property
    def allocation_percent(self) -> float:
        """The part of all GPUs that is in use."""
        return 100.0 * (1.0 - self.free_milli / self.total_milli) if self.total_milli else 0.0

    def accepts(self, shape: Shape) -> Bools:
        """For each model, whether the shape may run there."""
        return np.array([not shape.models or model in shape.models for model in self.models], dtype=np.bool_)

    def fits(self, host: int, shape: Shape) -> bool:
        """Whether there is room for such a pod. This is the rule; devices.py has the same for compiled loops."""
        if shape.models and self.specs[host].model not in shape.models:
            return False
        if self.free.cpu[host] < shape.cpu_milli or self.free.memory[host] < shape.memory_mib:
            return False
        return shape.gpus == 0 or int((self.free.device[host] >= shape.gpu_milli).sum()) >= shape.gpus

    def take(self, host: int, shape: Shape, devices: int) -> None:
        """Give a pod its share of `host`; bit `d` of `devices` is set for device `d`. ValueError: there is no room."""
        free, chosen = self.free, _indices(devices)
        short = (
            free.cpu[host] < shape.cpu_milli
            or free.memory[host] < shape.memory_mib
            or any(free.device[host, index] < shape.gpu_milli for index in chosen)
        )
        if short or len(chosen) != shape.gpus or (shape.models and self.specs[host].model not in shape.models):
            raise ValueError(f"host {self.specs[host].name} has no room for {shape} on devices {chosen}")
        self._move(host, shape, chosen, -1)

    def give(self, host: int, shape: Shape, devices: int) -> None:
        """Take the share back from a pod that has ended. ValueError: the host cannot have given it."""
        spec, free, chosen = self.specs[host], self.free, _indices(devices)
        over = (
            free.cpu[host] + shape.cpu_milli > spec.cpu_milli
            or free.memory[host] + shape.memory_mib > spec.memory_mib
            or any(i >= spec.gpus or free.device[host, i] + shape.gpu_milli > WHOLE_GPU for i in chosen)
        )
        if over or len(chosen) != shape.gpus:
            raise ValueError(f"no {shape} can have run on devices {chosen} of host {spec.name}")
        self._move(host, shape, chosen, 1)

    def _move(self, host: int, shape: Shape, chosen: Sequence[int], sign: int) -> None:
        self.free.cpu[host] += sign * shape.cpu_milli
        self.free.memory[host] += sign * shape.memory_mib
        for index in chosen:
            self.free.device[host, index] += sign * shape.gpu_milli
        self.free_milli += sign * shape.total_milli


def _indices(devices: int) -> list[int]:
    return [index for index in range(MOST_DEVICES) if devices >> index & 1]
