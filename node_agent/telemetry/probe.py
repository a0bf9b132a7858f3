"""Looks at the machine: CPU, memory and disk through psutil, NVIDIA GPUs through NVML."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from node_agent.telemetry.hardware import MAX_DEVICES, MAX_MODEL_BYTES, Device, Hardware
from node_agent.telemetry.tier import capabilities_of, tier_of
from offchain.link.errors import OurError

MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Reserve:
    """What the owner keeps for the machine itself."""

    cpu_milli: int = 0
    memory_mib: int = 512
    disk_gib: int = 2


def probe(disk_path: Path, reserve: Reserve, simulated: tuple[Device, ...] | None) -> Hardware:
    """What this machine can offer. `simulated` replaces its GPUs; `disk_path` lies on the disk that pods use."""
    cpu_milli = (psutil.cpu_count() or 1) * 1000 - reserve.cpu_milli
    memory_mib = psutil.virtual_memory().total // MIB - reserve.memory_mib
    disk_gib = psutil.disk_usage(str(disk_path)).free // GIB - reserve.disk_gib
    for what, left in (("CPU", cpu_milli), ("memory", memory_mib), ("disk", disk_gib)):
        if left <= 0:
            raise OurError(f"Nothing of this machine's {what} is left to offer.", f"Reserve less {what}.")
    devices = (nvidia_devices() if simulated is None else simulated)[:MAX_DEVICES]
    return Hardware(cpu_milli, memory_mib, disk_gib, devices, tier_of(devices), capabilities_of(devices))


def nvidia_devices() -> tuple[Device, ...]:
    """The NVIDIA GPUs of this machine in NVML's order; none where its library or driver is missing."""
    try:
        import pynvml  # noqa: PLC0415  (not needed on machines without a GPU)
    except ImportError:
        return ()
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return ()
    try:
        return tuple(_device(pynvml, index) for index in range(pynvml.nvmlDeviceGetCount()))
    except pynvml.NVMLError as error:
        raise OurError(f"The NVIDIA driver does not answer: {error}.", "Check it with nvidia-smi.") from None
    finally:
        with contextlib.suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()


def _device(nvml: Any, index: int) -> Device:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    mig = False
    with contextlib.suppress(nvml.NVMLError):
        mig = nvml.nvmlDeviceGetMigMode(handle)[0] == nvml.NVML_DEVICE_MIG_ENABLE
    model = _text(nvml.nvmlDeviceGetName(handle)).encode()[:MAX_MODEL_BYTES].decode(errors="ignore")
    vram_mib = nvml.nvmlDeviceGetMemoryInfo(handle).total // MIB
    return Device("Nvidia", model, vram_mib, _text(nvml.nvmlDeviceGetUUID(handle)), mig)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
