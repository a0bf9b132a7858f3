"""The state at a block, as a node has it and as its proof file has it."""

import asyncio
import os

import pytest
from chain_ports import RICH, node_url, remark

from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.chain.proof_chain import ProofChain
from offchain.adapters.chain.submit_once import submit_once
from offchain.adapters.keys.signer import from_uri
from offchain.core.proofs.proof_file import decode_proof
from offchain.gateway.api import state as state_api
from offchain.schema.chain_types._generated_chain import SPEC_NAME
from offchain.services import block_state
from offchain.services.audit_verifier import verify_file
from tests.support.api_rig import node_api
from tests.support.chain_records import GTY

NOBODY = from_uri(f"//StateApi//{os.getpid()}")
PATIENCE = 60.0

pytestmark = pytest.mark.network


@pytest.fixture
async def api(tmp_path, monkeypatch):
    url = node_url()
    async with node_api(
        tmp_path,
        monkeypatch,
        open_chain=lambda: SubstrateChain(url, timeout=20),
        open_proofs=lambda: ProofChain(url, timeout=20),
    ) as client:
        client.chain = SubstrateChain(url, timeout=20)
        yield client
        await client.chain.close()


async def proof_of(api, path):
    """Return the proof file at a path, verified with nothing but the genesis hash."""
    async with api.session.get(api.url + path) as answer:
        data = await answer.read()
        assert answer.status == 200, data
        assert answer.content_type == "application/octet-stream"
        assert answer.headers["Content-Disposition"].startswith('attachment; filename="')
    return await verify_file(data, await api.chain.genesis_hash()), data


async def test_the_values_of_an_account_at_a_block_are_those_that_the_proof_proves(api):
    _, block = await submit_once(api.chain, RICH, remark(b"state"), PATIENCE)
    before, at = block.ref.number - 1, block.ref.number
    nonces = []
    for number in (before, at):
        found = (await api.ask("GET", f"/v1/state?account={RICH.address}&block={number}"))["data"]
        assert found["block"]["number"] == number
        named = {f"{value['pallet']}.{value['item']}": value for value in found["values"]}
        assert set(named) == {
            "System.Account",
            "Balances.Holds",
            "Tasks.Schedulers",
            "Verification.Verifiers",
        }
        account = named["System.Account"]
        assert account["keys"] == [RICH.address]
        assert int(account["value"]["data"]["free"]) > GTY
        assert named["Verification.Verifiers"]["raw"] is None
        nonces.append(account["value"]["nonce"])
        result, data = await proof_of(api, found["proof"])
        assert f"0x{result.verified.header.state_root.hex()}" == found["state_root"]
        assert f"0x{result.verified.header.hash.hex()}" == found["block"]["hash"]
        assert str(result.facts.account.balance.free) == str(account["value"]["data"]["free"])
        assert result.facts.now_ms == found["block"]["time_ms"]
        assert bytes.fromhex(account["raw"][2:]) in data
    assert nonces[1] == nonces[0] + 1


async def test_any_storage_item_is_answered_and_proven_also_what_is_not_stored(api):
    keys = f'["{RICH.address}","{NOBODY.address}"]'
    found = (await api.ask("GET", "/v1/state", params={"pallet": "System", "item": "Account", "keys": keys}))["data"]
    stored = {value["keys"][0]: value for value in found["values"]}
    assert stored[NOBODY.address]["raw"] is None
    assert stored[NOBODY.address]["value"]["data"]["free"] == 0
    result, _ = await proof_of(api, found["proof"])
    proven = {value.keys[0]: value for value in result.facts.storage}
    assert f"0x{proven[RICH.address].raw.hex()}" == stored[RICH.address]["raw"]
    assert proven[NOBODY.address].raw is None

    found = (await api.ask("GET", "/v1/state?pallet=System&item=LastRuntimeUpgrade"))["data"]
    (value,) = found["values"]
    assert value["value"]["spec_name"] == SPEC_NAME
    result, _ = await proof_of(api, found["proof"])
    assert result.facts.storage[0].raw.hex() == value["raw"][2:]


