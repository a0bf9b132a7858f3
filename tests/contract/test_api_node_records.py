"""Billing terms and arguments of calls, which a node has and the index has not."""

import pytest

from offchain.adapters.chain.extrinsic import read_call, read_head
from offchain.adapters.keys.signer import from_uri
from offchain.errors import BadReply
from offchain.gateway.api import client_limits, node_records
from offchain.ports import Call
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id
from offchain.schema.chain_types.values import compact
from tests.support.api_rig import node_api
from tests.support.chain_records import GTY, Tasks, escrow, host_record, lease, task_spec, zeroed
from tests.support.signing_chain import released_runtime

ALICE, HOST = from_uri("//Alice"), from_uri("//Host", "ed25519").address
MIN_CHARGE_MS = 60_000


@pytest.fixture
async def api(tmp_path, monkeypatch):
    async with node_api(tmp_path, monkeypatch) as client:
        client.chain.storage["System", "Account"][ALICE.address,] = {"data": {"free": 1000 * GTY, "reserved": 0}}
        client.chain.constants["Balances", "ExistentialDeposit"] = 10**9
        params = zeroed(gen.TasksParams, min_charge_ms=MIN_CHARGE_MS)
        client.chain.storage["Tasks", "Params"][()] = params.encode()
        await client.chain.produce()
        yield client


async def executed(api, name="remark", **args):
    """The block of a call that Alice has signed."""
    built = await api.build(ALICE.address, pallet="System", name=name, args=args)
    await api.submit(built, ALICE)
    return (await api.chain.produce()).ref.number


async def test_the_terms_of_a_task_are_those_of_its_record(api):
    tasks = Tasks(api.chain)
    number = tasks.submit(ALICE.address, task_spec(kind=gen.TaskKind.RENTAL, unit=gen.BillingUnit.HOUR))
    running = escrow(since=5_000, until=9_000_000, accrued=2**60, downtime_mark=1_000, unit=gen.BillingUnit.HOUR)
    tasks.change(number, leases=(lease(HOST, escrow=running, reclaim_at=7_000),))
    api.chain.storage["Hosts", "Hosts"][HOST,] = host_record(HOST, downtime_ms=1_500).encode()
    await api.chain.produce()
    found = (await api.ask("GET", f"/v1/tasks/{number}/terms"))["data"]
    assert found == {
        "task": number,
        "unit": "hour",
        "min_charge_ms": MIN_CHARGE_MS,
        "leases": [
            {
                "lease": str(lease_id(number, 0, 0)),
                "accrued": str(2**60),
                "since_ms": 5_000,
                "until_ms": 9_000_000,
                "reclaim_ms": 7_000,
                "downtime_ms": 500,
            }
        ],
    }


async def test_a_task_without_a_record_has_no_terms(api):
    problem = await api.ask("GET", "/v1/tasks/99/terms", 404)
    assert problem["code"] == "not_found"
    assert "pruned" in problem["hint"]


async def test_the_arguments_of_an_extrinsic_come_from_its_block(api):
    number = await executed(api, remark="0x0102")
    found = (await api.ask("GET", f"/v1/blocks/{number}/extrinsics/0/call"))["data"]
    inclusion = (await api.chain.block(number)).inclusions[0]
    assert found == {
        "block": number,
        "index": 0,
        "hash": f"0x{inclusion.extrinsic_hash.hex()}",
        "call": "System.remark",
        "signer": ALICE.address,
        "args": {"remark": "0x0102"},
        "runtime_known": True,
    }


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v1/blocks/1/extrinsics/0/call", 404, "not_found"),
        ("/v1/blocks/999/extrinsics/0/call", 404, "not_found"),
        ("/v1/blocks/x/extrinsics/0/call", 400, "invalid_parameter"),
        ("/v1/blocks/1/extrinsics/-1/call", 400, "invalid_parameter"),
        ("/v1/tasks/x/terms", 400, "invalid_parameter"),
    ],
)
async def test_what_is_not_there_is_named(api, path, status, code):
    assert (await api.ask("GET", path, status))["code"] == code


async def test_a_long_extrinsic_is_not_decoded(api, monkeypatch):
    monkeypatch.setattr(node_records, "MOST_EXTRINSIC_BYTES", 150)
    number = await executed(api, remark="0x" + "00" * 300)
    problem = await api.ask("GET", f"/v1/blocks/{number}/extrinsics/0/call", 413)
    assert problem["code"] == "too_large"
    assert "150" in problem["detail"]


async def test_blocks_are_read_for_an_address_a_few_times_a_second_only(tmp_path, monkeypatch):
    monkeypatch.setattr(client_limits, "now_s", lambda: 100.0)
    async with node_api(tmp_path, monkeypatch, writes_per_s=1.0) as api:
        statuses = []
        for _ in range(8):
            async with api.session.get(f"{api.url}/v1/blocks/1/extrinsics/0/call") as answer:
                statuses.append(answer.status)
        assert statuses[:4] == [404] * 4
        assert statuses[-2:] == [429] * 2
        await api.ask("GET", "/v1/tasks/1/terms", 404)


def batch_within_batches(depth):
    call = Call("System", "remark", {"remark": b"x"})
    for _ in range(depth):
        call = Call("Utility", "batch", {"calls": [{call.pallet: {call.function: dict(call.args)}}]})
    return call


def bare(call):
    """An unsigned extrinsic of format 4."""
    body = b"\4" + released_runtime().encode_call(call)
    return compact(len(body)) + body


def test_calls_within_calls_are_decoded():
    call = batch_within_batches(4)
    assert read_call(released_runtime(), bare(call)) == (None, call)


@pytest.mark.parametrize("change", [lambda raw: raw[:-1], lambda raw: raw + b"\0", lambda raw: raw[:2], lambda _: b""])
def test_bytes_that_are_no_extrinsic_of_the_runtime_are_refused(change):
    raw = change(bare(batch_within_batches(2)))
    with pytest.raises(BadReply, match="cannot be decoded"):
        read_call(released_runtime(), raw)
    read_head(released_runtime(), raw)
