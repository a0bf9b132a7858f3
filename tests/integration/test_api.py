"""The HTTP API of the network's gateway: a task's story is the one that the chain tells."""

import asyncio
import json
from typing import Any

import aiohttp

from offchain.adapters.keys.signer import from_uri
from offchain.core.conservation import Reason
from offchain.services.audit import hold_reason
from tests.support.local_network import PATIENCE, Net, Pods


async def answer(net: Net, session: aiohttp.ClientSession, path: str) -> Any:
    """Return the answer once the index has the present final block."""
    head = await net.chain.finalized_head()
    url = (net.state / "gateway" / "api-url").read_text(encoding="utf-8").strip()

    async def look() -> Any:
        async with session.get(url + path) as got:
            found = await got.json(content_type=None)
            return found if got.status == 200 and found["as_of"]["number"] >= head.number else None

    return await net.each_block(look, f"an answer to {path} of block {head.number}")


async def assert_escrows_agree(net: Net, account: str) -> list[Any]:
    """Assert that the API's escrows of an account add up to what the chain has on hold for leases; return them."""
    async with aiohttp.ClientSession() as session:
        found = await answer(net, session, f"/v1/accounts/{account}/escrows?limit=500")
    block = bytes.fromhex(found["as_of"]["hash"][2:])
    holds = await net.chain.query("Balances", "Holds", [account], at=block) or []
    on_hold = sum(hold["amount"] for hold in holds if hold_reason(hold["id"]) is Reason.ESCROW)
    assert (sum(int(one["held"]) for one in found["data"]), found["next"]) == (on_hold, None), found["data"]
    return list(found["data"])


async def test_a_settled_task_is_told_as_on_the_chain(net: Net, settled: int) -> None:
    (lease,) = await net.leases(settled)
    await net.story(settled)
    async with aiohttp.ClientSession() as session:
        task = (await answer(net, session, f"/v1/tasks/{settled}"))["data"]
        bills = (await answer(net, session, f"/v1/tasks/{settled}/bills"))["data"]
        events = (await answer(net, session, f"/v1/events?subject={settled}&order=oldest"))["data"]
        host = (await answer(net, session, f"/v1/hosts/{lease.host}"))["data"]
        network = (await answer(net, session, "/v1/network"))["data"]
    assert (task["state"], task["tenant"]) == ("Settled", (await net.task(settled)).record.tenant)
    assert [bill["paid"] for bill in bills if bill["paid"] != "0"] == [str(lease.escrow.paid)]
    assert events[0]["name"] == "Submitted"
    assert "Settled" in {event["name"] for event in events}
    assert int(host["earned"]) > 0
    assert network["genesis_hash"] == f"0x{net.genesis.hex()}"


async def test_the_stream_tells_of_a_task_while_it_runs(net: Net) -> None:
    url = (net.state / "gateway" / "api-url").read_text(encoding="utf-8").strip()
    path = f"{url}/v1/events/stream?pallet=Tasks"
    async with asyncio.timeout(PATIENCE), aiohttp.ClientSession() as session, session.get(path) as stream:
        assert await stream.content.readline() == b": connected\n"
        task = await net.submit(steps=1)
        seen = set()
        async for line in stream.content:
            if line.startswith(b"data: "):
                event = json.loads(line[6:])
                if event["fields"].get("task") == task:
                    seen.add(event["name"])
            if "Settled" in seen:
                break
    assert {"Assigned", "PodStarted", "PodReported", "Settled"} <= seen


async def test_offers_are_the_hosts_of_the_chain(net: Net) -> None:
    async with aiohttp.ClientSession() as session:
        found = await answer(net, session, "/v1/offers?status=any&limit=500")
        market = (await answer(net, session, "/v1/market"))["data"]
    block = bytes.fromhex(found["as_of"]["hash"][2:])
    records = dict(await net.chain.query_map("Hosts", "Hosts", at=block))
    offered: dict[str, int] = {}
    for one in found["data"]:
        record = records[one["host"]]
        assert one["free"] == record["free"], one
        assert int(one["bond"]) == record["bond"]
        offered[one["host"]] = offered.get(one["host"], 0) + one["gpus"]
    assert offered == {host: len(record["devices"]) for host, record in records.items()}
    assert market


async def test_escrows_are_what_the_chain_has_on_hold_for_leases(net: Net, pods: Pods) -> None:
    task = await net.submit_until_signal()
    await net.until(task, {"Running"})
    found = await net.task(task)
    (lease,), tenant = found.leases, found.record.tenant

    async def held() -> list[Any]:
        return [one for one in await assert_escrows_agree(net, tenant) if one["task"] == task]

    async def active() -> Any:
        return [one for one in await held() if one["state"] == "Active"]

    (running,) = await net.each_block(active, f"an active lease of task {task} in the index")
    assert (running["lease"], running["held"]) == (str(lease.id), str(lease.record.escrow.deposit))
    await net.end_pod(task, pods)
    await net.until(task, {"Settled"})
    await net.story(task)
    assert await held() == []


