"""Utilisation of GPUs: NVIDIA's by NVML, AMD's by the kernel's files."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from node_agent.metering.usage import GpuReading
from node_agent.telemetry.amd import PREFIX, AmdSysfs
from node_agent.telemetry.nvml import NVIDIA_PREFIXES, bindings

PERCENT_PPM = 10_000


class MachineGpuSource:
    """The GPUs of all vendors on this machine."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._nvml: Any = None
        self._amd = AmdSysfs(root)

    def read(self, uuids: Collection[str]) -> Mapping[str, GpuReading]:
        nvidia = [uuid for uuid in uuids if uuid.startswith(NVIDIA_PREFIXES)]
        amd = [uuid for uuid in uuids if uuid.startswith(PREFIX)]
        found = self._nvidia(nvidia) if nvidia else {}
        return found | (_amd(self._amd, amd) if amd else {})

    def close(self) -> None:
        if self._nvml is not None:
            with contextlib.suppress(self._nvml.NVMLError):
                self._nvml.nvmlShutdown()
            self._nvml = None

    def _nvidia(self, uuids: Collection[str]) -> dict[str, GpuReading]:
        if self._nvml is None and (library := bindings()) is not None:
            with contextlib.suppress(library.NVMLError):
                library.nvmlInit()
                self._nvml = library
        if self._nvml is None:
            return {}
        found = {uuid: gpu for uuid in uuids if (gpu := _of_nvml(self._nvml, uuid)) is not None}
        if len(found) < len(uuids):
            # The library lists the GPUs present when it was opened: a returned GPU needs a new opening.
            self.close()
        return found


def _of_nvml(nvml: Any, uuid: str) -> GpuReading | None:
    try:
        handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
        used = int(nvml.nvmlDeviceGetMemoryInfo(handle).used)
    except nvml.NVMLError:
        return None
    busy = None
    with contextlib.suppress(nvml.NVMLError):  # slices have no such reading
        busy = int(nvml.nvmlDeviceGetUtilizationRates(handle).gpu) * PERCENT_PPM
    return GpuReading(busy_ppm=busy, memory_bytes=used)


def _amd(driver: AmdSysfs, uuids: Collection[str]) -> dict[str, GpuReading]:
    found = {}
    for uuid in uuids:
        files = driver.card_files(uuid)
        used = None if files is None else _number(files / "mem_info_vram_used")
        busy = None if files is None else _number(files / "gpu_busy_percent")
        if used is not None or busy is not None:
            found[uuid] = GpuReading(busy_ppm=None if busy is None else busy * PERCENT_PPM, memory_bytes=used)
    return found


def _number(file: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError), file.open("rb") as stream:
        return int(stream.read(64))
    return None
