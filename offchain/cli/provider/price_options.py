"""Options with the prices that a provider asks for."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import click

from node_agent.telemetry.hardware import MAX_MODEL_BYTES
from offchain.cli.kit import options
from offchain.core.values import NO_TERMS
from offchain.schema.chain_types._generated_chain import Ask, BillingUnit, GpuPrice

GTY = 10**12
PPM = 10**6
MAX_MODEL_PRICES = 8
STANDARD_ASK = Ask((), GTY, GTY // 100, GTY // 500, GTY // 10_000, 0, GTY // 10_000, PPM, PPM, PPM, NO_TERMS)
"""Default prices."""


def _model_price(text: str) -> GpuPrice:
    model, _, price = text.rpartition("=")
    if not 0 < len(model.encode()) <= MAX_MODEL_BYTES:
        raise ValueError(f'{text!r} is not MODEL=GTY; write it like "NVIDIA A100-SXM4-80GB=2.5"')
    return GpuPrice(model.encode(), options.base_units(price))


def _unit_factor(text: str) -> tuple[BillingUnit, int]:
    """Return a unit, and the factor on the list price for leases billed by it, in parts per million."""
    unit, _, factor = text.partition("=")
    try:
        ppm = int(Decimal(factor) * PPM)
        found = BillingUnit(unit.capitalize())
    except (ValueError, ArithmeticError):
        ppm, found = -1, BillingUnit.SECOND
    if not 0 <= ppm <= 10 * PPM:
        raise ValueError(
            f"{text!r} is not UNIT=FACTOR; write it like day=0.8: the unit is second, hour or day, the factor 0 "
            "(not offered) to 10"
        )
    return found, ppm


_PRICES = (
    click.option("--gpu-price", type=options.AMOUNT, help="A whole GPU for 1 h.  [default: 1]"),
    click.option("--cpu-price", type=options.AMOUNT, help="A core for 1 h.  [default: 0.01]"),
    click.option("--memory-price", type=options.AMOUNT, help="A GiB of memory for 1 h.  [default: 0.002]"),
    click.option("--disk-price", type=options.AMOUNT, help="A GiB of disk for 1 h.  [default: 0.0001]"),
    click.option(
        "--storage-price", type=options.AMOUNT, help="A GiB of a stopped rental's disk for 1 h.  [default: 0.0001]"
    ),
    click.option(
        "--gpu-model-price",
        "model_prices",
        type=options.Parsed("MODEL=GTY", _model_price),
        multiple=True,
        help="A whole GPU of this model for 1 h, instead of --gpu-price. May be given 8 times.",
    ),
    click.option(
        "--unit-factor",
        "unit_factors",
        type=options.Parsed("UNIT=FACTOR", _unit_factor),
        multiple=True,
        help="Factor on the list price for leases billed by the second, hour or day.  [default: 1 for each]",
    ),
)


@dataclass(frozen=True, slots=True)
class PriceList:
    """Prices of the command line; None or empty if not given."""

    gpu_price: int | None
    cpu_price: int | None
    memory_price: int | None
    disk_price: int | None
    storage_price: int | None
    model_prices: tuple[GpuPrice, ...]
    unit_factors: tuple[tuple[BillingUnit, int], ...]

    def over(self, before: Ask | None) -> Ask:
        """Return the previous prices, replaced by the given ones."""
        old = before or STANDARD_ASK
        models = {price.model: price for price in (*old.gpu, *self.model_prices)}
        if len({price.model for price in self.model_prices}) < len(self.model_prices) or len(models) > MAX_MODEL_PRICES:
            raise click.BadParameter(
                f"give it for at most {MAX_MODEL_PRICES} models, and once for each", param_hint="--gpu-model-price"
            )
        units = {BillingUnit.SECOND: old.second_ppm, BillingUnit.HOUR: old.hour_ppm, BillingUnit.DAY: old.day_ppm}
        units |= dict(self.unit_factors)
        return Ask(
            gpu=tuple(models.values()),
            gpu_per_hour=_or(self.gpu_price, old.gpu_per_hour),
            cpu_core_per_hour=_or(self.cpu_price, old.cpu_core_per_hour),
            memory_gib_per_hour=_or(self.memory_price, old.memory_gib_per_hour),
            disk_gib_per_hour=_or(self.disk_price, old.disk_gib_per_hour),
            network_gib=old.network_gib,
            storage_gib_per_hour=_or(self.storage_price, old.storage_gib_per_hour),
            second_ppm=units[BillingUnit.SECOND],
            hour_ppm=units[BillingUnit.HOUR],
            day_ppm=units[BillingUnit.DAY],
            terms=old.terms,
        )


prices = options.grouped("ask", lambda **given: PriceList(**given).over, *_PRICES)
"""Adds the price list. Passes `ask`: a function from the previous ask, None without one, to the new one."""


def _or(given: int | None, before: int) -> int:
    return before if given is None else given
