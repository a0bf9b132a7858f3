"""Extrinsics that wallets sign: what the API builds is what the chain takes, and nothing else is submitted."""

import pytest

from offchain.adapters.keys.signer import from_uri
from offchain.errors import SubmitRefusal
from offchain.gateway.api import chain_access, client_limits
from offchain.ports import Call
from offchain.schema.chain_types import _generated_chain as gen
from tests.support.api_rig import node_api
from tests.support.chain_records import GTY, Tasks, lease, task_spec
from tests.support.signing_chain import FEE, released_runtime

ALICE, BOB, POOR = from_uri("//Alice"), from_uri("//Bob", "ed25519"), from_uri("//Poor")
HOST = from_uri("//Host", "ed25519").address


@pytest.fixture
async def api(tmp_path, monkeypatch):
    async with node_api(tmp_path, monkeypatch) as client:
        for one in (ALICE, BOB):
            client.chain.storage["System", "Account"][one.address,] = {"data": {"free": 1000 * GTY, "reserved": GTY}}
        client.chain.constants["Balances", "ExistentialDeposit"] = 10**9
        await client.chain.produce()
        yield client


@pytest.mark.parametrize("signer", [ALICE, BOB], ids=["sr25519", "ed25519"])
async def test_a_built_call_is_signed_submitted_and_executed(api, signer):
    built = await api.build(signer.address, pallet="System", name="remark", args={"remark": "0x0102"})
    assert built["refusals"] == []
    assert built["fee_estimate"] == str(FEE)
    assert built["as_of"]["number"] == (await api.chain.finalized_head()).number
    assert built["summary"].startswith("System.remark")
    sent = await api.submit(built, signer)
    assert sent["status_url"] == f"/v1/extrinsics/{sent['hash']}"
    await api.chain.produce()
    assert api.chain.executed == [(Call("System", "remark", {"remark": b"\1\2"}), signer.address, 0)]


async def test_the_payload_is_that_of_polkadot_js(api):
    built = await api.build(ALICE.address, action="transfer", to=BOB.address, amount="5000000000000")
    payload = built["payload"]
    runtime = released_runtime()
    assert payload["method"] == built["call_hex"]
    assert payload["specVersion"] == f"0x{runtime.spec_version:08x}"
    assert payload["signedExtensions"] == [one.name for one in runtime.metadata.extensions]
    assert payload["nonce"] == "0x00000000"
    assert payload["version"] == 4
    assert "Transfer 5 GTY" in built["summary"]
    long = await api.build(ALICE.address, pallet="System", name="remark", args={"remark": "x" * 300})
    assert len(long["signing_payload_hex"]) == 2 + 64  # a long payload is hashed before it is signed


async def test_a_wrong_signature_is_refused_and_not_submitted(api):
    built = await api.build(ALICE.address, pallet="System", name="remark", args={"remark": "0x"})
    problem = await api.submit(built, ALICE, 403, signature=f"0x{BOB.sign(b'x').hex()}")
    assert problem["code"] == "wrong_signature"
    assert api.chain.pool == []


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("nonce", "5", "payload.nonce"),
        ("method", "0x0000", "payload.method"),
        ("genesisHash", f"0x{'11' * 32}", "another chain"),
        ("specVersion", "0x00000001", "payload.specVersion"),
        ("era", "0x00", "payload.era"),
        ("era", "0xffff", "payload.era"),
        ("blockHash", "0x12", "payload.blockHash"),
        ("address", "5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty", "payload.address"),
        ("signedExtensions", [], "payload.signedExtensions"),
        ("version", 5, "payload.version"),
        ("mode", 1, "payload.metadataHash"),
        ("mode", 2, "payload.mode"),
        ("assetId", "0x01", "payload.assetId"),
        ("tip", None, "payload.tip"),
    ],
)
async def test_a_payload_that_was_not_built_here_is_refused_by_name(api, name, value, says):
    built = await api.build(ALICE.address, pallet="System", name="remark", args={"remark": "0x"})
    problem = await api.submit(built, ALICE, 400, payload=built["payload"] | {name: value})
    assert problem["code"] == "wrong_payload"
    assert says in problem["detail"]


@pytest.mark.parametrize(
    ("kind", "says"), [(SubmitRefusal.STALE_NONCE, "Build it again"), (SubmitRefusal.POOL_FULL, "in a minute")]
)
async def test_a_refusal_by_the_pool_has_the_reason_and_what_to_do(api, kind, says):
    built = await api.build(ALICE.address, pallet="System", name="remark", args={"remark": "0x"})
    api.chain.refusals.append(kind)
    problem = await api.submit(built, ALICE, 409)
    assert problem["code"] == f"refused_{kind}"
    assert says in problem["hint"]


async def test_a_submission_may_be_repeated(api):
    built = await api.build(BOB.address, pallet="System", name="remark", args={"remark": "0x"})
    first, again = await api.submit(built, BOB), await api.submit(built, BOB)  # the same bytes: ed25519
    assert first["hash"] == again["hash"]
    assert len(api.chain.pool) == 1


async def test_an_account_that_cannot_pay_is_told_before_it_signs(api):
    built = await api.build(POOR.address, pallet="System", name="remark", args={"remark": "0x"})
    assert [one["code"] for one in built["refusals"]] == ["cannot_pay"]


