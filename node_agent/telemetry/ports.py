"""What is asked of a GPU driver, whoever made it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from node_agent.core.devices import Observation
from node_agent.telemetry.hardware import HostDevice


@dataclass(frozen=True, slots=True)
class FoundDevice:
    """A device, and the number of the GPU that it is, or is a slice of, in the driver's own order."""

    gpu: int
    device: HostDevice


class DeviceSource(Protocol):
    """One vendor's driver. Methods block for as long as the driver takes; call them from a thread."""

    def devices(self) -> tuple[FoundDevice, ...]:
        """What there is now. Raises :class:`offchain.errors.OurError` where the driver is there and fails."""
        ...

    def look(self, uuids: Sequence[str | None]) -> list[Observation]:
        """How these devices are; observations name them by their place. Those of other vendors are passed over."""
        ...

    def wait(self, uuids: Sequence[str | None], timeout_s: float) -> list[Observation]:
        """What the driver reports by itself within this time."""
        ...

    def close(self) -> None:
        """Let go of the driver. Never raises."""
        ...
