"""Answers about what hosts offer at present: offers, devices, and the market by GPU model."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import case, func, select

from offchain.gateway.api import market_models, models
from offchain.gateway.api import parameters as ask
from offchain.gateway.api.answers import as_of, equal, page_answer, plain
from offchain.gateway.api.parameters import encode_cursor
from offchain.indexer.database import IndexDatabase
from offchain.indexer.offers import NO_MODEL
from offchain.indexer.pages import Key, after_key, page
from offchain.indexer.rows import HostRow
from offchain.indexer.state_rows import DeviceRow, DueHostRow, OfferRow
from offchain.indexer.tables import columns

_ONLINE: Final = "Online"
_ANY_STATUS: Final = "any"
_SORTED_BY: Final = {"price": "price", "reputation": "score_ppm"}


def offers(db: IndexDatabase, asked: ask.OfferList) -> models.Page[market_models.OfferResource]:
    request, offer = asked.page(), columns(OfferRow)
    conditions = equal(
        (offer.status, None if asked.status == _ANY_STATUS else asked.status),
        (offer.model, asked.model),
        (offer.region, asked.region),
        (offer.tier, asked.tier),
        (offer.simulated, asked.simulated),
        (offer.host, asked.host),
        (offer.provider, asked.provider),
    )
    if asked.free is not None:
        conditions.append(offer.gpus_free >= asked.free)
    if asked.max_price is not None:
        conditions.append(offer.price <= asked.max_price)
    if asked.min_vram_mib is not None:
        conditions.append(offer.vram_mib >= asked.min_vram_mib)
    order = (_SORTED_BY[asked.sort], "host", "model", "simulated")
    found = page(db, OfferRow, request, *conditions, order=order)
    outdated = _outdated(db, [row.host for row in found])

    def key(row: OfferRow) -> Key:
        # A price may be greater than the integers of a cursor.
        return (str(row.price) if asked.sort == "price" else row.score_ppm, row.host, row.model, row.simulated)

    return page_answer(db, market_models.OfferResource, request, found, lambda row: _offer(row, outdated), key)


def devices(db: IndexDatabase, asked: ask.DeviceList) -> models.Page[market_models.DeviceResource]:
    request, device = asked.page(), columns(DeviceRow)
    chosen = ((device.host, asked.host), (device.model, asked.model), (device.simulated, asked.simulated))
    conditions = equal(*chosen)
    if asked.provider is not None:
        host = columns(HostRow)
        conditions.append(device.host.in_(select(host.host).where(host.provider == asked.provider)))
    found = page(db, DeviceRow, request, *conditions)
    outdated = _outdated(db, [row.host for row in found])

    def fields(row: DeviceRow) -> dict[str, Any]:
        return plain(row) | {"index": row.place, "outdated": row.host in outdated}

    return page_answer(db, market_models.DeviceResource, request, found, fields)


def market(db: IndexDatabase, asked: ask.MarketList) -> models.Page[market_models.MarketResource]:
    """Return a page of models; the median is that of the hosts' prices, the lower one of two in the middle."""
    request, offer = asked.page(), columns(OfferRow)
    group = (offer.model, offer.simulated)
    statement = (
        select(
            *group,
            func.count(),
            func.sum(offer.gpus),
            func.sum(offer.gpus_free),
            func.min(offer.price),
            func.min(case((offer.gpus_free > 0, offer.price))),
        )
        .where(offer.status == _ONLINE, *equal((offer.simulated, asked.simulated)))
        .where(*after_key(group, request))
        .group_by(*group)
        .order_by(*group)
        .limit(request.limit)
    )
    found = db.execute(statement)
    made = [
        market_models.MarketResource(
            model=model or None,
            simulated=bool(simulated),
            hosts=hosts,
            gpus=int(gpus),
            gpus_free=int(free),
            lowest_price=lowest,
            lowest_free_price=lowest_free,
            median_price=_price_at(db, model, simulated, (hosts - 1) // 2),
        )
        for model, simulated, hosts, gpus, free, lowest, lowest_free in found
    ]
    after = encode_cursor((found[-1][0], found[-1][1])) if len(found) == request.limit else None
    return models.Page[market_models.MarketResource](as_of=as_of(db), data=made, next=after)


def _price_at(db: IndexDatabase, model: str, simulated: int, place: int) -> int:
    """Return the price of a model at this place in the order of prices, from 0."""
    offer = columns(OfferRow)
    chosen = equal((offer.status, _ONLINE), (offer.model, model), (offer.simulated, simulated))
    ((price,),) = db.execute(select(offer.price).where(*chosen).order_by(offer.price).offset(place).limit(1))
    return int(price)


def _outdated(db: IndexDatabase, hosts: Iterable[str]) -> set[str]:
    """Return the hosts that have to be read again."""
    due = columns(DueHostRow).host
    return {host for (host,) in db.execute(select(due).where(due.in_(sorted(set(hosts)))))}


def _offer(row: OfferRow, outdated: set[str]) -> dict[str, Any]:
    return plain(row) | {
        "model": None if row.model == NO_MODEL else row.model,
        "vendor": row.vendor or None,
        "price_per_hour": row.price,
        "reputation_ppm": row.score_ppm,
        "total": market_models.CapacityResource(
            cpu_milli=row.cpu_milli, memory_mib=row.memory_mib, disk_gib=row.disk_gib
        ),
        "free": market_models.CapacityResource(
            cpu_milli=row.cpu_milli_free, memory_mib=row.memory_mib_free, disk_gib=row.disk_gib_free
        ),
        "latency_ms": row.latency_ms or None,
        "capabilities": row.capabilities.split(",") if row.capabilities else [],
        "ask": market_models.AskResource(**json.loads(row.ask)),
        "outdated": row.host in outdated,
    }