@pytest.mark.parametrize(
    ("call", "status", "says"),
    [
        ({"pallet": "Nothing", "name": "remark"}, 400, "no pallet Nothing"),
        ({"pallet": "System", "name": "nothing"}, 400, "no call nothing"),
        ({"pallet": "System", "name": "remark"}, 400, "args.remark"),
        ({"pallet": "System", "name": "remark", "args": {"remark": 7}}, 400, "args.remark"),
        ({"pallet": "System", "name": "remark", "args": {"remark": "0x1"}}, 400, "args.remark"),
        ({"pallet": "System", "name": "remark", "args": {"remark": "0x", "x": 1}}, 400, "args.x"),
        ({"pallet": "Balances", "name": "transfer_allow_death", "args": {"dest": "5F", "value": 1}}, 400, "dest"),
        (
            {"pallet": "Utility", "name": "batch", "args": {"calls": [{"System": {"remark": {"remark": 1}}}]}},
            400,
            "remark",
        ),
        ({"action": "task.nothing"}, 400, "call"),
        ({"action": "task.stop"}, 400, "call.task"),
        ({"action": "task.stop", "task": "x"}, 400, "call.task"),
        ({"action": "task.stop", "task": 99}, 409, "no task 99"),
        ({"action": "task.stop", "task": 99, "force": True}, 400, "call.force"),
        ({"action": "host.drain", "host": HOST}, 409, "no host"),
        (
            {"action": "transfer", "to": HOST, "amount": str(10**18)},
            409,
            "the transfer is of 1000000 GTY, and the account ",
        ),
        ({}, 400, "call"),
    ],
)
async def test_calls_that_cannot_be_built_are_refused_by_name(api, call, status, says):
    problem = await api.build(ALICE.address, status, **call)
    assert says in problem["detail"], problem
    assert problem["hint"]


async def test_an_action_is_the_call_that_the_command_line_sends(api):
    tasks = Tasks(api.chain)
    number = tasks.submit(ALICE.address, task_spec(kind=gen.TaskKind.SERVICE, pods_min=1, pods_max=4))
    tasks.change(number, state=gen.TaskStateRunning(), leases=(lease(HOST),))
    built = await api.build(ALICE.address, action="task.scale", task=number, pods=3)
    assert built["call_hex"] == f"0x{released_runtime().encode_call(gen.calls.tasks_scale(task=number, pods=3)).hex()}"
    stop = await api.build(ALICE.address, action="task.stop", task=number)
    assert stop["call_hex"] == f"0x{released_runtime().encode_call(gen.calls.tasks_end(task=number)).hex()}"
    assert (
        "1 to 4 pods, not 9"
        in (await api.build(ALICE.address, 409, action="task.scale", task=number, pods=9))["detail"]
    )
    problem = await api.build(BOB.address, 409, action="task.stop", task=number)
    assert problem["code"] == "not_yours"


async def test_every_call_of_the_runtime_is_described(api):
    found = (await api.ask("GET", "/v1/calls"))["data"]
    calls = {one["name"]: one for one in found if one["kind"] == "call"}
    runtime = released_runtime()
    assert set(calls) == {
        f"{pallet.name}.{call.name}"
        for pallet in runtime.metadata.pallets.values()
        for call in runtime.metadata.variants(pallet.calls)
    }
    assert calls["Tasks.submit"]["role"] == "tenant"
    assert calls["Tasks.submit"]["documentation"]
    assert calls["Hosts.drain"]["parameters"]["required"] == ["host"]
    actions = {one["name"] for one in found if one["kind"] == "action"}
    assert {"task.submit", "task.stop", "transfer", "host.drain", "host.claim"} <= actions
    only = (await api.ask("GET", "/v1/calls?pallet=Balances&kind=call"))["data"]
    assert {one["name"].partition(".")[0] for one in only} == {"Balances"}


async def test_a_balance_has_the_reasons_of_its_holds(api):
    api.chain.storage["Balances", "Holds"][ALICE.address,] = [{"id": {"Billing": "Escrow"}, "amount": GTY}]
    await api.chain.produce()
    found = (await api.ask("GET", f"/v1/accounts/{ALICE.address}/balance"))["data"]
    assert (found["free"], found["held"], found["nonce"]) == (str(1000 * GTY), str(GTY), 0)
    assert found["holds"] == [{"reason": "Billing.Escrow", "amount": str(GTY)}]
    assert (await api.ask("GET", f"/v1/accounts/{POOR.address}/balance"))["data"]["free"] == "0"


async def test_a_node_that_is_away_is_reported(api):
    api.chain.unreachable = True
    problem = await api.build(ALICE.address, 503, pallet="System", name="remark", args={"remark": "0x"})
    assert problem["code"] == "chain_unreachable"


async def test_bodies_of_other_types_are_refused(api):
    # A page of another origin can send this type without asking the server first.
    options = {"data": b"{}", "headers": {"Content-Type": "text/plain"}}
    async with api.session.post(f"{api.url}/v1/extrinsics/build", **options) as answer:
        assert (answer.status, (await answer.json(content_type=None))["code"]) == (415, "not_json")


async def test_requests_of_one_address_are_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(client_limits, "now_s", lambda: 100.0)
    body = {"account": ALICE.address, "call": {"pallet": "System", "name": "remark", "args": {"remark": "0x"}}}
    async with node_api(tmp_path, monkeypatch, writes_per_s=1.0) as api:
        statuses = []
        for _ in range(8):
            async with api.session.post(f"{api.url}/v1/extrinsics/build", json=body) as answer:
                statuses.append(answer.status)
        assert statuses[:4] == [200] * 4
        assert statuses[-2:] == [429] * 2
        # What was built may still be submitted.
        assert (await api.ask("POST", "/v1/extrinsics", 400, body={}))["code"] == "invalid_parameter"


async def test_requests_that_wait_for_the_node_are_bounded(api, monkeypatch):
    monkeypatch.setattr(chain_access, "MOST_WAITING", 0)
    problem = await api.build(ALICE.address, 503, pallet="System", name="remark", args={"remark": "0x"})
    assert problem["code"] == "busy"
