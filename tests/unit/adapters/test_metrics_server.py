from __future__ import annotations

import asyncio

import aiohttp
import pytest

from offchain.adapters.local_http import ListenError
from offchain.adapters.metrics import server as metrics
from offchain.adapters.metrics.definitions import MetricDefinition
from offchain.adapters.metrics.server import EVENT_LOOP_DELAY, MetricsServer
from offchain.errors import StoreStuck
from tests.support.metric_text import OPENMETRICS, samples, value

ROWS = MetricDefinition("gantry_test_rows", "gauge", "Rows, by table.", ("table",))
WRITES = MetricDefinition("gantry_test_writes_total", "counter", "Writes.")
SECONDS = MetricDefinition("gantry_test_seconds", "histogram", "Duration.")


class Source:
    def __init__(self):
        self.asked = 0

    def __call__(self):
        self.asked += 1
        yield ROWS.read(3, 'a "b"\n')
        yield ROWS.read(4, "c")
        yield WRITES.read(self.asked)


async def fetched(url, status=200, **headers):
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as answer:
        assert answer.status == status
        return await answer.text(), answer.headers["Content-Type"]


async def test_readings_and_histograms_are_served_as_text():
    server = MetricsServer([Source()])
    server.histogram(SECONDS).observe(0.3)
    async with server.listening("127.0.0.1", 0) as url:
        text, content_type = await fetched(url)
    assert content_type.startswith("text/plain; version=")
    found = samples(text)
    assert value(found, "gantry_test_rows", table='a "b"\n') == 3
    assert value(found, "gantry_test_rows", table="c") == 4
    assert value(found, "gantry_test_writes_total") == 1
    assert value(found, "gantry_test_seconds_bucket", le="0.5") == 1
    assert value(found, "gantry_test_seconds_bucket", le="0.25") == 0
    assert value(found, "process_resident_memory_bytes") > 1_000_000
    assert value(found, f"{EVENT_LOOP_DELAY.name}_count") >= 0
    assert "# HELP gantry_test_rows Rows, by table." in text


async def test_openmetrics_is_served_when_asked_for():
    async with MetricsServer([Source()]).listening("127.0.0.1", 0) as url:
        text, content_type = await fetched(url, Accept=f"{OPENMETRICS},text/plain;q=0.5")
    assert content_type.startswith("application/openmetrics-text")
    assert text.endswith("# EOF\n")
    assert value(samples(text, openmetrics=True), "gantry_test_writes_total") == 1


async def test_an_answer_is_made_once_a_second_for_each_format(monkeypatch):
    source = Source()
    async with MetricsServer([source]).listening("127.0.0.1", 0) as url:
        await asyncio.gather(*(fetched(url, Accept=kind) for kind in (OPENMETRICS, "text/plain") for _ in range(5)))
        assert source.asked == 2
        monkeypatch.setattr(metrics, "_KEPT_S", 0.0)
        await fetched(url)
        assert source.asked == 3


async def test_there_is_nothing_else_and_no_parameters():
    source = Source()
    async with MetricsServer([source]).listening("127.0.0.1", 0) as url:
        for path in ("/", "/metrics/x", "/metrics2"):
            await fetched(url.removesuffix("/metrics") + path, 404)
        assert await fetched(url) == await fetched(f"{url}?name[]=gantry_test_rows")
        async with aiohttp.ClientSession() as session, session.post(url, data=b"x") as answer:
            assert answer.status == 405


async def test_connections_beyond_the_limit_are_closed(monkeypatch):
    monkeypatch.setattr(metrics, "MOST_CONNECTIONS", 2)
    async with MetricsServer([Source()]).listening("127.0.0.1", 0) as url:
        port = int(url.removesuffix("/metrics").rpartition(":")[2])
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        async with asyncio.timeout(10):
            assert await held[2][0].read() == b""
        for _, writer in held:
            writer.close()


async def test_a_source_that_cannot_be_read_does_not_take_the_others_away():
    def stuck():
        raise StoreStuck("The database x is held by another program.", "End it.")
        yield

    async with MetricsServer([stuck, Source()]).listening("127.0.0.1", 0) as url:
        text, _ = await fetched(url)
    assert value(samples(text), "gantry_test_rows", table="c") == 4


async def test_values_that_take_too_long_are_not_waited_for(monkeypatch):
    monkeypatch.setattr(metrics, "_PREPARE_S", 0.01)
    prepared = []

    async def never():
        prepared.append("never")
        await asyncio.Event().wait()

    async def soon():
        prepared.append("soon")

    async with MetricsServer([Source()], [never, soon]).listening("127.0.0.1", 0) as url:
        await fetched(url)
    assert sorted(prepared) == ["never", "soon"]


async def test_a_blocked_event_loop_shows(monkeypatch):
    monkeypatch.setattr(metrics, "_DELAY_EVERY_S", 0.001)
    seen = asyncio.Event()
    delays = []

    def observe(delay_s):
        delays.append(delay_s)
        if max(delays) > 0.05:
            seen.set()

    def block():
        end_s = asyncio.get_running_loop().time() + 0.1
        while asyncio.get_running_loop().time() < end_s:
            pass

    measuring = asyncio.create_task(metrics._measure_delay(observe))
    asyncio.get_running_loop().call_later(0.01, block)
    async with asyncio.timeout(10):
        await seen.wait()
    measuring.cancel()


async def test_an_address_in_use_is_reported():
    async with MetricsServer([]).listening("127.0.0.1", 0) as url:
        port = int(url.removesuffix("/metrics").rpartition(":")[2])
        with pytest.raises(ListenError, match=f"127.0.0.1:{port} cannot be used for metrics"):
            async with MetricsServer([]).listening("127.0.0.1", port):
                pass
