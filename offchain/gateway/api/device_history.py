"""Measurements of a host's devices over time, from the operator's Prometheus: for its provider, and for operators."""

from __future__ import annotations

from typing import Final

from offchain.adapters.metrics.prometheus_api import PrometheusApi, PrometheusSeries
from offchain.clock import unix_ms
from offchain.gateway.api.answers import as_of
from offchain.gateway.api.index_readers import IndexReaders
from offchain.gateway.api.measurements import Values, measured_times, placed_values, read_series
from offchain.gateway.api.models import AnsweredModel, ResourceAnswer
from offchain.gateway.api.parameters import AccountId, HoursBack, Parameters
from offchain.gateway.api.sign_in import SignIn
from offchain.gateway.api.sign_in_store import Identity
from offchain.indexer.rows import HostRow
from offchain.indexer.tables import columns

MOST_DEVICES: Final = 64
_GAUGES: Final = {
    "utilisation_percent": "gantry_device_utilisation_percent",
    "temperature_celsius": "gantry_device_temperature_celsius",
    "power_watts": "gantry_device_power_watts",
    "sm_clock_mhz": "gantry_device_sm_clock_mhz",
    "pcie_received_bytes_per_s": "gantry_device_pcie_receive_bytes_per_second",
    "pcie_sent_bytes_per_s": "gantry_device_pcie_transmit_bytes_per_second",
}
_RATES: Final = {
    "nvlink_received_bytes_per_s": "gantry_device_nvlink_receive_bytes_total",
    "nvlink_sent_bytes_per_s": "gantry_device_nvlink_transmit_bytes_total",
}
_INCREASES: Final = {
    "pcie_replays": "gantry_device_pcie_replays_total",
    "nvlink_errors": "gantry_device_nvlink_errors_total",
}
_METRICS: Final = (*_GAUGES, *_RATES, *_INCREASES)
_LEAST_WINDOW_S: Final = 60
"""Counters are compared over at least this time: Prometheus needs two samples in it."""


class HistoryOfHost(Parameters):
    """Which host, and how far back."""

    host: AccountId
    hours: HoursBack = 24


class DeviceSeriesResource(AnsweredModel):
    """Measurements of one device; null where there is none. `device`: its number on the chain.

    Traffic of NVLink is a mean since the time before, at least over a minute; `pcie_replays` and `nvlink_errors` are
    what was counted in it. A driver that does not count has only nulls.
    """

    device: int
    utilisation_percent: Values
    temperature_celsius: Values
    power_watts: Values
    sm_clock_mhz: Values
    pcie_received_bytes_per_s: Values
    pcie_sent_bytes_per_s: Values
    pcie_replays: Values
    nvlink_received_bytes_per_s: Values
    nvlink_sent_bytes_per_s: Values
    nvlink_errors: Values


class DeviceHistoryResource(AnsweredModel):
    """Measurements of a host's devices at the same times, Unix milliseconds. Empty for simulated devices."""

    times_ms: list[int]
    devices: list[DeviceSeriesResource]


class DeviceHistoryApi:
    """Asks Prometheus for the series with the label `host` of one host."""

    def __init__(self, readers: IndexReaders, sign_in: SignIn, prometheus: PrometheusApi) -> None:
        self._readers = readers
        self._sign_in = sign_in
        self._prometheus = prometheus

    async def present(self, who: Identity, asked: HistoryOfHost) -> ResourceAnswer[DeviceHistoryResource]:
        """Return the measurements of a host. Raises NotAllowed for other accounts, and PrometheusAway."""
        row = columns(HostRow)
        found = await self._readers.read(lambda db: db.rows(HostRow, row.host == asked.host))
        owner = found[0].provider if found else None
        await self._sign_in.require_owner(who, owner, "provider", f"host {asked.host}")
        end_s = unix_ms() // 1000
        times_s = measured_times(end_s - asked.hours * 3600, end_s)
        data = history_of(await read_series(self._prometheus, expressions(asked.host, times_s.step), times_s), times_s)
        return ResourceAnswer[DeviceHistoryResource](as_of=await self._readers.read(as_of), data=data)


def expressions(host: str, step_s: int) -> dict[str, str]:
    """Return the queries of a host's measurements by their names. `host`: a checked address, letters and digits."""
    chosen, window_s = f'{{host="{host}"}}', max(_LEAST_WINDOW_S, step_s)
    counted = f"{chosen}[{window_s}s]"
    return {
        **{name: metric + chosen for name, metric in _GAUGES.items()},
        **{name: f"rate({metric}{counted})" for name, metric in _RATES.items()},
        **{name: f"sum by (device) (increase({metric}{counted}))" for name, metric in _INCREASES.items()},
    }


def history_of(series: dict[str, list[PrometheusSeries]], times_s: range) -> DeviceHistoryResource:
    """Return series by their metric as measurements by device, at these times."""
    devices: dict[int, dict[str, Values]] = {}
    for name, found in series.items():
        for one in found:
            label = one.labels.get("device", "")
            if not label.isdecimal() or len(label) > 3 or (int(label) not in devices and len(devices) >= MOST_DEVICES):
                continue
            empty: Values = [None] * len(times_s)
            values = devices.setdefault(int(label), {}).setdefault(name, empty)
            for place, value in placed_values(one, times_s):
                values[place] = value
    nothing: Values = [None] * len(times_s)
    made = [
        DeviceSeriesResource(device=device, **{name: found.get(name, nothing) for name in _METRICS})
        for device, found in sorted(devices.items())
    ]
    return DeviceHistoryResource(times_ms=[at * 1000 for at in times_s], devices=made)
