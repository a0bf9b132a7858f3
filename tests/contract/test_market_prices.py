"""Prices of GPU models over time on SQLite and PostgreSQL: samples, their hours, bounds, and the API's answer."""

from dataclasses import replace

import aiohttp
import pytest
from sqlalchemy import delete

from offchain.gateway.api.server import ApiServer, ApiSettings
from offchain.indexer import market_prices, writer
from offchain.indexer.host_states import HostsRead
from offchain.indexer.market_prices import KEPT_MS, MOST_MODELS, SAMPLE_MS, sample_prices
from offchain.indexer.offers import HostAtBlock, device_rows, offer_rows
from offchain.indexer.rows import BlockRow, LeaseRow
from offchain.indexer.state_rows import DeviceRow, DueHostRow, ModelPriceRow, OfferRow
from offchain.indexer.tables import TABLES
from offchain.schema.durations import DAY_MS, HOUR_MS
from tests.support.api_client import Api
from tests.support.chain_records import GTY, ask, device, host_record
from tests.support.history_blocks import BLOCK_MS, HOSTS, PROVIDERS, History
from tests.support.index_rig import opened


def lease(number, host, rate, **changes):
    """The row of a lease that runs."""
    row = LeaseRow(
        lease=number,
        task=number,
        pod=0,
        generation=0,
        host=host,
        state="Active",
        reason=None,
        rate_per_hour=rate,
        deposited=0,
        paid=0,
        fee=0,
        scheduler_fee=0,
        settler_fee=0,
        refunded=0,
        assigned_ms=0,
        started_ms=0,
    )
    return replace(row, **changes)


def put(db, host, price, *devices, status=None):
    """Write what a host offers."""
    changes = {} if status is None else {"status": status}
    record = host_record(PROVIDERS[0], devices=devices, ask=ask(gpu_per_hour=price), **changes)
    found = HostAtBlock(host, 1, record, None)
    db.upsert(OfferRow, list(offer_rows(found)))
    db.upsert(DeviceRow, list(device_rows(found)))


def gpu(model=b"H100", **changes):
    return device(model=model, **changes)


@pytest.fixture
def opened_index(address):
    db, index = opened(address)
    yield db, index
    db.close()


@pytest.fixture
def db(opened_index):
    db, index = opened_index
    index.add(list(History(5).blocks(1)))
    return db


def hours(db, model="H100"):
    return [row for row in db.rows(ModelPriceRow) if row.model == model]


def sample(db, time_ms):
    with db.transaction():
        sample_prices(db, time_ms)


def test_an_hour_has_the_lowest_of_its_samples_and_the_median_of_the_last(db):
    for place, price in enumerate((5, 3, 4)):
        put(db, HOSTS[place], price * GTY, gpu(), gpu(milli_free=0))
    sample(db, 10 * HOUR_MS + 1)
    put(db, HOSTS[1], 9 * GTY, gpu(), gpu())
    sample(db, 10 * HOUR_MS + SAMPLE_MS)
    sample(db, 11 * HOUR_MS)
    first, second = hours(db)
    assert (first.hour_ms, second.hour_ms) == (10 * HOUR_MS, 11 * HOUR_MS)
    (before,) = [row.price for row in db.rows(OfferRow) if row.host == HOSTS[2]]
    assert first.median_price == max(row.price for row in db.rows(OfferRow) if row.host != HOSTS[1])
    assert second.lowest_price == before
    assert first.lowest_price < second.lowest_price
    assert (first.gpus, first.gpus_free) == (6, 4)


def test_the_paid_price_is_the_rate_of_running_leases_by_leased_gpu(db):
    put(db, HOSTS[0], GTY, gpu(milli_free=0), gpu(milli_free=500))
    put(db, HOSTS[1], GTY, gpu(milli_free=0), gpu(b"Other", milli_free=0))
    huge = 2**70
    running = [lease(1, HOSTS[0], huge), lease(2, HOSTS[0], 5)]
    others = [
        lease(3, HOSTS[0], 7, started_ms=None),
        lease(4, HOSTS[0], 7, ended_ms=1),
        lease(5, HOSTS[1], 7),
        lease(6, HOSTS[2], 7),
    ]
    db.upsert(LeaseRow, [*running, *others])
    sample(db, HOUR_MS)
    (hour,) = hours(db)
    assert (hour.paid_rate, hour.leased_milli) == (huge + 5, 1500)
    sample(db, HOUR_MS + SAMPLE_MS)
    (hour,) = hours(db)
    assert (hour.paid_rate, hour.leased_milli) == (2 * (huge + 5), 3000)
    (other,) = hours(db, "Other")
    assert (other.paid_rate, other.leased_milli) == (0, 0), "a host with two models"


