"""Looks at the machine: CPU, memory and disk through psutil, GPUs through their vendors' drivers."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from node_agent.telemetry.amd import AmdSysfs
from node_agent.telemetry.hardware import MAX_DEVICES, Device, Hardware
from node_agent.telemetry.nvml import Nvml
from node_agent.telemetry.source import DeviceSource, Found
from node_agent.telemetry.tier import capabilities_of, tier_of
from offchain.errors import OurError

MIB = 1 << 20
GIB = 1 << 30
MOST_IMAGE_GIB = 200


@dataclass(frozen=True, slots=True)
class Reserve:
    """What the owner keeps for the machine itself."""

    cpu_milli: int = 0
    memory_mib: int = 512
    disk_gib: int = 2


def probe(disk_path: Path, reserve: Reserve, devices: tuple[Device, ...], image_gib: int | None = None) -> Hardware:
    """What this machine can offer, with these devices. `disk_path` lies on the disk that pods use.

    `image_gib`: what of the disk is for images; None: a quarter, and at most 200.
    """
    import psutil  # noqa: PLC0415  (once in a host's life, and an agent runs for weeks)

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
    """The drivers of the vendors whose GPUs can be offered. Close them after use."""
    return (Nvml(), AmdSysfs())


def found_devices() -> tuple[Found, ...]:
    """The GPUs of this machine, vendor by vendor, numbered on from one vendor to the next. Raises OurError."""
    found: list[Found] = []
    for source in sources():
        try:
            here = source.devices()
        finally:
            source.close()
        first = 1 + max((one.gpu for one in found), default=-1)
        found += [Found(first + one.gpu, one.device) for one in here]
    return tuple(found)


def simulated(devices: Iterable[Device]) -> tuple[Found, ...]:
    """Devices of a profile, numbered."""
    return tuple(Found(number, device) for number, device in enumerate(devices))


def offered(found: Iterable[Found], keep: Collection[int]) -> tuple[Device, ...]:
    """The devices that are not kept by the owner. Raises OurError for a number to keep that no GPU has.

    The chain takes 16 devices of a host; what is beyond them is not offered.
    """
    found = tuple(found)
    unknown = sorted(set(keep) - {one.gpu for one in found})
    if unknown:
        numbers = sorted({one.gpu for one in found})
        there = f"GPUs {numbers[0]} to {numbers[-1]}" if numbers else "no GPU"
        raise OurError(f"There is no GPU {unknown[0]} to keep; this machine has {there}.", "Correct --keep-gpu.")
    return tuple(one.device for one in found if one.gpu not in keep)[:MAX_DEVICES]
