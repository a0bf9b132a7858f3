"""Which of the host's GPUs are in order: decided from what the drivers tell, and when the chain is told. Pure.

A device that is gone or does not answer is in order again once it was seen well for a minute. One that reported a fault
of its hardware is not trusted again before it was reset, which shows by its being away for a while, or before the
machine was started anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

STEADY_MS = 60_000
"""So long a device that was gone has to be seen well before it takes work again."""
UNHEARD_ROUNDS = 2
"""So many looks in a row have to miss a device: one may fall into a reload of the driver's library."""
HARMLESS_XIDS = frozenset({13, 31, 43, 45, 63, 68, 94, 109})
"""Faults of the program that ran, and what the GPU mended by itself (NVIDIA, "XID errors"). The rest are the GPU's."""
XID_MEANINGS: Mapping[int, str] = MappingProxyType(
    {
        48: "an error in its memory that could not be corrected",
        62: "its internal controller halted",
        64: "no spare rows are left for its memory",
        74: "an NVLink error",
        79: "it has fallen off the bus",
        95: "an error in its memory that reached other programs",
        119: "its system processor does not answer",
        120: "its system processor failed",
        140: "an error in its memory that could not be corrected",
    }
)


@dataclass(frozen=True, slots=True)
class DeviceHealthy:
    """The driver answers for it. `uncorrected`: memory errors since the driver was loaded; None: not counted."""

    device: int
    uncorrected: int | None = None


@dataclass(frozen=True, slots=True)
class DeviceGone:
    """The driver does not know the device any more, or says that it is lost."""

    device: int
    why: str


@dataclass(frozen=True, slots=True)
class DeviceXid:
    """The NVIDIA driver reported an error of this number for a device."""

    device: int
    code: int


Observation = DeviceHealthy | DeviceGone | DeviceXid


@dataclass(frozen=True, slots=True)
class DeviceState:
    """What is held against one device. Faults are empty where there are none.

    `fault`: of its hardware; `absence`: why it cannot be used now; `missed`: looks in a row that found it gone;
    `well_since_ms`: since when it was seen again, while it is not trusted yet; `errors`: the last count of uncorrected
    memory errors.
    """

    fault: str = ""
    absence: str = ""
    missed: int = 0
    well_since_ms: int | None = None
    errors: int | None = None

    @property
    def healthy(self) -> bool:
        """Whether it may take work."""
        return not self.fault and not self.absence

    @property
    def why(self) -> str:
        """What is wrong with it; empty where nothing is."""
        return self.fault or self.absence


@dataclass(frozen=True, slots=True)
class DevicesState:
    """All devices by their index in the chain's record."""

    devices: Mapping[int, DeviceState] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def unhealthy(self) -> frozenset[int]:
        """The indices of those that may not take work."""
        return frozenset(index for index, device in self.devices.items() if not device.healthy)


def initial_state(count: int, faults: Mapping[int, str]) -> DevicesState:
    """So many devices, with the faults that are remembered from before."""
    return DevicesState(MappingProxyType({index: DeviceState(fault=faults.get(index, "")) for index in range(count)}))


def apply_observations(state: DevicesState, seen: Iterable[Observation], now_ms: int) -> DevicesState:
    """The state after these observations; what is said of devices that are not offered is passed over."""
    devices = dict(state.devices)
    for observation in seen:
        if observation.device in devices:
            devices[observation.device] = _one(devices[observation.device], observation, now_ms)
    return DevicesState(MappingProxyType(devices))


def health_to_report(
    listed_healthy: Iterable[bool], unhealthy: frozenset[int], changed_at: int | None, period_ms: int, now_ms: int
) -> bytes | None:
    """The indices to send with `Hosts.set_device_health`; None where nothing is due.

    `listed_healthy`: of each device as the chain has it; `changed_at`: when that changed last. Times are the chain's.
    The call is free once a period.
    """
    listed = frozenset(index for index, healthy in enumerate(listed_healthy) if not healthy)
    if listed == unhealthy or (changed_at is not None and now_ms - changed_at < period_ms):
        return None
    return bytes(sorted(unhealthy))


def _one(device: DeviceState, observation: Observation, now_ms: int) -> DeviceState:
    match observation:
        case DeviceXid(code=code):
            return device if code in HARMLESS_XIDS else _faulty(device, _xid_text(code))
        case DeviceGone(why=why):
            missed = device.missed + 1
            absent = why if missed >= UNHEARD_ROUNDS or device.absence else ""
            # Whatever was wrong with it: a device that comes back has been through a reset.
            fault = "" if absent else device.fault
            return replace(device, fault=fault, absence=absent, missed=missed, well_since_ms=None, errors=None)
        case DeviceHealthy(uncorrected=errors):
            return _well(replace(device, missed=0), errors, now_ms)


def _well(device: DeviceState, errors: int | None, now_ms: int) -> DeviceState:
    grown = errors is not None and device.errors is not None and errors > device.errors
    device = replace(device, errors=errors)
    if grown:
        device = _faulty(device, "errors in its memory that could not be corrected")
    if not device.absence:
        return device
    since_ms = now_ms if device.well_since_ms is None else device.well_since_ms
    if now_ms - since_ms >= STEADY_MS:
        return replace(device, absence="", well_since_ms=None)
    return replace(device, well_since_ms=since_ms)


def _faulty(device: DeviceState, what: str) -> DeviceState:
    return device if device.fault else replace(device, fault=what)


def _xid_text(code: int) -> str:
    meaning = XID_MEANINGS.get(code)
    return f"XID {code}: {meaning}" if meaning else f"XID {code}"