def test_models_of_an_hour_are_bounded_and_those_with_most_gpus_are_kept(db, monkeypatch):
    monkeypatch.setattr(market_prices, "MOST_MODELS", 2)
    assert MOST_MODELS > 2
    put(db, HOSTS[0], GTY, gpu(b"A"))
    put(db, HOSTS[1], GTY, gpu(b"B"), gpu(b"B"))
    put(db, HOSTS[2], GTY, gpu(b"C"), gpu(b"C"))
    put(db, HOSTS[3], GTY)
    sample(db, 0)
    assert [row.model for row in db.rows(ModelPriceRow)] == ["B", "C"]
    put(db, HOSTS[0], GTY, *[gpu(b"A")] * 3)
    sample(db, 1)
    assert [row.model for row in db.rows(ModelPriceRow)] == ["B", "C"], "names that change do not make an hour longer"


def test_old_hours_are_removed(db):
    put(db, HOSTS[0], GTY, gpu())
    for time_ms in (0, HOUR_MS, KEPT_MS + HOUR_MS):
        sample(db, time_ms)
    assert [row.hour_ms for row in hours(db)] == [HOUR_MS, KEPT_MS + HOUR_MS]


def test_samples_are_written_with_blocks_at_intervals_while_no_host_waits(opened_index, monkeypatch):
    db, index = opened_index
    history = History(5)
    monkeypatch.setattr(writer, "SAMPLE_MS", 3 * BLOCK_MS)

    def write(price=None):
        (block,) = history.blocks(1)
        read = None
        if price is not None:
            record = host_record(PROVIDERS[0], devices=(gpu(),), ask=ask(gpu_per_hour=price))
            found = HostAtBlock(HOSTS[0], block.ref.number, record, None)
            read = HostsRead(block.ref.number, (HOSTS[0],), list(offer_rows(found)), list(device_rows(found)), [])
        index.write(replace(index.take([block]), changed_hosts=frozenset()), read)
        return [row.lowest_price for row in hours(db)]

    assert write() == [], "the index is behind"
    db.upsert(DueHostRow, [DueHostRow(HOSTS[5], 0)])
    assert write(7) == [], "another host has to be read"
    db.execute(delete(TABLES[DueHostRow]))
    (first,) = write(7)
    assert write(3) == write(3) == [first], "too early"
    (later,) = write(3)
    assert later < first


async def test_the_api_has_hours_of_some_days_and_days_of_more(address, opened_index):
    db, index = opened_index
    index.add(list(History(5).blocks(2)))
    last = replace(db.rows(BlockRow)[-1], number=2, time_ms=100 * DAY_MS + 5 * HOUR_MS)
    db.upsert(BlockRow, [last])
    big = 2**80

    def row(hour, lowest, median, paid=0, milli=0):
        return ModelPriceRow(hour * HOUR_MS, "H100", 0, 4, hour % 5, lowest, median, paid, milli)

    day = 100 * 24
    rows = [row(day, 3, 7, big, 2_000), row(day + 1, 2, 9, big, 1_000), row(day - 24, 5, 6), row(day - 24 * 40, 1, 1)]
    db.upsert(ModelPriceRow, [*rows, replace(rows[0], simulated=1), replace(rows[0], model="A100")])
    settings = ApiSettings(host="127.0.0.1", port=0, index=address, requests_per_s=1000)
    async with ApiServer(settings).listening() as url, aiohttp.ClientSession() as session:
        api = Api(url, session)
        found = (await api.get("/v1/market/prices?model=H100&days=2"))["data"]
        assert (found["period_ms"], [one["begin_ms"] // HOUR_MS for one in found["points"]]) == (
            HOUR_MS,
            [day - 24, day, day + 1],
        )
        assert found["points"][0]["paid_price"] is None
        assert found["points"][1]["paid_price"] == str(big // 2)
        found = (await api.get("/v1/market/prices?model=H100"))["data"]
        assert found["period_ms"] == DAY_MS
        assert found["points"][1] == {
            "begin_ms": 100 * DAY_MS,
            "lowest_price": "2",
            "median_price": "7",
            "paid_price": str(2 * big // 3),
            "gpus": 4,
            "gpus_free": (day + 1) % 5,
        }
        assert len(found["points"]) == 2
        assert len((await api.get("/v1/market/prices?model=H100&days=400"))["data"]["points"]) == 3
        assert (await api.get("/v1/market/prices?model=none"))["data"]["points"] == []
        for wrong in ("", "model=", "model=H100&days=0", "model=H100&days=401", "model=H100&hours=1"):
            await api.get(f"/v1/market/prices?{wrong}", status=400)
