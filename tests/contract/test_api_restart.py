"""Restart of a process through the API: for operators, where Prometheus scrapes, signed by wallets."""

import asyncio
import contextlib

import aiohttp
import pytest
from aiohttp import web

from offchain.adapters.keys.signer import from_uri
from offchain.adapters.metrics.restart import RestartGuard
from offchain.adapters.metrics.server import MetricsServer
from offchain.gateway.api import actions, monitoring, process_restart
from offchain.gateway.api.server import ApiServer, ApiSettings
from offchain.indexer.genesis import store_genesis_balances
from offchain.indexer.state_rows import GenesisBalanceRow
from tests.support.history_blocks import History
from tests.support.index_rig import opened

ALICE, BOB = from_uri("//Alice"), from_uri("//Bob")
MESSAGE, RESTART = "/v1/monitoring/restart/message", "/v1/monitoring/restart"


class RestartClient:
    """A client of a gateway whose Prometheus scrapes `instances`."""

    def __init__(self, url, session, instances):
        self.url, self.session, self.instances = url, session, instances

    async def post(self, path, body, status, token=None):
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        async with self.session.post(self.url + path, json=body, headers=headers) as answer:
            found = await answer.json()
            assert answer.status == status, found
            return found

    async def sign_in(self, signer):
        text = (await self.post("/v1/sign-in/message", {"account": signer.address}, 200))["data"]["message"]
        body = {"message": text, "signature": signed(signer, text)}
        return (await self.post("/v1/sign-in", body, 200))["data"]["token"]


def signed(signer, text):
    return f"0x{signer.sign(text.encode()).hex()}"


@contextlib.asynccontextmanager
async def serving(app):
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.fixture
async def client(tmp_path, monkeypatch):
    monkeypatch.setattr(actions, "_WRITES_PER_S", 1000.0)
    monkeypatch.setattr(monitoring, "KEPT_S", 0.0)
    address, instances = str(tmp_path / "index.db"), []

    async def prometheus(request):
        if request.path.endswith("/alerts"):
            return web.json_response({"data": {"alerts": []}})
        up = [{"metric": {"job": "workers", "instance": one}, "value": [1, "1"]} for one in instances]
        return web.json_response({"data": {"result": up if request.query["query"] == "up" else []}})

    app = web.Application()
    app.router.add_get("/{rest:.*}", prometheus)
    db, index = opened(address)
    index.add(list(History(5).blocks(2)))
    store_genesis_balances(db, [GenesisBalanceRow(one.address, 1, 0) for one in (ALICE, BOB)])
    async with serving(app) as where:
        settings = ApiSettings(
            host="127.0.0.1",
            port=0,
            index=address,
            requests_per_s=1000,
            domain="gateway.example.org",
            operators=frozenset({ALICE.address}),
            prometheus=f"http://{where}",
        )
        async with ApiServer(settings).listening() as url, aiohttp.ClientSession() as session:
            yield RestartClient(url, session, instances)
    db.close()


@contextlib.asynccontextmanager
async def process(client, operators=(ALICE,)):
    """A process that Prometheus scrapes, and an event that is set when it is to end."""
    ended = asyncio.Event()
    guard = RestartGuard(frozenset(one.address for one in operators), "worker settler", end=ended.set)
    async with MetricsServer([], (), guard).listening("127.0.0.1", 0) as url:
        client.instances.append(url.removeprefix("http://").removesuffix("/metrics"))
        yield client.instances[-1], ended


async def test_an_operator_restarts_a_process(client):
    async with process(client) as (instance, ended):
        token = await client.sign_in(ALICE)
        asked = (await client.post(MESSAGE, {"instance": instance}, 200, token))["data"]
        assert "gateway.example.org asks you" in asked["message"]
        assert (asked["program"], "Process: worker settler" in asked["message"]) == ("worker settler", True)
        body = {"instance": instance, "message": asked["message"], "signature": signed(ALICE, asked["message"])}
        found = await client.post(RESTART, body, 202, token)
        assert found["data"] == {"program": "worker settler"}
        async with asyncio.timeout(10):
            await ended.wait()
        found = await client.post(RESTART, body, 403, token)
        assert found["code"] == "restart_refused"


async def test_nobody_else_gets_a_text_or_carries_a_request(client):
    async with process(client) as (instance, ended):
        await client.post(MESSAGE, {"instance": instance}, 401)
        token = await client.sign_in(BOB)
        assert (await client.post(MESSAGE, {"instance": instance}, 403, token))["code"] == "not_allowed"
        body = {"instance": instance, "message": "x", "signature": "0x" + "00" * 64}
        assert (await client.post(RESTART, body, 403, token))["code"] == "not_allowed"
        assert not ended.is_set()


async def test_a_process_that_does_not_name_the_account_refuses(client):
    async with process(client, operators=(BOB,)) as (instance, ended):
        token = await client.sign_in(ALICE)
        text = (await client.post(MESSAGE, {"instance": instance}, 200, token))["data"]["message"]
        body = {"instance": instance, "message": text, "signature": signed(ALICE, text)}
        found = await client.post(RESTART, body, 403, token)
        assert "may not restart this process" in found["detail"]
        assert not ended.is_set()


async def test_only_addresses_that_prometheus_scrapes_are_reached(client):
    reached = []

    async def reach(request):
        reached.append(request.path)
        return web.Response()

    app = web.Application()
    app.router.add_get("/{rest:.*}", reach)
    async with serving(app) as other:
        token = await client.sign_in(ALICE)
        client.instances += [f"user@{other}", f"{other}/x", f"{other}#", "a:1\r\nx"]
        for instance in (other, *client.instances):
            found = await client.post(MESSAGE, {"instance": instance}, 404, token)
            assert found["code"] == "restart_off"
    assert reached == []


async def test_odd_answers_are_errors_that_pass(client, monkeypatch):
    monkeypatch.setattr(process_restart, "_TIMEOUT_S", 0.3)
    app = web.Application()
    answers = {"body": b""}

    async def answer(_):
        return web.Response(body=answers["body"], status=answers.get("status", 200), headers=answers.get("headers"))

    app.router.add_get("/restart", answer)
    async with serving(app) as where:
        client.instances += [where, "127.0.0.1:1"]
        token = await client.sign_in(ALICE)
        for body in (b"", b"[]", b'{"program": "a\\nb", "run": "x"}', b"x" * 100_000):
            answers["body"] = body
            found = await client.post(MESSAGE, {"instance": where}, 503, token)
            assert found["code"] == "process_away"
        answers |= {"status": 302, "headers": {"Location": "http://127.0.0.1:1/"}}
        assert (await client.post(MESSAGE, {"instance": where}, 404, token))["code"] == "restart_off"
        assert (await client.post(MESSAGE, {"instance": "127.0.0.1:1"}, 503, token))["code"] == "process_away"
