"""Offers, devices and the market on SQLite and PostgreSQL: hosts are read with the blocks that change them."""

import asyncio

import aiohttp
import pytest
from sqlalchemy import delete

from offchain.adapters.keys.signer import from_uri
from offchain.gateway.api.server import ApiServer, ApiSettings
from offchain.indexer.host_states import MOST_HOSTS, read_hosts
from offchain.indexer.rows import BlockRow, EventRow
from offchain.indexer.service import follow
from offchain.indexer.state_rows import DeviceRow, DueHostRow, OfferRow
from offchain.indexer.status import cursor
from offchain.indexer.tables import TABLES
from offchain.ports import Call
from offchain.schema.chain_types import _generated_chain as gen
from tests.support.api_client import Api
from tests.support.chain_records import GTY, ask, device, host_record, zeroed
from tests.support.fake_chain import FakeChain
from tests.support.history_blocks import GENESIS, PROVIDERS
from tests.support.history_blocks import address as account
from tests.support.index_rig import Fragile, Killed, opened, rederived, upgrade_rules

ALICE = from_uri("//Alice")
MANY = MOST_HOSTS + 20


class Market:
    """A chain whose calls register or change hosts, and the index that follows it."""

    def __init__(self, address):
        self.chain = FakeChain()
        self.chain.genesis = GENESIS
        self.chain.effects = lambda call, _: call.args["events"]
        self.records = self.chain.storage["Hosts", "Hosts"]
        self.address = address
        self.db, self.index = opened(address)

    def put(self, host, **changes):
        """Change the record of a host in the storage."""
        self.records[host,] = host_record(PROVIDERS[0], **changes).encode()

    async def block(self, *events):
        """Make a block with these events; return its number."""
        nonce = await self.chain.next_nonce(ALICE.address)
        call = Call("Test", "emit", {"events": events})
        await self.chain.broadcast(await self.chain.sign(call, ALICE, nonce))
        return (await self.chain.produce()).ref.number

    async def register(self, *hosts):
        return await self.block(*(("Hosts", "Registered", {"host": host, "provider": PROVIDERS[0]}) for host in hosts))

    async def follow(self, number):
        """Index up to this block."""
        written = asyncio.Event()
        following = asyncio.create_task(
            follow(self.chain, self.index, lambda block: block.ref.number >= number and written.set())
        )
        done = asyncio.create_task(written.wait())
        async with asyncio.timeout(60):
            await asyncio.wait({following, done}, return_when=asyncio.FIRST_COMPLETED)
        assert written.is_set(), following
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)

    def restart(self):
        """Open the index again, as a new process does."""
        self.db.close()
        self.db, self.index = opened(self.address)

    def offers(self):
        return {row.host: row for row in self.db.rows(OfferRow)}

    def due(self):
        return {row.host for row in self.db.rows(DueHostRow)}


@pytest.fixture
def market(address):
    made = Market(address)
    yield made
    made.db.close()


@pytest.fixture
async def api(market):
    settings = ApiSettings(host="127.0.0.1", port=0, index=market.address, requests_per_s=1000)
    async with ApiServer(settings).listening() as url, aiohttp.ClientSession() as session:
        yield Api(url, session)


def host(number):
    return account(10_000 + number)


def changed(name):
    return ("Hosts", "AskChanged", {"host": name, "ask": ask().encode()})


async def test_hosts_that_events_name_are_read_with_the_block(market):
    market.put(host(1))
    market.put(host(2))
    await market.follow(await market.register(host(1), host(2)))
    market.put(host(1), ask=ask(gpu_per_hour=5))
    market.put(host(2), ask=ask(gpu_per_hour=6))
    number = await market.block(changed(host(1)))
    await market.follow(number)
    found = market.offers()
    assert (found[host(1)].price, found[host(1)].read_block) == (5, number)
    assert (found[host(2)].price, found[host(2)].read_block) == (GTY, number - 1)
    assert market.due() == set()


