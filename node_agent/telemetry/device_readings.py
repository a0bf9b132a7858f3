"""Present values of GPUs for monitoring, as far as their drivers have them: NVIDIA's by NVML, AMD's by kernel files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import takewhile
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
NVLINK_ERRORS: Final[Mapping[str, int]] = {"replay": 0, "recovery": 1, "crc_flit": 2, "crc_data": 3, "ecc_data": 4}
"""Kinds of errors of NVLink links, and their numbers in NVML (`nvmlNvLinkErrorCounter_t`)."""
_KIB: Final = 1024
_ALL_LINKS: Final = 0xFFFF_FFFF
"""The scope of a field of NVML that is the sum of all NVLink links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceReading:
    """Values of one device at one moment; None: the driver has no such value for it.

    A MIG slice has the values of its GPU, except utilisation, memory and power. `ecc_corrected`, `ecc_uncorrected`:
    memory errors since the driver was loaded. `throttled`: the present ones of :data:`THROTTLE_REASONS`. Replays, bytes
    and errors of PCIe and NVLink are counted since the driver was loaded, those of NVLink for all links together;
    `nvlink_errors` has the kinds of :data:`NVLINK_ERRORS` that the driver counts.
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
    pcie_replays: int | None = None
    nvlinks_active: int | None = None
    nvlink_received_bytes: int | None = None
    nvlink_sent_bytes: int | None = None
    nvlink_errors: Mapping[str, int] | None = None
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
    # The driver refuses the first number after the last link.
    links = (ask("nvmlDeviceGetNvLinkState", gpu, link) for link in range(nvml.NVML_NVLINK_MAX_LINKS))
    states = list(takewhile(lambda state: state is not None, links))

    def field(name: str) -> int | None:
        """Return the sum of a field over all links; None for a device without links."""
        number = getattr(nvml, name, None)
        if not states or number is None:
            return None
        found = ask("nvmlDeviceGetFieldValues", gpu, [(number, _ALL_LINKS)])
        return None if found is None or found[0].nvmlReturn else int(found[0].value.ullVal)

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
        pcie_replays=ask("nvmlDeviceGetPcieReplayCounter", gpu),
        nvlinks_active=sum(states) if states else None,
        nvlink_received_bytes=_then(field("NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX"), lambda kib: kib * _KIB),
        nvlink_sent_bytes=_then(field("NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX"), lambda kib: kib * _KIB),
        nvlink_errors=_link_errors(ask, gpu, len(states)),
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


def _link_errors(ask: Callable[..., Any], gpu: Any, links: int) -> Mapping[str, int] | None:
    """Return the errors of all links by kind, of the links and kinds that the driver counts; None if it counts none."""
    found: dict[str, int] = {}
    for kind, number in NVLINK_ERRORS.items():
        counts = [ask("nvmlDeviceGetNvLinkErrorCounter", gpu, link, number) for link in range(links)]
        known = [count for count in counts if count is not None]
        if known:
            found[kind] = sum(known)
    return found or None


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
        pcie_replays=number_in(files / "pcie_replay_count"),
    )


def _then(found: T | None, convert: Callable[[T], R]) -> R | None:
    """Return the converted value; None if there is none."""
    return None if found is None else convert(found)
