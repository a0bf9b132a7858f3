"""Utilisation of GPUs: NVIDIA's by NVML, AMD's by the kernel's files."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from node_agent.metering.usage import GpuReading
from node_agent.telemetry.amd import PREFIX, AmdSysfs, number_in
from node_agent.telemetry.nvml import NVIDIA_PREFIXES, NvmlSession

PERCENT_PPM = 10_000


class MachineGpuSource:
    """The GPUs of all vendors on this machine."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._nvidia = NvmlSession()
        self._amd = AmdSysfs(root)

    def read(self, uuids: Collection[str]) -> Mapping[str, GpuReading]:
        nvidia = [uuid for uuid in uuids if uuid.startswith(NVIDIA_PREFIXES)]
        amd = [uuid for uuid in uuids if uuid.startswith(PREFIX)]
        found = self._nvidia.read(nvidia, _of_nvml) if nvidia else {}
        return found | (_amd(self._amd, amd) if amd else {})

    def close(self) -> None:
        self._nvidia.close()


def _of_nvml(nvml: Any, handle: Any) -> GpuReading | None:
    used = int(nvml.nvmlDeviceGetMemoryInfo(handle).used)
    busy = None
    with contextlib.suppress(nvml.NVMLError):  # slices have no such reading
        busy = int(nvml.nvmlDeviceGetUtilizationRates(handle).gpu) * PERCENT_PPM
    return GpuReading(busy_ppm=busy, memory_bytes=used)


def _amd(driver: AmdSysfs, uuids: Collection[str]) -> dict[str, GpuReading]:
    found = {}
    for uuid in uuids:
        files = driver.card_files(uuid)
        used = None if files is None else number_in(files / "mem_info_vram_used")
        busy = None if files is None else number_in(files / "gpu_busy_percent")
        if used is not None or busy is not None:
            found[uuid] = GpuReading(busy_ppm=None if busy is None else busy * PERCENT_PPM, memory_bytes=used)
    return found
