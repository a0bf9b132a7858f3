"""What a pod costs: the rate, deposit and owed rules of docs/protocol.md section 1, in whole base units.

The chain computes the same; `tests/vectors/fit.json` holds the cases that both run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from offchain.core.values import Ask, BillingUnit, Device, Resources

HOUR_MS: Final = 3_600_000
PPM: Final = 1_000_000
UNPAYABLE: Final = 1 << 128
"""Greater than any amount of coins: stands for what does not fit the chain's 128 bits."""
UNIT_MS: Final = {BillingUnit.HOUR: HOUR_MS, BillingUnit.DAY: 24 * HOUR_MS}


def offers(ask: Ask, unit: BillingUnit) -> bool:
    """Whether a host with this price list takes leases that are billed by `unit`."""
    return _factor_ppm(ask, unit) > 0


def rate_per_hour(
    resources: Resources, devices: Sequence[Device], chosen: Sequence[int], ask: Ask, unit: BillingUnit
) -> int:
    """Base units per hour of one pod with `resources`, on the `devices` with the indices `chosen`, billed by `unit`.

    Each device costs what its model costs, by the thousandths taken of it; each part rounds down; their sum times the
    unit's factor rounds down. :data:`UNPAYABLE` where the host does not bill by that unit (see :func:`offers`) or the
    chain cannot compute it.
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


def storage_rate_per_hour(resources: Resources, ask: Ask, unit: BillingUnit) -> int:
    """Base units per hour of the disk of a stopped rental, billed by `unit`. :data:`UNPAYABLE` as for a pod."""
    return _at_unit(resources.disk_gib * ask.storage_gib_per_hour, ask, unit)


def _factor_ppm(ask: Ask, unit: BillingUnit) -> int:
    if unit is BillingUnit.SECOND:
        return ask.second_ppm
    return ask.hour_ppm if unit is BillingUnit.HOUR else ask.day_ppm


def _at_unit(listed: int, ask: Ask, unit: BillingUnit) -> int:
    """A list price times the unit's factor."""
    factor = _factor_ppm(ask, unit)
    if factor == 0 or listed >= UNPAYABLE:
        return UNPAYABLE
    return min(UNPAYABLE, listed * factor // PPM)


def deposit(rate: int, max_duration_ms: int) -> int:
    """What is held for a lease of `rate` base units per hour: its longest duration, rounded up.

    :data:`UNPAYABLE` where the chain cannot compute it.
    """
    product = rate * max_duration_ms
    return UNPAYABLE if product >= UNPAYABLE else -(-product // HOUR_MS)


def owed(unit: BillingUnit, deposit_held: int, rate: int, elapsed_ms: int, *, host_at_fault: bool = False) -> int:
    """What is owed after `elapsed_ms`, never over the deposit.

    By the second: pro rata, rounded down. By the hour or day: whole units in advance, the first from the start on and
    each further one when the one before it is over; except where the host is at fault for the end: then pro rata.
    """
    if unit is not BillingUnit.SECOND and not host_at_fault:
        units = max(1, -(-elapsed_ms // UNIT_MS[unit]))
        elapsed_ms = units * UNIT_MS[unit]
    product = rate * elapsed_ms
    return deposit_held if product >= UNPAYABLE else min(deposit_held, product // HOUR_MS)


def fee(paid: int, fee_ppm: int) -> int:
    """The protocol's part of what is paid, rounded down."""
    return paid * min(fee_ppm, PPM) // PPM


def billed_ms(started_at: int, ended_at: int, metered_wall_ms: int) -> int:
    """Billed time: what the chain saw, or what the host metered where that is less."""
    return min(ended_at - started_at, metered_wall_ms)
