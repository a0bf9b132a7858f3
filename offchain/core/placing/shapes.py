"""What pods ask for, each different wish once, and how often each is expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

WHOLE_GPU = 1000
"""Thousandths of a GPU."""


@dataclass(frozen=True, slots=True, order=True)
class GpuKind:
    """What pods can tell of a device: devices of one kind are all the same to them, but for what is free.

    `account`: whose pods have shares of it; empty: nobody's.
    """

    model: str
    vram_mib: int = 0
    attested: bool = False
    simulated: bool = False
    account: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """What one pod asks for: `gpus` devices of one host with `gpu_milli` free thousandths each, of one of `models`.

    No models: any model will do. A pod without GPUs has neither thousandths nor models. `account`: whose pod it is,
    where that counts, because it asks for a share; empty: devices that others share will do.
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

    def accepts(self, kind: GpuKind) -> bool:
        """Whether such devices will do."""
        return (
            (not self.models or kind.model in self.models)
            and kind.vram_mib >= self.min_vram_mib
            and (kind.attested or not self.verified_only)
            and (self.allow_simulated or not kind.simulated)
            and (not self.account or kind.account in ("", self.account))
        )


@dataclass(slots=True)
class Mix:
    """Which shapes are expected, and how many pods of each; only the ratios matter."""

    counts: dict[Shape, float] = field(default_factory=dict)

    @classmethod
    def of(cls, shapes: Iterable[Shape]) -> Mix:
        """As many of each as there are in `shapes`."""
        mix = cls()
        for shape in shapes:
            mix.learn(shape)
        return mix

    def learn(self, shape: Shape, pods: int = 1) -> None:
        """So many more pods of this shape were asked for."""
        self.counts[shape] = self.counts.get(shape, 0.0) + pods

    def fade(self, most: int) -> None:
        """What has come counts half from now on, and all but so many of the shapes that came most often are forgotten.

        Of equals those are kept that came first.
        """
        often = sorted(self.counts.items(), key=lambda item: -item[1])[:most]
        self.counts = {shape: count / 2 for shape, count in often}

    def shares(self) -> Mapping[Shape, float]:
        """The probability that the next pod has this shape."""
        total = sum(self.counts.values())
        return {shape: count / total for shape, count in self.counts.items() if count > 0}


def unlike(one: Mapping[Shape, float], other: Mapping[Shape, float]) -> float:
    """How much the shares of two mixes differ, from 0 to 1: their distance in total variation."""
    return sum(abs(one.get(shape, 0.0) - other.get(shape, 0.0)) for shape in one.keys() | other.keys()) / 2