async def test_blocks_behind_the_head_only_mark_hosts(market):
    market.put(host(1))
    await market.register(host(1))
    market.put(host(1), devices=(device(model=b"T4"),))
    last = await market.block(changed(host(1)))
    await market.follow(last)
    assert [(row.model, row.read_block) for row in market.db.rows(OfferRow)] == [("T4", last)]
    assert [row.model for row in market.db.rows(DeviceRow)] == ["T4"]


async def test_many_hosts_are_read_in_parts_that_a_kill_does_not_lose(market):
    names = [host(number) for number in range(MANY)]
    for name in names:
        market.put(name)
    await market.follow(await market.register(*names))
    assert len(market.offers()) == MOST_HOSTS
    assert market.due() == set(names) - market.offers().keys()
    market.restart()
    # A start marks all hosts: a runtime upgrade changes hosts without events.
    assert market.due() == set(names)
    for _ in range(2):
        await market.follow(await market.block())
    assert market.offers().keys() == set(names)
    assert market.due() == set()


async def test_hosts_are_written_with_the_block_or_not_at_all(market):
    market.put(host(1))
    await market.follow(await market.register(host(1)))
    before = market.offers()
    market.put(host(1), ask=ask(gpu_per_hour=5))
    block = await market.chain.block(await market.block(changed(host(1))))
    for fuse in range(40):
        market.restart()
        taken = market.index.take([block])
        read = await read_hosts(market.chain, market.index.hosts_to_read(taken), block.ref)
        market.index._db = market.index._hosts._db = market.index._derived._db = Fragile(market.db, fuse)
        try:
            market.index.write(taken, read)
        except Killed:
            assert market.offers() == before
            assert cursor(market.db).number == block.ref.number - 1
        else:
            break
    assert fuse > len((BlockRow, EventRow, OfferRow, DeviceRow, DueHostRow))
    assert market.offers()[host(1)].price == 5


async def test_an_index_that_had_no_offers_reads_all_hosts(market):
    names = [host(number) for number in range(3)]
    for name in names:
        market.put(name)
    await market.follow(await market.register(*names))
    market.db.execute(delete(TABLES[OfferRow]))
    market.restart()
    await market.follow(await market.block())
    assert market.offers().keys() == set(names)


async def test_hosts_that_changed_during_a_rederivation_are_read_after_it(market, monkeypatch):
    market.put(host(1))
    await market.follow(await market.register(host(1)))
    upgrade_rules(monkeypatch)
    market.restart()
    market.put(host(1), ask=ask(gpu_per_hour=5))
    market.index.add([await market.chain.block(await market.block(changed(host(1))))])
    assert market.offers()[host(1)].price == GTY
    rederived(market.index)
    await market.follow(await market.block())
    assert market.offers()[host(1)].price == 5


async def test_offers_are_filtered_and_sorted(market, api):
    for number in range(30):
        market.put(
            host(number),
            ask=ask(gpu_per_hour=10 ** (number % 25) + number),
            region=b"eu" if number % 2 else b"us",
            tier=gen.Tier.DATACENTER if number % 3 == 0 else gen.Tier.CONSUMER,
            devices=(device(simulated=number % 5 == 0), device(simulated=number % 5 == 0, milli_free=0)),
            status=gen.HostStatusDraining() if number == 7 else gen.HostStatusOnline(),
        )
    await market.follow(await market.register(*map(host, range(30))))
    rows = [row for row in market.db.rows(OfferRow) if row.status == "Online"]
    found = await api.all("/v1/offers?limit=4")
    assert [one["host"] for one in found] == [row.host for row in sorted(rows, key=lambda row: (row.price, row.host))]
    assert [int(one["price_per_hour"]) for one in found] == sorted(row.price for row in rows)
    found = await api.all("/v1/offers?limit=7&region=eu&tier=Datacenter&simulated=false&max_price=1000000000000000")
    assert {one["host"] for one in found} == {
        row.host
        for row in rows
        if (row.region, row.tier, row.simulated) == ("eu", "Datacenter", 0) and row.price <= 10**15
    }
    assert found
    assert await api.all("/v1/offers?free=2") == []
    assert len(await api.all("/v1/offers?free=1&model=A100&limit=9")) == 29
    assert len(await api.all("/v1/offers?status=any&limit=9")) == 30
    one = (await api.get(f"/v1/offers?host={host(7)}&status=Draining"))["data"][0]
    assert (one["gpus"], one["gpus_free"], one["model"], one["outdated"]) == (2, 1, "A100", False)
    assert one["ask"]["gpu_per_hour"] == str(10**7 + 7)


