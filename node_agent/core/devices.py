"""Health of the host's GPUs from observations of the drivers, and when it is reported to the chain. Pure.

A device that was gone or did not answer is healthy again after it answered for a minute. One that reported a hardware
fault stays unhealthy until a reset, which shows as a gap in its answers, or until the machine restarts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

STEADY_MS = 60_000
"""Time for which a device that was gone has to answer before it takes work again."""
MISSED_POLLS = 2
"""Consecutive polls that have to miss a device: one poll may coincide with a reload of the driver's library."""
HARMLESS_XIDS = frozenset({13, 31, 43, 45, 63, 68, 94, 109})
"""XIDs caused by the running program or corrected by the GPU (NVIDIA, "XID errors"). All others are faults of the GPU.
"""
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
    """The driver does not know the device any more, or reports it as lost."""

    device: int
    why: str


@dataclass(frozen=True, slots=True)
class DeviceXid:
    """The NVIDIA driver reported an XID error for the device."""

    device: int
    code: int


Observation = DeviceHealthy | DeviceGone | DeviceXid


@dataclass(frozen=True, slots=True)
class DeviceState:
    """State of one device; texts are empty if there is no problem.

    `fault`: a hardware fault; `absence`: why the device cannot be used now; `missed`: consecutive polls without it;
    `well_since_ms`: since when it answers again, while it is still excluded; `errors`: the last count of uncorrected
    memory errors.
    """

    fault: str = ""
    absence: str = ""
    missed: int = 0
    well_since_ms: int | None = None
    errors: int | None = None

    @property
    def healthy(self) -> bool:
        """Whether the device may take work."""
        return not self.fault and not self.absence

    @property
    def why(self) -> str:
        """The problem of the device; empty if there is none."""
        return self.fault or self.absence


@dataclass(frozen=True, slots=True)
class DevicesState:
    """All devices by their index in the chain's record."""

    devices: Mapping[int, DeviceState] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def unhealthy(self) -> frozenset[int]:
        """Indices of the devices that may not take work."""
        return frozenset(index for index, device in self.devices.items() if not device.healthy)


def initial_state(count: int, faults: Mapping[int, str]) -> DevicesState:
    """Return the state of `count` devices with the faults stored before a restart."""
    return DevicesState(MappingProxyType({index: DeviceState(fault=faults.get(index, "")) for index in range(count)}))


def apply_observations(state: DevicesState, seen: Iterable[Observation], now_ms: int) -> DevicesState:
    """Apply observations to the state; those of devices that are not offered are ignored."""
    devices = dict(state.devices)
    for observation in seen:
        if observation.device in devices:
            devices[observation.device] = _apply(devices[observation.device], observation, now_ms)
    return DevicesState(MappingProxyType(devices))


def health_to_report(
    listed_healthy: Iterable[bool], unhealthy: frozenset[int], changed_at: int | None, period_ms: int, now_ms: int
) -> bytes | None:
    """Return the indices to send with `Hosts.set_device_health`; None if nothing is due.

    `listed_healthy`: health of each device on the chain; `changed_at`: its last change. Times are in chain time. The
    call is free once a period.
    """
    listed = frozenset(index for index, healthy in enumerate(listed_healthy) if not healthy)
    if listed == unhealthy or (changed_at is not None and now_ms - changed_at < period_ms):
        return None
    return bytes(sorted(unhealthy))


def _apply(device: DeviceState, observation: Observation, now_ms: int) -> DeviceState:
    match observation:
        case DeviceXid(code=code):
            return device if code in HARMLESS_XIDS else _faulty(device, _xid_text(code))
        case DeviceGone(why=why):
            missed = device.missed + 1
            absent = why if missed >= MISSED_POLLS or device.absence else ""
            # A device that comes back was reset, which clears its faults.
            fault = "" if absent else device.fault
            return replace(device, fault=fault, absence=absent, missed=missed, well_since_ms=None, errors=None)
        case DeviceHealthy(uncorrected=errors):
            return _apply_healthy(replace(device, missed=0), errors, now_ms)


def _apply_healthy(device: DeviceState, errors: int | None, now_ms: int) -> DeviceState:
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
