"""Prices of GPU models: at present, from the offers of hosts, and by hour, as samples of these.

A sample is written with a block at the head of the chain, if no host waits to be read. No event tells what hosts ask
for, so that prices of a time in which the indexer was behind are not known, and cannot be derived later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, and_, case, delete, func, select

from offchain.indexer.database import IndexDatabase
from offchain.indexer.exact_amounts import ExactSum
from offchain.indexer.offers import NO_MODEL
from offchain.indexer.rows import LeaseRow
from offchain.indexer.state_rows import DeviceRow, ModelPriceRow, OfferRow
from offchain.indexer.tables import TABLES, columns
from offchain.schema.durations import DAY_MS, HOUR_MS

ONLINE: Final = "Online"
"""Status of hosts that take leases."""
SAMPLE_MS: Final = 300_000
"""Time of the chain between two samples."""
KEPT_MS: Final = 400 * DAY_MS
"""Hours that are older than a sample by more are removed."""
MOST_MODELS: Final = 200
"""Models of an hour: those of which hosts offer most. Providers choose the names."""
_WHOLE_MILLI: Final = 1000
_ModelKey = tuple[str, int]
"""Model, and whether its devices are simulated."""


@dataclass(frozen=True, slots=True)
class ModelOffers:
    """Offers of one model by hosts that take leases. Prices: base units for an hour of one whole device."""

    model: str
    simulated: int
    hosts: int
    gpus: int
    gpus_free: int
    lowest: int
    lowest_free: int | None


def model_offers(
    db: IndexDatabase, conditions: Sequence[ColumnElement[bool]], limit: int, *, largest_first: bool = False
) -> list[ModelOffers]:
    """Return the offers by model that meet the conditions, by name, or those with most GPUs first."""
    offer = columns(OfferRow)
    group, gpus = (offer.model, offer.simulated), func.sum(offer.gpus)
    found = db.execute(
        select(
            *group,
            func.count(),
            gpus,
            func.sum(offer.gpus_free),
            func.min(offer.price),
            func.min(case((offer.gpus_free > 0, offer.price))),
        )
        .where(offer.status == ONLINE, *conditions)
        .group_by(*group)
        .order_by(*((gpus.desc(),) if largest_first else ()), *group)
        .limit(limit)
    )
    return [
        ModelOffers(model, int(simulated), int(hosts), int(all_gpus), int(free), int(lowest), lowest_free)
        for model, simulated, hosts, all_gpus, free, lowest, lowest_free in found
    ]


def median_price(db: IndexDatabase, offers: ModelOffers) -> int:
    """Return the median of the hosts' prices for a model, the lower one of two in the middle."""
    offer = columns(OfferRow)
    chosen = (offer.status == ONLINE, offer.model == offers.model, offer.simulated == offers.simulated)
    place = (offers.hosts - 1) // 2
    ((price,),) = db.execute(select(offer.price).where(*chosen).order_by(offer.price).offset(place).limit(1))
    return int(price)


def sample_prices(db: IndexDatabase, time_ms: int) -> None:
    """Add a sample at a time of the chain to its hour, and remove hours that are too old. Call it in a transaction."""
    hour_ms = time_ms // HOUR_MS * HOUR_MS
    row = columns(ModelPriceRow)
    present = {(one.model, one.simulated): one for one in db.rows(ModelPriceRow, row.hour_ms == hour_ms)}
    rates, leased = _paid(db)
    changed = []
    for one in model_offers(db, [columns(OfferRow).model != NO_MODEL], MOST_MODELS, largest_first=True):
        key = one.model, one.simulated
        before = present.get(key)
        if before is None and len(present) >= MOST_MODELS:
            continue
        present[key] = ModelPriceRow(
            hour_ms,
            *key,
            gpus=one.gpus,
            gpus_free=one.gpus_free,
            lowest_price=one.lowest if before is None else min(one.lowest, before.lowest_price),
            median_price=median_price(db, one),
            paid_rate=(0 if before is None else before.paid_rate) + rates.get(key, 0),
            leased_milli=(0 if before is None else before.leased_milli) + leased.get(key, 0),
        )
        changed.append(present[key])
    db.upsert(ModelPriceRow, changed)
    db.execute(delete(TABLES[ModelPriceRow]).where(row.hour_ms < hour_ms - KEPT_MS))


def _paid(db: IndexDatabase) -> tuple[Mapping[_ModelKey, int], Mapping[_ModelKey, int]]:
    """Return the hourly rates of running leases, and the thousandths of GPUs that leases hold, by model.

    Hosts with several models are left out: a rate does not tell of which model the lease holds devices.
    """
    offer, device, lease = columns(OfferRow), columns(DeviceRow), columns(LeaseRow)
    one = (
        select(offer.host, func.min(offer.model).label("model"), func.min(offer.simulated).label("simulated"))
        .where(offer.status == ONLINE, offer.gpus > offer.gpus_free)
        .group_by(offer.host)
        .subquery()
        .c
    )
    other = select(offer.host).group_by(offer.host).having(func.count() > 1)
    group, alone = (one.model, one.simulated), one.host.not_in(other)
    runs = and_(lease.host == one.host, lease.started_ms.is_not(None), lease.ended_ms.is_(None))
    rates = db.execute(select(*group, ExactSum(lease.rate_per_hour)).where(runs, alone).group_by(*group))
    held = func.sum(_WHOLE_MILLI - device.milli_free)
    leased = db.execute(select(*group, held).where(device.host == one.host, alone).group_by(*group))
    return (
        {(model, int(simulated)): int(rate or 0) for model, simulated, rate in rates},
        {(model, int(simulated)): int(milli or 0) for model, simulated, milli in leased},
    )


def hours_of(db: IndexDatabase, model: str, simulated: int, first_ms: int) -> list[ModelPriceRow]:
    """Return the prices of a model from a time on, the oldest hour first."""
    row = columns(ModelPriceRow)
    return db.rows(ModelPriceRow, row.model == model, row.simulated == simulated, row.hour_ms >= first_ms)
