"""Hardware detection: CPU, memory and disk through psutil, GPUs through their vendors' drivers, tier by GPU model."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from node_agent.telemetry.amd import AmdSysfs
from node_agent.telemetry.hardware import MAX_DEVICES, Hardware, HostDevice
from node_agent.telemetry.nvml import Nvml
from node_agent.telemetry.ports import DeviceSource, FoundDevice
from offchain.errors import OurError
from offchain.schema.chain_types._generated_chain import Capabilities, Tier

MIB = 1 << 20
GIB = 1 << 30
MOST_IMAGE_GIB = 200
_DATACENTER = frozenset((
    "A10", "A30", "A40", "A100", "B100", "B200", "B300", "GB200", "GH200", "H100", "H200", "L4", "L40", "L40S", "P40",
    "P100", "T4", "V100", "MI100", "MI200", "MI210", "MI250", "MI250X", "MI300X", "MI325X", "MI355X",
))  # fmt: skip
_PROFESSIONAL = frozenset((
    "Quadro", "A2000", "A4000", "A4500", "A5000", "A5500", "A6000", "Ada", "PRO", "W6800", "W7800", "W7900",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reserve:
    """Resources that the owner keeps for the machine itself."""

    cpu_milli: int = 0
    memory_mib: int = 512
    disk_gib: int = 2


def probe(disk_path: Path, reserve: Reserve, devices: tuple[HostDevice, ...], image_gib: int | None = None) -> Hardware:
    """Return what this machine can offer, with these devices. `disk_path`: on the disk that pods use.

    `image_gib`: disk space for images; None: a quarter, at most 200.
    """
    import psutil  # noqa: PLC0415  (used once, by an agent that runs for weeks)

    cpu_milli = (psutil.cpu_count() or 1) * 1000 - reserve.cpu_milli
    memory_mib = psutil.virtual_memory().total // MIB - reserve.memory_mib
    free_gib = psutil.disk_usage(str(disk_path)).free // GIB
    image_gib = min(MOST_IMAGE_GIB, free_gib // 4) if image_gib is None else image_gib
    disk_gib = free_gib - reserve.disk_gib - image_gib
    for what, left in (("CPU", cpu_milli), ("memory", memory_mib), ("disk", disk_gib)):
        if left <= 0:
            raise OurError(f"Nothing of this machine's {what} is left to offer.", f"Reserve less {what}.")
    return Hardware(cpu_milli, memory_mib, disk_gib, devices, tier_of(devices), capabilities_of(devices), image_gib)


def sources() -> tuple[DeviceSource, ...]:
    """Return the drivers of the supported vendors. Close them after use."""
    return (Nvml(), AmdSysfs())


def found_devices() -> tuple[FoundDevice, ...]:
    """Return the GPUs of this machine by vendor, with consecutive numbers. Raises OurError."""
    found: list[FoundDevice] = []
    for source in sources():
        try:
            here = source.devices()
        finally:
            source.close()
        first = 1 + max((one.gpu for one in found), default=-1)
        found += [FoundDevice(first + one.gpu, one.device) for one in here]
    return tuple(found)


def simulated(devices: Iterable[HostDevice]) -> tuple[FoundDevice, ...]:
    return tuple(FoundDevice(number, device) for number, device in enumerate(devices))


def offered(found: Iterable[FoundDevice], keep: Collection[int]) -> tuple[HostDevice, ...]:
    """Return the devices that the owner does not keep. Raises OurError for a number to keep that no GPU has.

    The chain accepts 16 devices of a host; more are not offered.
    """
    found = tuple(found)
    unknown = sorted(set(keep) - {one.gpu for one in found})
    if unknown:
        numbers = sorted({one.gpu for one in found})
        there = f"GPUs {numbers[0]} to {numbers[-1]}" if numbers else "no GPU"
        raise OurError(f"There is no GPU {unknown[0]} to keep; this machine has {there}.", "Correct --keep-gpu.")
    return tuple(one.device for one in found if one.gpu not in keep)[:MAX_DEVICES]


def tier_of(devices: Iterable[HostDevice]) -> Tier:
    """Return the tier of the GPUs' models, by their names; the highest if they differ."""
    words = {word for device in devices for word in device.model.replace("-", " ").replace("_", " ").split()}
    if words & _DATACENTER:
        return Tier.DATACENTER
    return Tier.PROFESSIONAL if words & _PROFESSIONAL else Tier.CONSUMER


def capabilities_of(devices: Iterable[HostDevice]) -> Capabilities:
    """Return the capabilities of the available drivers, which is the one for Docker.

    A machine with /dev/kvm runs no virtual machines for tenants as long as there is no driver for them. CDI and the
    sandbox depend on the engine, and shares of GPUs on the owner's choice: see
    :func:`node_agent.runtime.settings.probe_hardware`.
    """
    mig = any(device.mig for device in devices)
    return Capabilities(docker=True, kvm=False, kubernetes=False, cdi=False, mig=mig, shares=False, sandboxed=False)