async def test_a_task_a_lease_and_a_host_that_are_not_there_are_proven_absent(api):
    for choice in ("task=123456789", f"lease={123456789 << 24}", f"host={NOBODY.address}"):
        found = (await api.ask("GET", f"/v1/state?{choice}"))["data"]
        assert {value["raw"] for value in found["values"] if value["item"] in ("Tasks", "Hosts")} <= {None}
        assert found["values"]
        await proof_of(api, found["proof"])


async def test_a_block_has_a_hash_too(api):
    head = await api.chain.finalized_head()
    by_hash = await api.ask("GET", f"/v1/state?account={RICH.address}&block=0x{head.hash.hex()}")
    assert by_hash["data"]["block"]["number"] == head.number
    for block in ("0x" + "12" * 32, "9" * 18, head.number + 10_000):
        problem = await api.ask("GET", f"/v1/state?account={RICH.address}&block={block}", 404)
        assert problem["code"] == "not_found"
        assert "final" in problem["detail"] + problem["hint"]
        assert (await api.ask("GET", f"/v1/state/proof?account={RICH.address}&block={block}", 404)) == problem


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"task": "7", "account": RICH.address},
        {"pallet": "System"},
        {"item": "Account"},
        {"task": "7", "keys": "[]"},
        {"pallet": "System", "item": "Account"},
        {"pallet": "System", "item": "Account", "keys": "[]"},
        {"pallet": "System", "item": "Account", "keys": "{"},
        {"pallet": "System", "item": "Account", "keys": "[" * 2_000},
        {"pallet": "System", "item": "Account", "keys": "[[]]"},
        {"pallet": "System", "item": "Account", "keys": '["5Grw"]'},
        {"pallet": "System", "item": "Account", "keys": "[null]"},
        {"pallet": "System", "item": "BlockHash", "keys": "[4294967296]"},
        {"pallet": "System", "item": "BlockHash", "keys": "[-1]"},
        {"pallet": "System", "item": "BlockHash", "keys": "[1e400]"},
        {"pallet": "System", "item": "BlockHash", "keys": str(list(range(33)))},
        {"pallet": "System", "item": "Number", "keys": "[1]"},
        {"pallet": "Nothing", "item": "Account"},
        {"pallet": "System", "item": "Nothing"},
        {"pallet": "Sy.stem", "item": "Account"},
        {"lease": str(1 << 96)},
        {"task": "-1"},
        {"account": "x"},
        {"block": "latest", "task": "7"},
    ],
)
async def test_a_choice_that_names_no_values_is_refused_with_a_reason(api, query):
    for path in ("/v1/state", "/v1/state/proof"):
        problem = await api.ask("GET", path, 400, params=query)
        assert problem["code"] in ("invalid_parameter", "bad_value")
        assert problem["hint"]


async def test_large_values_are_refused(api, monkeypatch):
    monkeypatch.setattr(block_state, "MOST_STATE_BYTES", 10)
    problem = await api.ask("GET", f"/v1/state?account={RICH.address}", 413)
    assert "at most 10" in problem["detail"]
    monkeypatch.setattr(state_api, "MOST_PROOF_BYTES", 1_000)
    problem = await api.ask("GET", f"/v1/state/proof?account={RICH.address}", 413)
    assert "--checkpoint" in problem["hint"]


async def test_proofs_at_the_same_time_do_not_mix(api):
    queries = (f"account={RICH.address}", "task=123456789", f"host={NOBODY.address}")
    found = await asyncio.gather(*(proof_of(api, f"/v1/state/proof?{query}") for query in queries))
    assert [decode_proof(data).subject.kind.name for _, data in found] == ["ACCOUNT", "TASK", "HOST"]
    states = await asyncio.gather(*(api.ask("GET", f"/v1/state?{query}") for query in queries))
    assert [len(state["data"]["values"]) for state in states] == [4, 1, 3]


async def test_a_gateway_without_a_node_has_no_states(tmp_path, monkeypatch):
    async with node_api(tmp_path, monkeypatch) as client:
        for path in ("/v1/state?task=7", "/v1/state/proof?task=7"):
            assert (await client.ask("GET", path, 404))["code"] == "no_node"
