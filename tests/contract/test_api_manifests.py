"""Checks of manifests and templates: errors by line, price and start by the planner, and limits of both."""

import asyncio
import base64
import threading

import pytest

from offchain.adapters.keys.signer import from_uri
from offchain.gateway.api import planner, templates
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.variables import resolve
from tests.support.api_rig import node_api
from tests.support.chain_records import GTY, ask, device, host_record, hosts_params, tasks_params
from tests.support.signing_chain import released_runtime

CHARLIE, BOB = from_uri("//Charlie"), from_uri("//Bob")
HOST = from_uri("//Host", "ed25519").address
MANIFEST = """services:
  train:
    image: ${IMAGE}
    deploy:
      resources:
        limits: {cpus: "1", memory: 1GiB}
x-gantry:
  price: {max_per_hour: "2 GTY"}
  duration: 1h
  placement: {allow_simulated: true}
"""
IMAGE = f"tool@sha256:{'ab' * 32}"


@pytest.fixture
async def api(tmp_path, monkeypatch):
    async with node_api(tmp_path, monkeypatch) as client:
        chain, capacity = client.chain, gen.Capacity(4000, 8192, 100)
        chain.constants["Balances", "ExistentialDeposit"] = 10**9
        chain.storage["System", "Account"][CHARLIE.address,] = {"data": {"free": 1000 * GTY, "reserved": 0}}
        host = host_record(
            BOB.address,
            total=capacity,
            free=capacity,
            devices=(device(simulated=True),),
            ask=ask(cpu_core_per_hour=GTY // 10),
            region=b"here",
            bond=10 * GTY,
        )
        chain.storage["Hosts", "Hosts"][HOST,] = host.encode()
        chain.storage["Hosts", "Params"][()] = hosts_params()
        chain.storage["Tasks", "Params"][()] = tasks_params()
        await chain.produce()
        yield client


async def check(api, status=200, **body):
    return await api.ask("POST", "/v1/manifests/check", status, body={"manifest": MANIFEST, **body})


async def test_a_valid_manifest_has_price_start_and_placement(api):
    found = await check(api, account=CHARLIE.address, variables={"IMAGE": IMAGE})
    assert (found["valid"], found["errors"], found["refusals"]) == (True, [], [])
    assert found["price"] == {
        "lowest_per_hour": str(GTY // 10),
        "highest_per_hour": str(GTY // 10),
        "deposit": str(2 * GTY),
    }
    assert found["placement"].startswith("1 of 1 hosts can run it now")
    assert found["start"] == "now"
    assert found["expected_start_ms"] == found["as_of"]["time_ms"]


async def test_errors_have_their_lines(api):
    found = await check(api)
    assert not found["valid"]
    assert [one["line"] for one in found["errors"]] == [3]
    assert "IMAGE is not set" in found["errors"][0]["message"]
    broken = MANIFEST.replace("duration: 1h", "duration: soon").replace("${IMAGE}", IMAGE)
    found = await check(api, manifest=broken)
    assert [(one["line"], one["key"]) for one in found["errors"]] == [(9, "x-gantry.duration")]
    problem = await api.build(CHARLIE.address, 400, action="task.submit", manifest=broken)
    assert problem["code"] == "bad_manifest"
    assert problem["errors"] == found["errors"]
    assert problem["field"] == "call.manifest:9:x-gantry.duration"


async def test_what_the_chain_would_refuse_is_told(api):
    values = {"IMAGE": IMAGE}
    cheap = MANIFEST.replace("2 GTY", "0.01 GTY")
    found = await check(api, manifest=cheap, variables=values)
    assert [one["code"] for one in found["refusals"]] == ["price_too_low"]
    poor = await check(api, account=from_uri("//Poor").address, variables=values)
    assert [one["code"] for one in poor["refusals"]] == ["no_funds"]
    built = await api.build(CHARLIE.address, action="task.submit", manifest=cheap, variables=values)
    assert [one["code"] for one in built["refusals"]] == ["price_too_low"]
    assert "--" not in built["refusals"][0]["hint"]
    assert IMAGE in built["summary"]


async def test_a_confidential_task_has_to_name_its_hosts(api):
    asked = MANIFEST.replace("x-gantry:", "x-gantry:\n  confidential: required")
    found = await check(api, manifest=asked, variables={"IMAGE": IMAGE})
    assert [one["code"] for one in found["refusals"]] == ["hosts_not_named"]


async def test_an_array_of_jobs_is_built_as_one_call(api):
    values = {"IMAGE": IMAGE}
    built = await api.build(CHARLIE.address, action="task.submit", manifest=MANIFEST, variables=values, count=5)
    assert built["refusals"] == []
    raw = bytes.fromhex(built["call_hex"][2:])
    assert released_runtime().call_name(raw) == "Tasks.submit_array"
    assert raw.endswith((5).to_bytes(4, "little"))
    assert built["summary"].startswith("Submit 5 tasks, each a job")
    for count in (0, 4097):
        await api.build(CHARLIE.address, 400, action="task.submit", manifest=MANIFEST, variables=values, count=count)
    service = MANIFEST.replace("x-gantry:", "x-gantry:\n  kind: service")
    built = await api.build(CHARLIE.address, action="task.submit", manifest=service, variables=values, count=2)
    assert "not_a_job" in [one["code"] for one in built["refusals"]]


async def test_a_forecast_that_takes_too_long_is_left_out(api, monkeypatch):
    waits, go_on = threading.Event(), threading.Event()

    async def stuck(*_, **__):
        waits.set()
        go_on.wait(20)

    monkeypatch.setattr(planner, "report_at", stuck)
    monkeypatch.setattr(planner.PlacementPlanner.__init__, "__kwdefaults__", {"limit_s": 0.5})
    try:
        found = await check(api, variables={"IMAGE": IMAGE})
        assert waits.is_set()
        assert found["valid"]
        assert found["expected_start_ms"] is None
        assert "no time" in found["start"]
        # The event loop answers meanwhile.
        assert (await api.ask("GET", "/v1/network"))["data"]["signing"]
    finally:
        go_on.set()


async def test_manifests_that_wait_are_bounded(api, monkeypatch):
    monkeypatch.setattr(planner, "MOST_WAITING", 0)
    assert (await check(api, 503, variables={"IMAGE": IMAGE}))["code"] == "busy"


async def test_checks_of_one_address_at_a_time_are_bounded(api, monkeypatch):
    begun, go_on = asyncio.Semaphore(0), asyncio.Event()

    async def slow(*_):
        begun.release()
        await go_on.wait()
        raise planner.PlannerBusy("busy", "")

    monkeypatch.setattr(planner.PlacementPlanner, "read", slow)
    waiting = [asyncio.create_task(check(api, 503)) for _ in range(4)]
    for _ in waiting:
        await begun.acquire()
    assert (await check(api, 429))["code"] == "too_many_requests"
    go_on.set()
    await asyncio.gather(*waiting)


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"manifest": ""}, 400, "manifest"),
        ({"manifest": "x" * 20_000}, 400, "manifest"),
        ({"manifest": "x" * 600_000}, 413, "large"),
        ({"account": "5F"}, 400, "account"),
        ({"variables": {"A": "x" * 2000}}, 400, "variables"),
        ({"variables": {str(n): "" for n in range(100)}}, 400, "variables"),
    ],
)
async def test_bodies_are_bounded(api, body, status, says):
    assert says in (await check(api, status, **body))["detail"]


