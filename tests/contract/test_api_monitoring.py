"""Alerts of a Prometheus through the API: for operators only, bounded, and an error that passes while it is away."""

import asyncio
import contextlib
import json
from dataclasses import replace

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from offchain.adapters.keys.signer import from_uri
from offchain.adapters.metrics import prometheus_api
from offchain.gateway.api import actions, monitoring
from offchain.gateway.api.server import ApiServer, ApiSettings
from offchain.indexer.genesis import store_genesis_balances
from offchain.indexer.rows import HostRow, LeaseRow, TaskRow
from offchain.indexer.state_rows import GenesisBalanceRow
from offchain.indexer.tables import columns
from tests.support.history_blocks import History
from tests.support.index_rig import opened

ALICE, BOB, CHARLIE = (from_uri(f"//{name}") for name in ("Alice", "Bob", "Charlie"))
MEASURED = (
    *("utilisation_percent", "temperature_celsius", "power_watts", "sm_clock_mhz"),
    *("pcie_receive_bytes_per_second", "pcie_transmit_bytes_per_second"),
)
COUNTED = ("pcie_replays", "nvlink_errors")
ALERT = {
    "labels": {"alertname": "GantryTargetDown", "severity": "page", "job": "agent", "instance": "a:1", "host": "5Host"},
    "annotations": {"summary": "agent at a:1 does not answer", "runbook": "docs/runbook/processes.md#x"},
    "state": "firing",
    "activeAt": "2026-11-27T10:00:00Z",
}
VECTORS = {
    "up": [({"job": "agent", "instance": "a:1", "host": "5Host"}, "0"), ({"job": "workers", "instance": "w:1"}, "1")],
    "queued|sent": [({"job": "workers", "instance": "w:1"}, "3")],
    '"dead"': [({"job": "workers", "instance": "w:1"}, "1")],
}


class FakePrometheus:
    """A web server that answers as Prometheus does. `body`: an answer in place of all others."""

    def __init__(self):
        self.asked, self.body, self.url = [], None, ""
        self.queries, self.times = set(), []

    async def answer(self, request):
        self.asked.append(request.path)
        if self.body is not None:
            return web.Response(body=self.body, content_type="application/json")
        if request.path.endswith("/alerts"):
            return web.json_response({"status": "success", "data": {"alerts": [ALERT]}})
        asked = request.query["query"]
        if request.path.endswith("/query_range"):
            self.queries.add(asked)
            self.times.append(tuple(int(request.query[name]) for name in ("start", "end", "step")))
            value = "1" if asked.startswith("gantry_pod_number") else "71"
            series = {"metric": {"device": "3", "place": "0"}, "values": [[self.times[-1][1], value], [1.5, "NaN"]]}
            return web.json_response({"status": "success", "data": {"resultType": "matrix", "result": [series]}})
        (vector,) = [found for name, found in VECTORS.items() if asked == name or (name != "up" and name in asked)]
        result = [{"metric": labels, "value": [1.0, value]} for labels, value in vector]
        return web.json_response({"status": "success", "data": {"resultType": "vector", "result": result}})


