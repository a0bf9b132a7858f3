"""Hosts as columns: what each has, and what is free of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    """One host as it is when nothing runs there."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    model: str = ""


@dataclass(slots=True)
class Cluster:
    """Row `i` of each column is host `i`. Capacity is only moved by :meth:`take` and :meth:`give`.

    `device`: free thousandths of each device; columns beyond the host's last device stay 0, so that nothing fits there.
    """

    specs: tuple[HostSpec, ...]
    models: tuple[str, ...]
    cpu: Ints
    memory: Ints
    device: Ints
    count: Ints
    model: Ints
    total_milli: int
    free_milli: int

    @classmethod
    def of(cls, specs: Sequence[HostSpec]) -> Cluster:
        """Empty hosts."""
        models = tuple(sorted({spec.model for spec in specs}))
        device = np.zeros((len(specs), MOST_DEVICES), dtype=np.int64)
        for index, spec in enumerate(specs):
            device[index, : spec.gpus] = WHOLE_GPU
        total = sum(spec.gpus for spec in specs) * WHOLE_GPU
        return cls(
            specs=tuple(specs),
            models=models,
            cpu=np.array([spec.cpu_milli for spec in specs], dtype=np.int64),
            memory=np.array([spec.memory_mib for spec in specs], dtype=np.int64),
            device=device,
            count=np.array([spec.gpus for spec in specs], dtype=np.int64),
            model=np.array([models.index(spec.model) for spec in specs], dtype=np.int64),
            total_milli=total,
            free_milli=total,
        )

    def __len__(self) -> int:
        """How many hosts."""
        return len(self.specs)

    def accepts(self, shape: Shape) -> Bools:
        """For each model, whether the shape may run there."""
        return np.array([not shape.models or model in shape.models for model in self.models], dtype=np.bool_)

    def fits(self, host: int, shape: Shape) -> bool:
        """Whether there is room for such a pod. The rule; policies apply the same in compiled form."""
        if shape.models and self.models[self.model[host]] not in shape.models:
            return False
        if self.cpu[host] < shape.cpu_milli or self.memory[host] < shape.memory_mib:
            return False
        return shape.gpus == 0 or int((self.device[host] >= shape.gpu_milli).sum()) >= shape.gpus

    def take(self, host: int, shape: Shape, devices: int) -> None:
        """Give the pod its share of `host`. `devices`: bit `d` is set for device `d`. ValueError where it has no room."""
        chosen = [index for index in range(MOST_DEVICES) if devices >> index & 1]
        short = self.cpu[host] < shape.cpu_milli or self.memory[host] < shape.memory_mib
        if short or len(chosen) != shape.gpus or any(self.device[host, index] < shape.gpu_milli for index in chosen):
            raise ValueError(f"host {self.specs[host].name} has no room for {shape} on devices {chosen}")
        self._move(host, shape, chosen, -1)

    def give(self, host: int, shape: Shape, devices: int) -> None:
        """Take the share back from a pod that has ended. ValueError where it never had it."""
        chosen = [index for index in range(MOST_DEVICES) if devices >> index & 1]
        spec = self.specs[host]
        over = (
            self.cpu[host] + shape.cpu_milli > spec.cpu_milli
            or self.memory[host] + shape.memory_mib > spec.memory_mib
            or any(i >= spec.gpus or self.device[host, i] + shape.gpu_milli > WHOLE_GPU for i in chosen)
        )
        if over or len(chosen) != shape.gpus:
            raise ValueError(f"no {shape} can have run on devices {chosen} of host {spec.name}")
        self._move(host, shape, chosen, 1)

    def _move(self, host: int, shape: Shape, chosen: Sequence[int], sign: int) -> None:
        self.cpu[host] += sign * shape.cpu_milli
        self.memory[host] += sign * shape.memory_mib
        for index in chosen:
            self.device[host, index] += sign * shape.gpu_milli
        self.free_milli += sign * shape.total_milli
