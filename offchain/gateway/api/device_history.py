"""Measurements of a host's devices over time, from the operator's Prometheus: for its provider, and for operators."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import Field

from offchain.adapters.metrics.prometheus_api import PrometheusApi, PrometheusSeries
from offchain.gateway.api.answers import as_of
from offchain.gateway.api.index_readers import IndexReaders
from offchain.gateway.api.models import AnsweredModel, ResourceAnswer
from offchain.gateway.api.parameters import AccountId, Parameters
from offchain.gateway.api.sign_in import NotAllowed, SignIn
from offchain.gateway.api.sign_in_store import Identity
from offchain.indexer.rows import HostRow
from offchain.indexer.tables import columns

MOST_DEVICES: Final = 64
POINTS: Final = 144
"""Values of a series: one for ten minutes of a day."""
_LEAST_STEP_S: Final = 15
_METRICS: Final = {
    "utilisation_percent": "gantry_device_utilisation_percent",
    "temperature_celsius": "gantry_device_temperature_celsius",
    "power_watts": "gantry_device_power_watts",
    "sm_clock_mhz": "gantry_device_sm_clock_mhz",
}

Values = list[float | None]


class HistoryOfHost(Parameters):
    """Which host, and how far back."""

    host: AccountId
    hours: Annotated[int, Field(ge=1, le=336, description="Up to two weeks.")] = 24


class DeviceSeriesResource(AnsweredModel):
    """Measurements of one device; null where there is none. `device`: its number on the chain."""

    device: int
    utilisation_percent: Values
    temperature_celsius: Values
    power_watts: Values
    sm_clock_mhz: Values


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
        roles = (await self._sign_in.present(who)).data.roles
        row = columns(HostRow)
        found = await self._readers.read(lambda db: db.rows(HostRow, row.host == asked.host))
        owns = bool(found) and found[0].provider == who.account and "provider" in roles
        if not owns and "operator" not in roles:
            raise NotAllowed(
                f"{who.account} is not the provider of host {asked.host}.",
                "Sign in with the account of its provider, or of an operator.",
            )
        step_s = max(_LEAST_STEP_S, asked.hours * 3600 // POINTS)
        end_s = int(time.time()) // step_s * step_s
        start_s = end_s - asked.hours * 3600
        series = await asyncio.gather(
            *(
                # The host is a checked address: letters and digits.
                self._prometheus.query_range(f'{metric}{{host="{asked.host}"}}', start_s, end_s, step_s)
                for metric in _METRICS.values()
            )
        )
        data = history_of(dict(zip(_METRICS, series, strict=True)), range(start_s, end_s + 1, step_s))
        return ResourceAnswer[DeviceHistoryResource](as_of=await self._readers.read(as_of), data=data)


def history_of(series: dict[str, list[PrometheusSeries]], times_s: Sequence[int]) -> DeviceHistoryResource:
    """Return series by their metric as measurements by device, at these times."""
    places = {at: place for place, at in enumerate(times_s)}
    devices: dict[int, dict[str, Values]] = {}
    for name, found in series.items():
        for one in found:
            label = one.labels.get("device", "")
            if not label.isdecimal() or len(label) > 3 or (int(label) not in devices and len(devices) >= MOST_DEVICES):
                continue
            empty: Values = [None] * len(times_s)
            values = devices.setdefault(int(label), {}).setdefault(name, empty)
            for at, value in one.values:
                if (place := places.get(round(at))) is not None and math.isfinite(value):
                    values[place] = value
    nothing: Values = [None] * len(times_s)
    made = [
        DeviceSeriesResource(device=device, **{name: found.get(name, nothing) for name in _METRICS})
        for device, found in sorted(devices.items())
    ]
    return DeviceHistoryResource(times_ms=[at * 1000 for at in times_s], devices=made)