async def test_reputation_sorts_the_best_first(market, api):
    scores = market.chain.storage["Reputation", "HostScores"]
    nothing = gen.Beta(0, 0)
    for number in range(9):
        market.put(host(number))
        parts = dict.fromkeys(("completed", "verified", "uptime", "start_latency", "rating"), nothing)
        parts["uptime"] = gen.Beta(number * 10**6, 0)
        scores[host(number),] = zeroed(gen.HostScore, sla=zeroed(gen.Sla), **parts).encode()
    await market.follow(await market.register(*map(host, range(9))))
    found = await api.all("/v1/offers?sort=reputation&limit=2")
    assert [one["host"] for one in found] == [host(number) for number in reversed(range(9))]
    assert [one["reputation_ppm"] for one in found] == sorted((one["reputation_ppm"] for one in found), reverse=True)


async def test_devices_and_the_market_add_up(market, api):
    prices = [50, 10, 40, 20, 30, 60]
    for number, price in enumerate(prices):
        model = b"A100" if number < 4 else b"T4"
        free = 0 if price == 10 else 1000
        market.put(host(number), devices=(device(model=model, milli_free=free),) * 2, ask=ask(gpu_per_hour=price))
    market.put(host(6), devices=(), ask=ask(cpu_core_per_hour=3))
    market.put(host(7), status=gen.HostStatusOffline())
    await market.follow(await market.register(*map(host, range(8))))
    found = {one["model"]: one for one in await api.all("/v1/market?limit=1")}
    assert found["A100"] == {
        "model": "A100",
        "simulated": False,
        "hosts": 4,
        "gpus": 8,
        "gpus_free": 6,
        "lowest_price": "10",
        "lowest_free_price": "20",
        "median_price": "20",
    }
    assert (found["T4"]["lowest_price"], found["T4"]["median_price"]) == ("30", "30")
    assert (found[None]["hosts"], found[None]["gpus"], found[None]["lowest_free_price"]) == (1, 0, None)
    listed = await api.all("/v1/devices?limit=3")
    assert len(listed) == 13
    assert {one["model"] for one in await api.all("/v1/devices?model=T4")} == {"T4"}
    assert [one["index"] for one in await api.all(f"/v1/devices?host={host(0)}")] == [0, 1]
    assert await api.all(f"/v1/devices?provider={PROVIDERS[0]}&limit=5") == listed
    assert await api.all(f"/v1/devices?provider={PROVIDERS[1]}") == []


async def test_a_host_that_is_due_is_shown_as_outdated(market, api):
    market.put(host(1))
    await market.follow(await market.register(host(1)))
    market.index.add([await market.chain.block(await market.block(changed(host(1))))])
    assert (await api.get("/v1/offers"))["data"][0]["outdated"]
    assert (await api.get("/v1/devices"))["data"][0]["outdated"]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/v1/offers?sort=size", "sort: "),
        ("/v1/offers?free=-1", "free: "),
        ("/v1/offers?free=many", "free: "),
        (f"/v1/offers?max_price={2**128}", "max_price: "),
        ("/v1/offers?tier=Best", "tier: "),
        ("/v1/offers?simulated=perhaps", "simulated: "),
        ("/v1/offers?after=WzEsMl0", "another list"),
        ("/v1/offers?after=WyJ4IiwieCIsIngiLDBd", "another list"),
        ("/v1/devices?host=5Fx", "host: "),
        ("/v1/market?after=WzFd", "another list"),
    ],
)
async def test_wrong_parameters_are_named(api, path, says):
    problem = await api.get(path, 400)
    assert problem["code"] == "invalid_parameter"
    assert says in problem["detail"]
