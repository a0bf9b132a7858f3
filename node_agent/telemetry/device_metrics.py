"""Metrics of a host's devices."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

from node_agent.telemetry.device_readings import THROTTLE_REASONS, DeviceReading
from node_agent.telemetry.hardware import HostDevice
from node_agent.telemetry.watch import NO_XIDS, DeviceMonitor
from offchain.adapters.metrics.definitions import MetricDefinition, MetricReading

READ_EVERY_S: Final = 5.0
STALE_S: Final = 60.0
"""After this time without an answer of a driver its last values are not given any more."""
_DEVICE: Final = ("device", "uuid")


def _gauge(name: str, meaning: str, *labels: str) -> MetricDefinition:
    return MetricDefinition(f"gantry_device_{name}", "gauge", meaning, (*_DEVICE, *labels))


def _counter(name: str, meaning: str, *labels: str) -> MetricDefinition:
    return MetricDefinition(f"gantry_device_{name}_total", "counter", meaning, (*_DEVICE, *labels))


INFO: Final = _gauge("info", "1, with the model of the device and whether it is simulated.", "model", "simulated")
HEALTHY: Final = _gauge("healthy", "Whether the device may take work.")
XID_ERRORS: Final = _counter("xid_errors", "XID errors of the NVIDIA driver since the agent started.")
LAST_XID: Final = _gauge("last_xid", "Code of the last XID error since the agent started; 0: none.")
THROTTLED: Final = _gauge("throttled", "Whether the clocks are lowered now for this reason.", "reason")
NVLINK_ERROR: Final = _counter("nvlink_errors", "Errors of all NVLink links since the driver was loaded.", "kind")
VALUES: Final[Mapping[MetricDefinition, Callable[[DeviceReading], float | None]]] = {
    _gauge("utilisation_percent", "Share of time in which the device worked."): lambda one: one.utilisation_percent,
    _gauge("memory_used_bytes", "Memory in use."): lambda one: one.memory_used_bytes,
    _gauge("memory_total_bytes", "Memory of the device."): lambda one: one.memory_total_bytes,
    _gauge("temperature_celsius", "Temperature of the GPU."): lambda one: one.temperature_celsius,
    _gauge("power_watts", "Power drawn now; not of MIG slices."): lambda one: one.power_watts,
    _gauge("sm_clock_mhz", "Clock of the processors."): lambda one: one.sm_clock_mhz,
    _gauge("memory_clock_mhz", "Clock of the memory."): lambda one: one.memory_clock_mhz,
    _gauge("pcie_generation", "Generation of the PCIe link now."): lambda one: one.pcie_generation,
    _gauge("pcie_lanes", "Lanes of the PCIe link now."): lambda one: one.pcie_lanes,
    _gauge("pcie_receive_bytes_per_second", "PCIe traffic to the device, over the last 20 ms."): lambda one: (
        one.pcie_received_bytes_per_s
    ),
    _gauge("pcie_transmit_bytes_per_second", "PCIe traffic from the device, over the last 20 ms."): lambda one: (
        one.pcie_sent_bytes_per_s
    ),
    _counter("pcie_replays", "Packets that were sent again by PCIe since the driver was loaded."): lambda one: (
        one.pcie_replays
    ),
    _gauge("nvlinks_active", "Active NVLink links."): lambda one: one.nvlinks_active,
    _counter("nvlink_receive_bytes", "Data received by all NVLink links since the driver was loaded."): lambda one: (
        one.nvlink_received_bytes
    ),
    _counter("nvlink_transmit_bytes", "Data sent by all NVLink links since the driver was loaded."): lambda one: (
        one.nvlink_sent_bytes
    ),
    _counter("ecc_corrected_errors", "Corrected memory errors since the driver was loaded."): lambda one: (
        one.ecc_corrected
    ),
    _counter("ecc_uncorrected_errors", "Uncorrected memory errors since the driver was loaded."): lambda one: (
        one.ecc_uncorrected
    ),
}
"""Metrics that drivers know, each with its value in a reading."""
METRICS: Final = (INFO, HEALTHY, XID_ERRORS, LAST_XID, THROTTLED, NVLINK_ERROR, *VALUES)


class DeviceMetrics:
    """Reads the devices of a host. `read` asks the drivers and blocks: it is called in a thread, one call at a time."""

    def __init__(
        self,
        devices: Sequence[HostDevice],
        monitor: DeviceMonitor,
        read: Callable[[Collection[str]], Mapping[str, DeviceReading]],
    ) -> None:
        self._devices = tuple(devices)
        self._monitor = monitor
        self._read = read
        self._readings: Mapping[str, DeviceReading] = {}
        self._read_s = float("-inf")
        self._running: asyncio.Future[None] | None = None

    async def refresh(self) -> None:
        """Ask the drivers, unless their last values are new. A driver that hangs holds one thread, not more."""
        if self._running is None or self._running.done():
            if time.monotonic() - self._read_s < READ_EVERY_S:
                return
            self._running = asyncio.ensure_future(asyncio.to_thread(self._read_all))
        await asyncio.shield(self._running)

    def _read_all(self) -> None:
        uuids = [device.uuid for device in self._devices if device.uuid is not None]
        self._readings = self._read(uuids)
        self._read_s = time.monotonic()

    def __call__(self) -> Iterator[MetricReading]:
        readings = self._readings if time.monotonic() - self._read_s < STALE_S else {}
        for index, device in enumerate(self._devices):
            labels = str(index), device.uuid or ""
            state = self._monitor.state.devices.get(index)
            yield INFO.read(1, *labels, device.model, str(device.simulated).lower())
            yield HEALTHY.read(state is None or state.healthy, *labels)
            if device.uuid is None:
                continue
            xids = self._monitor.xids.get(index, NO_XIDS)
            yield XID_ERRORS.read(xids.count, *labels)
            yield LAST_XID.read(xids.last, *labels)
            reading = readings.get(device.uuid)
            if reading is None:
                continue
            for metric, value in VALUES.items():
                yield from metric.read_if_known(value(reading), *labels)
            if reading.throttled is not None:
                for reason in THROTTLE_REASONS:
                    yield THROTTLED.read(reason in reading.throttled, *labels, reason)
            for kind, errors in (reading.nvlink_errors or {}).items():
                yield NVLINK_ERROR.read(errors, *labels, kind)
