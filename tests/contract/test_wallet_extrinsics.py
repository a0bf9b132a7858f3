"""Extrinsics of wallets at a node: the API builds them, a key outside signs, and a block executes them."""

import json
import os

import pytest
from chain_ports import RICH, node_url

from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.chain.extrinsic import payload as signed_bytes
from offchain.adapters.chain.wallet_extrinsics import terms_of
from offchain.adapters.keys.signer import from_uri
from offchain.devnet.paths import ROOT
from tests.support.api_rig import node_api
from tests.support.chain_records import GTY

RECEIVER = from_uri(f"//Wallet//{os.getpid()}", "ed25519")

pytestmark = pytest.mark.network


@pytest.fixture
async def api(tmp_path, monkeypatch):
    url, chains = node_url(), []

    def opened():
        chains.append(SubstrateChain(url, timeout=20))
        return chains[-1]

    async with node_api(tmp_path, monkeypatch, open_chain=opened) as client:
        client.chain = chains[0]
        yield client


async def included(chain, number, extrinsic_hash):
    """Return the inclusion of an extrinsic after a block, with the events that it caused."""
    async for head in chain.finalized():
        while number <= head.number:
            block = await chain.block(number)
            for one in block.inclusions:
                if f"0x{one.extrinsic_hash.hex()}" == extrinsic_hash:
                    return one, [event for event in block.events if event.extrinsic == one.index]
            number += 1
    raise AssertionError("the chain ended")


async def test_a_transfer_that_was_signed_outside_takes_effect_and_costs_what_was_estimated(api):
    built = await api.build(RICH.address, action="transfer", to=RECEIVER.address, amount=str(5 * GTY))
    assert built["refusals"] == []
    sent = await api.submit(built, RICH)
    inclusion, events = await included(api.chain, sent["as_of"]["number"], sent["hash"])
    assert inclusion.failure is None
    (fee,) = [event.fields["actual_fee"] for event in events if event.name == "TransactionFeePaid"]
    assert int(built["fee_estimate"]) == pytest.approx(fee, rel=0.05)
    balance = (await api.ask("GET", f"/v1/accounts/{RECEIVER.address}/balance"))["data"]
    assert balance["free"] == str(5 * GTY)
    # An account with the other kind of key pays from it.
    back = await api.build(RECEIVER.address, pallet="System", name="remark_with_event", args={"remark": "x" * 500})
    again = await api.submit(back, RECEIVER)
    inclusion, events = await included(api.chain, again["as_of"]["number"], again["hash"])
    assert inclusion.failure is None
    assert "Remarked" in {event.name for event in events}


async def test_the_pool_refuses_what_was_submitted_before(api):
    built = await api.build(RICH.address, pallet="System", name="remark", args={"remark": "0x01"})
    sent = await api.submit(built, RICH)
    await included(api.chain, sent["as_of"]["number"], sent["hash"])
    problem = await api.submit(built, RICH, 409)
    assert problem["code"] == "refused_stale_nonce"
    assert "Build it again" in problem["hint"]


async def test_a_device_signs_the_hash_of_the_metadata_as_well(api):
    released = json.loads((ROOT / "chain" / "release" / "MANIFEST.json").read_text(encoding="utf-8"))
    built = await api.build(RICH.address, pallet="System", name="remark", args={"remark": "0x02"})
    payload = built["payload"] | {"mode": 1, "metadataHash": f"0x{released['runtime']['metadata_hash']}"}
    runtime, call = await api.chain.runtime(), bytes.fromhex(built["call_hex"][2:])
    terms = terms_of(runtime, RICH.address, call, payload, await api.chain.genesis_hash())
    signature = RICH.sign(signed_bytes(runtime, call, terms))
    wrong = payload | {"metadataHash": f"0x{'11' * 32}"}
    assert (await api.submit(built, RICH, 403, payload=wrong, signature=f"0x{signature.hex()}"))["code"]
    sent = await api.submit(built, RICH, payload=payload, signature=f"0x{signature.hex()}")
    inclusion, _ = await included(api.chain, sent["as_of"]["number"], sent["hash"])
    assert inclusion.failure is None


async def test_a_manifest_is_checked_against_the_hosts_of_the_chain(api):
    manifest = f"""
services:
  one:
    image: tool@sha256:{"ab" * 32}
    deploy: {{resources: {{limits: {{cpus: "1", memory: 1GiB}}}}}}
x-gantry:
  price: {{max_per_hour: "2.5 GTY"}}
  duration: 1h
"""
    found = await api.ask("POST", "/v1/manifests/check", body={"manifest": manifest, "account": RICH.address})
    assert found["valid"]
    assert found["price"]["deposit"] == str(5 * GTY // 2)
    built = await api.build(RICH.address, action="task.submit", manifest=manifest)
    codes = {one["code"] for one in built["refusals"]}
    assert codes == {one["code"] for one in found["refusals"]}
    assert "job of 1 pod" in built["summary"]
