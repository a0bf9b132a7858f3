"""What the meter reads, and how it tells the time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from node_agent.metering.usage import ContainerRun, GpuReading


@dataclass(frozen=True, slots=True)
class SteadyTime:
    """A moment by a clock that nobody sets: ms since the machine's start, which `boot` names."""

    boot: str
    steady_ms: int


class UsageSource(Protocol):
    """Reads the counters of pods' containers. Raises :class:`node_agent.drivers.port.DriverError`."""

    async def read(self, leases: Collection[int]) -> Mapping[int, tuple[ContainerRun, ...]]:
        """The runs of these leases' containers that go on now. A lease without any may be left out."""
        ...

    async def close(self) -> None:
        """Let go of what it reads from."""
        ...


class GpuUsageSource(Protocol):
    """Reads GPUs. Blocks for as long as the driver takes; call it from a thread."""

    def read(self, uuids: Collection[str]) -> Mapping[str, GpuReading]:
        """What these devices do now. Those that cannot be read are left out; never raises for a device."""
        ...

    def close(self) -> None:
        """Let go of the driver. Never raises."""
        ...
