"""Answers about what hosts offer at present: offers, devices, and the market by GPU model."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import select

from offchain.gateway.api import market_models, models
from offchain.gateway.api import parameters as ask
from offchain.gateway.api.answers import as_of, equal, page_answer, plain
from offchain.gateway.api.parameters import encode_cursor
from offchain.indexer.database import IndexDatabase
from offchain.indexer.market_prices import median_price, model_offers
from offchain.indexer.offers import NO_MODEL
from offchain.indexer.pages import Key, after_key, page
from offchain.indexer.rows import HostRow
from offchain.indexer.state_rows import DeviceRow, DueHostRow, OfferRow
from offchain.indexer.tables import columns

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
    """Return a page of models."""
    request, offer = asked.page(), columns(OfferRow)
    conditions = [
        *equal((offer.simulated, asked.simulated)),
        *after_key((offer.model, offer.simulated), request),
    ]
    found = model_offers(db, conditions, request.limit)
    made = [
        market_models.MarketResource(
            model=one.model or None,
            simulated=bool(one.simulated),
            hosts=one.hosts,
            gpus=one.gpus,
            gpus_free=one.gpus_free,
            lowest_price=one.lowest,
            lowest_free_price=one.lowest_free,
            median_price=median_price(db, one),
        )
        for one in found
    ]
    after = encode_cursor((found[-1].model, found[-1].simulated)) if len(found) == request.limit else None
    return models.Page[market_models.MarketResource](as_of=as_of(db), data=made, next=after)


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
