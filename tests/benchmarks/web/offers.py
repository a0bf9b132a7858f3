"""Lists of offers with filters, the market, and searches, one request after the other."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import aiohttp
from table import Figure

from offchain.gateway.api.server import ApiServer, ApiSettings
from offchain.indexer.engines import open_index
from offchain.indexer.offers import HostAtBlock, device_rows, offer_rows
from offchain.indexer.state_rows import DeviceRow, OfferRow
from offchain.indexer.writer import IndexWriter
from offchain.schema.chain_types import _generated_chain as gen
from tests.support.chain_records import GTY, ask, device, host_record
from tests.support.history_blocks import GENESIS, History, address

HOSTS = 10_000
REQUESTS = 300
_BLOCKS = 200
_REGIONS = [b"eu-west", b"eu-north", b"us-east", b"us-west", b"ap-south"]
_MODELS = [b"NVIDIA A100-SXM4-80GB", b"NVIDIA H100 80GB HBM3", b"NVIDIA L4", b"NVIDIA T4", b"AMD Instinct MI300X"]
_TIERS = list(gen.Tier)


def measure(hosts: int, requests: int) -> list[Figure]:
    """All figures."""
    with tempfile.TemporaryDirectory(prefix="gantry-api-") as folder:
        path = Path(folder) / "index.db"
        size = _fill(path, hosts)
        return [*asyncio.run(_ask(str(path), requests)), Figure("api-offer-size", "byte", (size,))]


def _fill(path: Path, hosts: int) -> int:
    """Write blocks and offers; return the bytes of an offer with its devices."""
    db = open_index(str(path), create=True)
    index = IndexWriter(db)
    index.prepare(GENESIS)
    index.add(list(History(1).blocks(_BLOCKS)))
    db.close()
    before = path.stat().st_size
    db = open_index(str(path))
    made = [HostAtBlock(address(10_000 + number), 1, record, None) for number, record in enumerate(_records(hosts))]
    db.insert(OfferRow, [row for one in made for row in offer_rows(one)])
    db.insert(DeviceRow, [row for one in made for row in device_rows(one)])
    db.close()
    return round((path.stat().st_size - before) / hosts)


def _records(hosts: int) -> Iterator[gen.HostRecord]:
    chance = random.Random(1)  # noqa: S311 - repeats a run, guards nothing
    for number in range(hosts):
        model, gpus = chance.choice(_MODELS), chance.choice([1, 2, 4, 8])
        devices = [device(model=model, milli_free=1000 * chance.randrange(2)) for _ in range(gpus)]
        yield replace(
            host_record(address(5_000 + number % 500), devices=tuple(devices)),
            ask=ask(gpu_per_hour=chance.randrange(GTY // 10, 5 * GTY)),
            region=chance.choice(_REGIONS),
            tier=chance.choice(_TIERS),
        )


async def _ask(index: str, requests: int) -> list[Figure]:
    chance = random.Random(2)  # noqa: S311 - repeats a run, guards nothing
    settings = ApiSettings(host="127.0.0.1", port=0, index=index, requests_per_s=100_000)

    def offers() -> dict[str, str]:
        given = {"limit": "100", "sort": chance.choice(["price", "reputation"]), "free": str(chance.randrange(1, 9))}
        given |= chance.choice([{}, {"model": chance.choice(_MODELS).decode()}])
        given |= chance.choice([{}, {"region": chance.choice(_REGIONS).decode(), "tier": chance.choice(_TIERS).value}])
        return given | chance.choice([{}, {"max_price": str(chance.randrange(GTY // 10, 5 * GTY))}])

    def rare() -> dict[str, str]:
        """A filter that few offers meet, so that most rows of the index are looked at."""
        return {"limit": "100", "free": "8", "tier": "Datacenter", "max_price": str(GTY // 2), "region": "nowhere"}

    def text() -> dict[str, str]:
        return {"q": chance.choice([str(chance.randrange(_BLOCKS)), chance.randbytes(32).hex(), address(3)])}

    async with ApiServer(settings).listening() as url, aiohttp.ClientSession() as session:

        async def timed(path: str, given: dict[str, str]) -> float:
            began = time.perf_counter()
            async with session.get(url + path, params=given) as answer:
                await answer.read()
                answer.raise_for_status()
            return round(1000 * (time.perf_counter() - began), 2)

        kinds = (("api-offers", "/v1/offers", offers), ("api-offers-rare", "/v1/offers", rare))
        figures = [
            Figure(name, "ms", tuple([await timed(path, of()) for _ in range(requests)]), target_p95=200)
            for name, path, of in (*kinds, ("api-search", "/v1/search", text))
        ]
        market = tuple([await timed("/v1/market", {}) for _ in range(requests // 10)])
        return [*figures, Figure("api-market", "ms", market, target_p95=200)]
