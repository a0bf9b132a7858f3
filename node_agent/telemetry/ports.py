"""Ports of telemetry: GPU drivers, and the agent that measurements are reported through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from node_agent.core.devices import Observation
from node_agent.telemetry.hardware import HostDevice
from offchain.adapters.chain.typed import GantryChain
from offchain.schema.chain_types.values import Call


@dataclass(frozen=True, slots=True)
class FoundDevice:
    """A device and the number of its GPU in the driver's order."""

    gpu: int
    device: HostDevice


class DeviceSource(Protocol):
    """One vendor's driver. Methods block while the driver does; call them from a thread."""

    def devices(self) -> tuple[FoundDevice, ...]:
        """Return the present devices. Raises :class:`offchain.errors.OurError` if the driver exists and fails."""

    def observe(self, uuids: Sequence[str | None]) -> list[Observation]:
        """Return the health of these devices by their index, without those of other vendors."""

    def wait(self, uuids: Sequence[str | None], timeout_s: float) -> list[Observation]:
        """Return the events that the driver reports within this time."""

    def close(self) -> None:
        """Close the driver. Never raises."""


class ReportingAgent(Protocol):
    """The agent, as measurements need it for their reports."""

    @property
    def chain(self) -> GantryChain:
        """The chain's state."""

    @property
    def host(self) -> str:
        """The host's address."""

    async def send(self, key: str, call: Call) -> bool:
        """Submit a call of the host, one at a time for each key; return whether it took effect."""


class DeviceAgent(ReportingAgent, Protocol):
    """The agent, as the device monitor needs it."""

    def devices_failed(self, devices: frozenset[int], message: str) -> None:
        """Give back the pods on these devices. May be called repeatedly."""