@pytest.mark.parametrize(
    "text", ["{", "a: *b", "\0", "&a [*a]", "[" * 5000, "x-gantry: \ud800", "- " * 8000, "${A" * 4000]
)
async def test_no_manifest_breaks_the_check(api, text):
    found = await check(api, manifest=text.encode("utf-8", errors="replace").decode())
    assert not found["valid"]
    assert found["errors"]


async def test_templates_are_valid_once_their_variables_are_given(api):
    found = (await api.ask("GET", "/v1/templates"))["data"]
    assert {"primes", "service", "rental"} <= {one["name"] for one in found}
    given = {"GANTRY_DEMO_IMAGE": IMAGE, "SSH_PUBLIC_KEY": f"ssh-ed25519 {_ed25519_key()} me"}
    for one in found:
        assert one["title"].endswith(".")
        values = {variable["name"]: variable["value"] or given[variable["name"]] for variable in one["variables"]}
        parse_manifest(resolve(one["manifest"], values).encode())


def test_the_network_sets_variables_of_templates():
    found = templates.templates(lambda: {"GANTRY_DEMO_IMAGE": IMAGE})
    (primes,) = [one for one in found.data if one.name == "primes"]
    assert {one.name: one.value for one in primes.variables}["GANTRY_DEMO_IMAGE"] == IMAGE


def _ed25519_key():
    return base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0 " + bytes(32)).decode()
