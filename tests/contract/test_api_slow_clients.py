"""Slow clients of the HTTP API: each is ended in time, or waited for without a cost to others."""

import asyncio
import contextlib
import json
from urllib.parse import urlsplit

import pytest

from offchain.gateway.api import actions, client_limits
from offchain.gateway.api.event_stream import EventStream
from offchain.gateway.api.index_readers import IndexReaders
from offchain.gateway.api.parameters import EventStreamChoice
from tests.support.history_api import history_api
from tests.support.history_blocks import History
from tests.support.index_rig import opened

PATIENCE_S = 30.0
HALF_A_HEAD = b"GET /v1/network HTTP/1.1\r\nHost: gateway\r\nX-"
HALF_A_BODY = (
    b"POST /v1/sign-in/message HTTP/1.1\r\nHost: gateway\r\n"
    b"Content-Type: application/json\r\nContent-Length: 60\r\n\r\n{"
)


@pytest.fixture
async def api(tmp_path):
    async with history_api(str(tmp_path / "index.db"), 3, domain="gateway.example.org") as client:
        yield client


@contextlib.asynccontextmanager
async def connected(api, sent):
    """Open a connection, send these bytes and nothing more; yield what the server sends."""
    parts = urlsplit(api.url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(sent)
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield reader
    finally:
        writer.close()


@pytest.mark.parametrize("sent", [b"", HALF_A_HEAD])
async def test_a_connection_without_a_request_is_closed(api, monkeypatch, sent):
    await api.get("/v1/network")  # its connection is kept
    monkeypatch.setattr(client_limits, "_FIRST_REQUEST_S", 0.3)
    async with connected(api, sent) as answer:
        assert await answer.read() == b""
    assert (await api.get("/v1/network"))["as_of"]["number"] == 2


async def test_a_body_that_does_not_come_is_refused(api, monkeypatch):
    monkeypatch.setattr(actions, "_BODY_S", 0.3)
    async with connected(api, HALF_A_BODY) as answer:
        assert (await answer.readline()).startswith(b"HTTP/1.1 408 ")
        await answer.readuntil(b"\r\n\r\n")
        assert json.loads(await answer.readuntil(b"}"))["code"] == "too_slow"


def ids_in(piece):
    """Return the identifiers of server-sent events."""
    return [line.removeprefix(b"id: ").decode() for line in piece.splitlines() if line.startswith(b"id: ")]


async def ids_until(events, last):
    """Return the identifiers of events up to this one."""
    found = []
    async with asyncio.timeout(PATIENCE_S):
        while last not in found:
            found += ids_in(await anext(events))
    return found


async def test_a_client_that_reads_slowly_misses_no_event_and_delays_nobody(tmp_path):
    address = str(tmp_path / "index.db")
    db, index = opened(address)
    made = History(5)
    index.add(list(made.blocks(3)))
    readers = IndexReaders(address)
    stream = EventStream(readers, kept=8, look_every_s=0.01)
    follower = asyncio.create_task(stream.follow())
    choice = EventStreamChoice()
    begin = await stream.position(choice)
    slow, quick = stream.events(choice, begin), stream.events(choice, begin)

    waiting = asyncio.create_task(anext(slow))
    expected = []
    for _ in range(6):
        (block,) = made.blocks(1)
        index.add([block])
        expected += [f"{block.ref.number}.{place}" for place in range(len(block.events))]
        seen = await ids_until(quick, expected[-1])
        assert seen == expected[-len(seen) :]
    assert len(expected) > 8  # more than are kept in memory
    assert ids_in(await waiting) + await ids_until(slow, expected[-1]) == expected
    await slow.aclose()
    await quick.aclose()
    follower.cancel()
    readers.close()
    db.close()
