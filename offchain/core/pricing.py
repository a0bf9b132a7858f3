"""Prices of a pod: the rate, deposit and owed rules of docs/protocol.md section 1, in whole base units.

The chain applies the same rules; `tests/vectors/fit.json` contains the cases that both are tested with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from offchain.core.values import Ask, BillingUnit, Device, Resources
from offchain.schema.chain_types.escrow import UNIT_MS, UNPAYABLE, owed
from offchain.schema.durations import HOUR_MS

__all__ = [
    "HOUR_MS",
    "PPM",
    "UNIT_MS",
    "UNPAYABLE",
    "billed_ms",
    "deposit",
    "fee",
    "offers",
    "owed",
    "rate_per_hour",
    "storage_rate_per_hour",
    "with_surcharge",
]

PPM: Final = 1_000_000


def offers(ask: Ask, unit: BillingUnit) -> bool:
    """Return whether a host with this price list accepts leases that are billed by `unit`."""
    return _factor_ppm(ask, unit) > 0


def rate_per_hour(
    resources: Resources, devices: Sequence[Device], chosen: Sequence[int], ask: Ask, unit: BillingUnit
) -> int:
    """Return the rate of one pod with `resources` on the `chosen` device indices, in base units per hour.

    A device costs the price of its model times the thousandths used. Each part is rounded down, and so is their sum
    times the unit's factor. :data:`UNPAYABLE` if the host does not bill by that unit (see :func:`offers`) or the chain
    cannot compute the rate.
    """
    prices = {price.model: price.per_hour for price in ask.gpu}
    gpus = [
        resources.gpus.milli * prices.get(devices[index].spec.model, ask.gpu_per_hour)
        for index in chosen
        if index < len(devices)
    ]
    cpu = resources.cpu_milli * ask.cpu_core_per_hour
    memory = resources.memory_mib * ask.memory_gib_per_hour
    disk = resources.disk_gib * ask.disk_gib_per_hour
    if max(cpu, memory, disk, *gpus) >= UNPAYABLE:
        return UNPAYABLE
    return _at_unit(sum(gpu // 1000 for gpu in gpus) + cpu // 1000 + memory // 1024 + disk, ask, unit)


def with_surcharge(rate: int, surcharge_ppm: int) -> int:
    """Return the rate of a pod of an audited job whose price is `rate`, base units per hour, rounded down."""
    return min(UNPAYABLE, rate * (PPM + surcharge_ppm) // PPM)


def storage_rate_per_hour(resources: Resources, ask: Ask, unit: BillingUnit) -> int:
    """Return the rate of a stopped rental's disk, base units per hour. :data:`UNPAYABLE` as for a pod."""
    return _at_unit(resources.disk_gib * ask.storage_gib_per_hour, ask, unit)


def _factor_ppm(ask: Ask, unit: BillingUnit) -> int:
    if unit is BillingUnit.SECOND:
        return ask.second_ppm
    return ask.hour_ppm if unit is BillingUnit.HOUR else ask.day_ppm


def _at_unit(listed: int, ask: Ask, unit: BillingUnit) -> int:
    """Return a list price times the unit's factor."""
    factor = _factor_ppm(ask, unit)
    if factor == 0 or listed >= UNPAYABLE:
        return UNPAYABLE
    return min(UNPAYABLE, listed * factor // PPM)


def deposit(rate: int, max_duration_ms: int) -> int:
    """Return the deposit of a lease: `rate`, base units per hour, for its maximum duration, rounded up.

    :data:`UNPAYABLE` if the chain cannot compute it.
    """
    product = rate * max_duration_ms
    return UNPAYABLE if product >= UNPAYABLE else -(-product // HOUR_MS)


def fee(paid: int, fee_ppm: int) -> int:
    """Return the protocol fee of a payment, rounded down."""
    return paid * min(fee_ppm, PPM) // PPM


def billed_ms(started_at: int, ended_at: int, metered_wall_ms: int) -> int:
    """Return the billed time: the chain's, or the host's metered time if that is less."""
    return min(ended_at - started_at, metered_wall_ms)