@pytest.fixture
async def prometheus():
    made, app = FakePrometheus(), web.Application()
    app.router.add_get("/{rest:.*}", made.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield made
    await runner.cleanup()


class MonitoringClient:
    def __init__(self, url, session, db, lease):
        self.url, self.session, self.db = url, session, db
        self.host, self.task = lease.host, lease.task

    async def post(self, path, body):
        async with self.session.post(self.url + path, json=body) as answer:
            return (await answer.json())["data"]

    async def look(self, signer=None, token=None, path="/v1/monitoring"):
        """Return status and answer of a resource for an account that signs in."""
        if signer is not None:
            text = (await self.post("/v1/sign-in/message", {"account": signer.address}))["message"]
            body = {"message": text, "signature": f"0x{signer.sign(text.encode()).hex()}"}
            token = (await self.post("/v1/sign-in", body))["token"]
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        async with self.session.get(URL(self.url + path, encoded=True), headers=headers) as answer:
            return answer.status, json.loads(await answer.text())


@contextlib.asynccontextmanager
async def serving(folder, url):
    address = str(folder / "index.db")
    db, index = opened(address)
    index.add(list(History(5).blocks(20)))
    store_genesis_balances(db, [GenesisBalanceRow(one.address, 1, 0) for one in (ALICE, BOB, CHARLIE)])
    lease = db.rows(LeaseRow)[0]
    (host,) = db.rows(HostRow, columns(HostRow).host == lease.host)
    (task,) = db.rows(TaskRow, columns(TaskRow).task == lease.task)
    db.upsert(HostRow, [replace(host, provider=BOB.address)])
    db.upsert(TaskRow, [replace(task, tenant=CHARLIE.address)])
    settings = ApiSettings(
        host="127.0.0.1",
        port=0,
        index=address,
        requests_per_s=1000,
        domain="gateway.example.org",
        operators=frozenset({ALICE.address}),
        prometheus=url,
    )
    async with ApiServer(settings).listening() as found, aiohttp.ClientSession() as session:
        yield MonitoringClient(found, session, db, lease)
    db.close()


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(actions, "_WRITES_PER_S", 1000.0)
    monkeypatch.setattr(monitoring, "KEPT_S", 60.0)


async def test_an_operator_sees_alerts_and_processes(tmp_path, prometheus):
    async with serving(tmp_path, prometheus.url) as client:
        status, found = await client.look(ALICE)
        assert status == 200
        assert (await client.look(ALICE))[1] == found
    (alert,) = found["data"]["alerts"]
    assert (alert["name"], alert["state"], alert["host"]) == ("GantryTargetDown", "firing", "5Host")
    down, up = found["data"]["processes"]
    assert down == {
        "job": "agent",
        "instance": "a:1",
        "host": "5Host",
        "up": False,
        "waiting_calls": None,
        "dead_letters": None,
    }
    assert (up["job"], up["up"], up["waiting_calls"], up["dead_letters"]) == ("workers", True, 3, 1)
    assert len(prometheus.asked) == 4, "the second answer was kept"


async def test_a_provider_sees_the_measurements_of_its_host(tmp_path, prometheus):
    async with serving(tmp_path, prometheus.url) as client:
        path = f"/v1/hosts/{client.host}/measurements?hours=1"
        status, found = await client.look(BOB, path=path)
        assert status == 200, found
        (device,) = found["data"]["devices"]
        times = found["data"]["times_ms"]
        assert (len(times), times[1] - times[0]) == (145, 25_000)
        assert device["device"] == 3
        assert [one for one in device["utilisation_percent"] if one is not None] == [71.0]
        assert device["utilisation_percent"][-1] == 71.0
        chosen = f'{{host="{client.host}"}}'
        rates = (f"nvlink_{direction}_bytes_total{chosen}[60s]" for direction in ("receive", "transmit"))
        assert prometheus.queries == {
            *(f"gantry_device_{name}{chosen}" for name in MEASURED),
            *(f"rate(gantry_device_{name})" for name in rates),
            *(f"sum by (device) (increase(gantry_device_{name}_total{chosen}[60s]))" for name in COUNTED),
        }
        assert (await client.look(ALICE, path=path))[0] == 200, "an operator"
        status, found = await client.look(CHARLIE, path=path)
        assert (status, found["code"]) == (403, "not_allowed")
        assert (await client.look(path=path))[0] == 401
        for wrong in ("hours=0", "hours=337", "hours=x", "metric=up"):
            assert (await client.look(BOB, path=f"/v1/hosts/{client.host}/measurements?{wrong}"))[0] == 400
        odd = client.host[:-1] + "%22"
        assert (await client.look(ALICE, path=f"/v1/hosts/{odd}/measurements"))[0] == 400


async def test_a_tenant_sees_the_usage_of_its_task(tmp_path, prometheus):
    async with serving(tmp_path, prometheus.url) as client:
        path = f"/v1/tasks/{client.task}/usage"
        status, found = await client.look(CHARLIE, path=path)
        assert status == 200, found
        (pod,) = found["data"]["pods"]
        assert (pod["pod"], pod["cpu_cores"][-1], pod["gpu_memory_bytes"][-1]) == (1, 71.0, 71.0)
        assert len(found["data"]["times_ms"]) == len(pod["memory_bytes"])
        chosen = f'{{host=~"{client.host}"}}'
        of_task = f"and on (host, instance, place) (gantry_pod_task{chosen} == {client.task})"
        names = ("number", "cpu_cores", "memory_bytes", "gpu_utilisation_percent", "gpu_memory_bytes")
        assert prometheus.queries == {f"gantry_pod_{name}{chosen} {of_task}" for name in names}
        assert (await client.look(ALICE, path=path))[0] == 200, "an operator"
        status, found = await client.look(BOB, path=path)
        assert (status, found["code"]) == (403, "not_allowed"), "the provider of its host"
        assert "tenant" in found["detail"]
        assert (await client.look(path=path))[0] == 401
        status, found = await client.look(ALICE, path="/v1/tasks/999999/usage")
        assert (status, found["code"]) == (404, "not_found")
        for wrong in ("hours=0", "hours=337", "query=up"):
            assert (await client.look(CHARLIE, path=f"{path}?{wrong}"))[0] == 400


async def test_a_task_without_a_lease_has_no_usage_and_nothing_is_asked(tmp_path, prometheus):
    async with serving(tmp_path, prometheus.url) as client:
        client.db.upsert(TaskRow, [replace(client.db.rows(TaskRow)[0], task=9_999, state="Queued")])
        status, found = await client.look(ALICE, path="/v1/tasks/9999/usage")
    assert (status, found["data"]) == (200, {"times_ms": [], "pods": []})
    assert prometheus.queries == set()


async def test_nobody_else_sees_them(tmp_path, prometheus):
    async with serving(tmp_path, prometheus.url) as client:
        assert (await client.look())[0] == 401
        status, found = await client.look(BOB)
        assert (status, found["code"]) == (403, "not_allowed")
        assert "operator" in found["detail"]
    assert prometheus.asked == []


async def test_without_a_prometheus_this_is_said(tmp_path):
    async with serving(tmp_path, None) as client:
        status, found = await client.look(ALICE)
    assert (status, found["code"]) == (404, "monitoring_off")
    assert "--prometheus" in found["hint"]


@pytest.mark.parametrize(
    "body",
    [
        b"not JSON",
        b"[]",
        b'{"data": []}',
        b'{"data": {"alerts": {}, "result": 7}}',
        b'{"data": {"alerts": [], "result": [{"metric": {}}]}}',
        b'{"data": {"alerts": ["' + b"x" * 4096 + b'"]}}',
    ],
)
async def test_an_odd_answer_of_prometheus_is_an_error_that_passes(tmp_path, prometheus, monkeypatch, body):
    monkeypatch.setattr(prometheus_api, "MOST_BYTES", 1024)
    prometheus.body = body
    async with serving(tmp_path, prometheus.url) as client:
        status, found = await client.look(ALICE)
        assert (status, found["code"]) == (503, "monitoring_away"), found
        monkeypatch.setattr(prometheus_api, "MOST_BYTES", 1 << 20)
        prometheus.body = None
        assert (await client.look(ALICE))[0] == 200


async def test_a_prometheus_that_is_away_or_silent_is_waited_for_no_longer_than_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(prometheus_api, "TIMEOUT_S", 0.3)
    silent = []
    server = await asyncio.start_server(lambda _, writer: silent.append(writer), "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with serving(tmp_path, url) as client:
        assert (await client.look(ALICE))[0] == 503
        assert silent
        for writer in silent:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
        server.close()
        assert (await client.look(ALICE))[0] == 503
