"""Hosts' records as rows: what each host offers, by GPU model, and its devices. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from offchain.core.pricing import UNPAYABLE, rate_per_hour
from offchain.indexer.derive_values import text_of
from offchain.indexer.state_rows import DeviceRow, OfferRow
from offchain.schema import terminal_escaping
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.score import host_ppm

NO_MODEL: Final = ""
"""The model in the row of a host without GPUs."""
NO_EVIDENCE_PPM: Final = 500_000
"""Reputation of a host before its first lease, as the chain computes it."""
_NO_DEVICE: Final = gen.GpuRequest(0, 0, 0, ())
_ONE_CORE: Final = gen.Resources(1000, 0, 0, _NO_DEVICE)
_ONE_DEVICE: Final = gen.Resources(0, 0, 0, gen.GpuRequest(1, 1000, 0, ()))
_UNITS: Final = {
    "second": gen.BillingUnit.SECOND,
    "hour": gen.BillingUnit.HOUR,
    "day": gen.BillingUnit.DAY,
}
"""The shortest one first."""
_Group = tuple[str, bool]
"""Devices of one model, simulated or not."""


@dataclass(frozen=True, slots=True)
class HostAtBlock:
    """A host's record and score in the storage of block `read_block`. `score` is None before its first lease."""

    host: str
    read_block: int
    record: gen.HostRecord
    score: gen.HostScore | None


def name_text(name: bytes) -> str:
    """Return a name that a provider chose; what is not UTF-8, control and invisible characters are escaped."""
    return terminal_escaping.line(name.decode("utf-8", "backslashreplace"))


def offer_rows(found: HostAtBlock) -> Iterator[OfferRow]:
    """Yield the offers of a host: one for each model, simulated devices apart; none if it bills by no unit."""
    record = found.record
    groups: dict[_Group, list[int]] = {}
    for index, device in enumerate(record.devices):
        groups.setdefault((name_text(device.spec.model), device.spec.simulated), []).append(index)
    for group, chosen in (groups or {(NO_MODEL, False): []}).items():
        prices = _prices(record, chosen)
        if prices:
            yield _offer(found, group, chosen, prices)


def device_rows(found: HostAtBlock) -> Iterator[DeviceRow]:
    """Yield the devices of a host."""
    record = found.record
    for index, device in enumerate(record.devices):
        yield DeviceRow(
            host=found.host,
            place=index,
            read_block=found.read_block,
            vendor=device.spec.vendor.value,
            model=name_text(device.spec.model),
            vram_mib=device.spec.vram_mib,
            simulated=int(device.spec.simulated),
            milli_free=device.milli_free,
            shared_by=device.shared_by,
            attested=int(device.attested),
            healthy=int(device.healthy),
            challenged=int(index == record.challenged),
        )


def _prices(record: gen.HostRecord, chosen: Sequence[int]) -> dict[str, int]:
    """Return the price of one of these devices, or of a core, for an hour in each unit that the host offers."""
    wanted, devices = (_ONE_DEVICE, chosen[:1]) if chosen else (_ONE_CORE, ())
    found = {unit: rate_per_hour(wanted, record.devices, devices, record.ask, kind) for unit, kind in _UNITS.items()}
    return {unit: price for unit, price in found.items() if price < UNPAYABLE}


def _offer(found: HostAtBlock, group: _Group, chosen: Sequence[int], prices: Mapping[str, int]) -> OfferRow:
    record, (model, simulated) = found.record, group
    devices = [record.devices[index] for index in chosen]
    billing, price = next(iter(prices.items()))
    return OfferRow(
        host=found.host,
        model=model,
        simulated=int(simulated),
        read_block=found.read_block,
        provider=record.provider,
        status=text_of(record.status.encode()),
        region=name_text(record.region),
        tier=record.tier.value,
        vendor=devices[0].spec.vendor.value if devices else "",
        gpus=len(devices),
        gpus_free=sum(_is_free(record, index) for index in chosen),
        vram_mib=min((device.spec.vram_mib for device in devices), default=0),
        attested=sum(device.attested for device in devices),
        price=price,
        billing=billing,
        price_second=prices.get("second"),
        price_hour=prices.get("hour"),
        price_day=prices.get("day"),
        score_ppm=NO_EVIDENCE_PPM if found.score is None else host_ppm(found.score),
        bond=record.bond,
        bond_required=record.bond_required,
        cpu_milli=record.total.cpu_milli,
        cpu_milli_free=record.free.cpu_milli,
        memory_mib=record.total.memory_mib,
        memory_mib_free=record.free.memory_mib,
        disk_gib=record.total.disk_gib,
        disk_gib_free=record.free.disk_gib,
        network_mbps_down=record.network_mbps_down,
        network_mbps_up=record.network_mbps_up,
        latency_ms=record.latency_ms,
        capabilities=",".join(name for name, is_there in record.capabilities.encode().items() if is_there),
        live_leases=record.live_leases,
        generation=record.generation,
        registered_ms=record.registered_at,
        offered_since_ms=record.offered_since,
        ask=_ask_text(record.ask),
    )


def _is_free(record: gen.HostRecord, index: int) -> bool:
    device = record.devices[index]
    return device.milli_free == 1000 and device.healthy and index != record.challenged


def _ask_text(ask: gen.Ask) -> str:
    prices = [{"model": name_text(price.model), "per_hour": price.per_hour} for price in ask.gpu]
    return json.dumps({**ask.encode(), "gpu": prices}, separators=(",", ":"))