async def test_running_totals_are_the_balances_of_the_chain(net: Net, settled: int) -> None:
    (lease,) = await net.leases(settled)
    tenant = (await net.task(settled)).record.tenant
    async with aiohttp.ClientSession() as session:
        provider = (await answer(net, session, f"/v1/hosts/{lease.host}"))["data"]["provider"]
        for account in (tenant, provider, await net.chain.constant("Billing", "TreasuryAccount")):
            found = await answer(net, session, f"/v1/accounts/{account}/movements?limit=1")
            block = bytes.fromhex(found["as_of"]["hash"][2:])
            has = (await net.chain.query("System", "Account", [account], at=block))["data"]
            (last,) = found["data"]
            assert (int(last["free_total"]), int(last["held_total"])) == (has["free"], has["reserved"]), account


async def test_an_extrinsic_is_found_by_its_hash_with_call_and_signer(net: Net, settled: int) -> None:
    async with aiohttp.ClientSession() as session:
        task = (await answer(net, session, f"/v1/tasks/{settled}"))["data"]
        number = task["submitted_block"]
        listed = (await answer(net, session, f"/v1/blocks/{number}/extrinsics?order=oldest"))["data"]
        (submitted,) = [one for one in listed if (one["call"] or "").startswith("Tasks.submit")]
        matches = (await answer(net, session, f"/v1/search?q={submitted['hash']}"))["data"]
        place = f"first_block={number}&last_block={number}&extrinsic={submitted['index']}"
        events = (await answer(net, session, f"/v1/events?{place}&documented=true"))["data"]
    assert submitted["signer"] == task["tenant"]
    assert [(one["kind"], one["id"]) for one in matches] == [("extrinsic", submitted["hash"])]
    assert {"Submitted", "ExtrinsicSuccess"} <= {one["name"] for one in events}
    assert all(one["documentation"] for one in events)


async def test_a_task_is_submitted_through_the_api_and_found_in_the_index(net: Net) -> None:
    charlie = from_uri("//Charlie")
    async with aiohttp.ClientSession() as session:
        url = (net.state / "gateway" / "api-url").read_text(encoding="utf-8").strip()
        network = (await answer(net, session, "/v1/network"))["data"]
        assert (network["development"], network["sign_in"], network["signing"]) == (True, True, True)

        async def post(path: str, body: dict[str, Any], status: int = 200) -> Any:
            async with session.post(url + path, json=body) as got:
                found = await got.json(content_type=None)
                assert got.status == status, found
                return found

        async with session.get(f"{url}/v1/templates") as got:
            (template,) = [one for one in (await got.json())["data"] if one["name"] == "primes"]
        variables = {one["name"]: one["value"] for one in template["variables"] if one["value"] is not None}
        call = {"action": "task.submit", "manifest": template["manifest"], "variables": variables}
        checked = await post(
            "/v1/manifests/check",
            {"manifest": template["manifest"], "variables": variables, "account": charlie.address},
        )
        assert (checked["valid"], checked["refusals"]) == (True, [])
        built = await post("/v1/extrinsics/build", {"account": charlie.address, "call": call})
        assert built["refusals"] == []
        signature = charlie.sign(bytes.fromhex(built["signing_payload_hex"][2:]))
        body = {name: built[name] for name in ("call_hex", "payload")}
        body |= {"account": charlie.address, "signature": f"0x01{signature.hex()}"}
        sent = await post("/v1/extrinsics", body, 202)

        async def indexed() -> Any:
            async with session.get(url + sent["status_url"]) as got:
                assert got.status in (200, 404)
                return (await got.json(content_type=None)).get("data")

        (extrinsic,) = await net.each_block(indexed, "the extrinsic in the index")
        assert (extrinsic["success"], extrinsic["signer"]) == (True, charlie.address)
        place = f"first_block={extrinsic['block']}&last_block={extrinsic['block']}&extrinsic={extrinsic['index']}"
        events = (await answer(net, session, f"/v1/events?{place}"))["data"]
        (number,) = [int(one["fields"]["first"]) for one in events if one["name"] == "Submitted"]
        await net.until(number, {"Settled"})
        balance = (await answer(net, session, f"/v1/accounts/{charlie.address}/balance"))["data"]
        assert int(balance["nonce"]) > 0


async def test_a_development_account_signs_in_to_the_local_network(net: Net) -> None:
    charlie = from_uri("//Charlie")
    url = (net.state / "gateway" / "api-url").read_text(encoding="utf-8").strip()
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{url}/v1/sign-in/message", json={"account": charlie.address}) as got:
            text = (await got.json())["data"]["message"]
        assert text.startswith(url.removeprefix("http://"))
        body = {"message": text, "signature": f"0x{charlie.sign(f'<Bytes>{text}</Bytes>'.encode()).hex()}"}
        async with session.post(f"{url}/v1/sign-in", json=body) as got:
            token = (await got.json())["data"]["token"]
        async with session.get(f"{url}/v1/session", headers={"Authorization": f"Bearer {token}"}) as got:
            assert (await got.json())["data"]["account"] == charlie.address
