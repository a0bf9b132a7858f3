"""Ports of the meter: usage of containers and GPUs, and its clock."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from node_agent.metering.usage import ContainerRun, GpuReading


@dataclass(frozen=True, slots=True)
class SteadyTime:
    """Time of a clock that nobody sets: ms since the machine's start, which `boot` identifies."""

    boot: str
    steady_ms: int


class UsageSource(Protocol):
    """Reads the counters of pods' containers. Raises :class:`node_agent.drivers.port.DriverError`."""

    async def read(self, leases: Collection[int]) -> Mapping[int, tuple[ContainerRun, ...]]:
        """Return the present runs of these leases' containers. A lease without any may be left out."""

    async def close(self) -> None:
        """Close the connection."""


class GpuUsageSource(Protocol):
    """Reads the utilisation of GPUs. Blocks while the driver does; call it from a thread."""

    def read(self, uuids: Collection[str]) -> Mapping[str, GpuReading]:
        """Return the utilisation of these devices, without those that cannot be read; never raises for a device."""

    def close(self) -> None:
        """Close the driver. Never raises."""
