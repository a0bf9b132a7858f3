"""Present values of GPUs for monitoring, as far as their drivers have them: NVIDIA's by NVML, AMD's by kernel files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from node_agent.telemetry.amd import PREFIX, AmdSysfs, number_in
from node_agent.telemetry.nvml import NVIDIA_PREFIXES, NvmlSession

T = TypeVar("T")
R = TypeVar("R")

THROTTLE_REASONS: Final[Mapping[str, int]] = {
    "power_cap": 0x04,
    "hardware_slowdown": 0x08,
    "sync_boost": 0x10,
    "thermal_software": 0x20,
    "thermal_hardware": 0x40,
    "power_brake": 0x80,
}
"""Reasons why clocks are lower than they could be, and their bits in NVML's `nvmlClocksEventReasons`."""
_KIB: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceReading:
    """Values of one device at one moment; None: the driver has no such value for it.

    A MIG slice has the values of its GPU, except utilisation, memory and power. `ecc_corrected`, `ecc_uncorrected`:
    memory errors since the driver was loaded. `throttled`: the present ones of :data:`THROTTLE_REASONS`.
    """

    utilisation_percent: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    temperature_celsius: float | None = None
    power_watts: float | None = None
    sm_clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    pcie_generation: int | None = None
    pcie_lanes: int | None = None
    pcie_received_bytes_per_s: int | None = None
    pcie_sent_bytes_per_s: int | None = None
    nvlinks_active: int | None = None
    ecc_corrected: int | None = None
    ecc_uncorrected: int | None = None
    throttled: frozenset[str] | None = None


class DeviceReader:
    """Reads devices of all vendors. `root`: root of the machine's file system. Use it in one thread at a time."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._nvidia = NvmlSession()
        self._amd = AmdSysfs(root)

    def read(self, uuids: Collection[str]) -> dict[str, DeviceReading]:
        """Return the values of the devices that their drivers know. Takes some 50 ms for each NVIDIA GPU."""
        nvidia = [uuid for uuid in uuids if uuid.startswith(NVIDIA_PREFIXES)]
        found = self._nvidia.read(nvidia, _of_nvml) if nvidia else {}
        for uuid in (uuid for uuid in uuids if uuid.startswith(PREFIX)):
            if (files := self._amd.card_files(uuid)) is not None:
                found[uuid] = _of_amd(files)
        return found

    def close(self) -> None:
        self._nvidia.close()


def _of_nvml(nvml: Any, device: Any) -> DeviceReading:
    def ask(function: str, *arguments: Any) -> Any:
        """Return a value; None if the library, the driver or this device does not have it."""
        try:
            return getattr(nvml, function)(*arguments)
        except (AttributeError, nvml.NVMLError):
            return None

    gpu = ask("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", device) or device
    memory, rates = ask("nvmlDeviceGetMemoryInfo", device), ask("nvmlDeviceGetUtilizationRates", device)
    celsius = ask("nvmlDeviceGetTemperature", gpu, nvml.NVML_TEMPERATURE_GPU)
    if celsius is None:
        celsius = ask("nvmlDeviceGetTemperatureV", gpu, nvml.NVML_TEMPERATURE_GPU)
    reasons = ask("nvmlDeviceGetCurrentClocksEventReasons", gpu)
    if reasons is None:
        reasons = ask("nvmlDeviceGetCurrentClocksThrottleReasons", gpu)
    return DeviceReading(
        utilisation_percent=_then(rates, lambda found: found.gpu),
        memory_used_bytes=_then(memory, lambda found: int(found.used)),
        memory_total_bytes=_then(memory, lambda found: int(found.total)),
        temperature_celsius=celsius,
        power_watts=_then(ask("nvmlDeviceGetPowerUsage", device), lambda milliwatts: milliwatts / 1000),
        sm_clock_mhz=ask("nvmlDeviceGetClockInfo", gpu, nvml.NVML_CLOCK_SM),
        memory_clock_mhz=ask("nvmlDeviceGetClockInfo", gpu, nvml.NVML_CLOCK_MEM),
        pcie_generation=ask("nvmlDeviceGetCurrPcieLinkGeneration", gpu),
        pcie_lanes=ask("nvmlDeviceGetCurrPcieLinkWidth", gpu),
        pcie_received_bytes_per_s=_then(
            ask("nvmlDeviceGetPcieThroughput", gpu, nvml.NVML_PCIE_UTIL_RX_BYTES), lambda kib: kib * _KIB
        ),
        pcie_sent_bytes_per_s=_then(
            ask("nvmlDeviceGetPcieThroughput", gpu, nvml.NVML_PCIE_UTIL_TX_BYTES), lambda kib: kib * _KIB
        ),
        nvlinks_active=_active_links(
            ask("nvmlDeviceGetNvLinkState", gpu, link) for link in range(nvml.NVML_NVLINK_MAX_LINKS)
        ),
        ecc_corrected=ask(
            "nvmlDeviceGetTotalEccErrors", gpu, nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED, nvml.NVML_VOLATILE_ECC
        ),
        ecc_uncorrected=ask(
            "nvmlDeviceGetTotalEccErrors", gpu, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
        ),
        throttled=_then(
            reasons, lambda bits: frozenset(reason for reason, bit in THROTTLE_REASONS.items() if bits & bit)
        ),
    )


def _active_links(states: Iterable[int | None]) -> int | None:
    """Return how many links are active; None for a device without links. The states end with the last link."""
    active: int | None = None
    for state in states:
        if state is None:
            break
        active = (active or 0) + state
    return active


def _of_amd(files: Path) -> DeviceReading:
    sensors = next(iter(sorted(files.glob("hwmon/hwmon*"))), files)

    def scaled(name: str, unit: float) -> float | None:
        return _then(number_in(sensors / name), lambda found: found / unit)

    def mhz(name: str) -> int | None:
        return _then(number_in(sensors / name), lambda hertz: hertz // 1_000_000)

    power = scaled("power1_average", 1e6)
    return DeviceReading(
        utilisation_percent=number_in(files / "gpu_busy_percent"),
        memory_used_bytes=number_in(files / "mem_info_vram_used"),
        memory_total_bytes=number_in(files / "mem_info_vram_total"),
        temperature_celsius=scaled("temp1_input", 1e3),
        power_watts=scaled("power1_input", 1e6) if power is None else power,
        sm_clock_mhz=mhz("freq1_input"),
        memory_clock_mhz=mhz("freq2_input"),
        pcie_lanes=number_in(files / "current_link_width"),
    )


def _then(found: T | None, convert: Callable[[T], R]) -> R | None:
    """Return the converted value; None if there is none."""
    return None if found is None else convert(found)
