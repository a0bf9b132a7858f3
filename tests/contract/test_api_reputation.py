"""Reputation with its parts, and the check of receipts, which need a node."""

import pytest

from offchain.adapters.keys.signer import from_uri
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id
from offchain.schema.protocol.receipt import Bill, Countersignature, Receipt, SignedReceipt, Totals
from tests.support.api_rig import node_api
from tests.support.chain_records import Tasks, escrow, host_record, lease, task_spec, zeroed

HOST, TENANT, PROXY = from_uri("//Host", "ed25519"), from_uri("//Alice"), from_uri("//Bob")
OPENED_MS, STARTED_MS, RATE = 1_000, 2_000, 3_600
NOTHING = gen.Beta(0, 0)


@pytest.fixture
async def api(tmp_path, monkeypatch):
    async with node_api(tmp_path, monkeypatch) as client:
        await client.chain.produce()
        yield client


async def test_a_reputation_has_the_parts_of_each_role(api):
    storage = api.chain.storage
    completed = gen.Beta(8_000_000, 1_000_000)
    score = gen.HostScore(completed, *[NOTHING] * 4, gen.Sla(1_000, 900), settled_leases=7, updated_at=5_000)
    storage["Reputation", "HostScores"][HOST.address,] = score.encode()
    storage["Reputation", "ProviderFaults"][HOST.address,] = zeroed(gen.FaultRecord, weight=3, updated_at=4).encode()
    tenant = gen.TenantScore(gen.Beta(1_000_000, 0), NOTHING, updated_at=6_000)
    storage["Reputation", "TenantScores"][TENANT.address,] = tenant.encode()
    await api.chain.produce()
    found = (await api.ask("GET", f"/v1/reputation/{HOST.address}"))["data"]
    first, *others = found["host"]["parts"]
    assert first == {
        "name": "completed",
        "weight_percent": 30,
        "positive": 8_000_000,
        "negative": 1_000_000,
        "score_ppm": 9_000_000 * 10**6 // 11_000_000,
    }
    assert {one["score_ppm"] for one in others} == {500_000}
    assert sum(one["weight_percent"] for one in found["host"]["parts"]) == 100
    assert found["host"]["score_ppm"] == (30 * first["score_ppm"] + 70 * 500_000) // 100
    assert (found["host"]["promised_ms"], found["host"]["met_ms"], found["host"]["settled_leases"]) == (1_000, 900, 7)
    assert (found["provider"], found["tenant"]) == ({"weight_ppm": 3, "updated_ms": 4}, None)
    found = (await api.ask("GET", f"/v1/reputation/{TENANT.address}"))["data"]
    assert (found["tenant"]["score_ppm"], found["host"]) == ((2_000_000 * 10**6 // 3_000_000 + 500_000) // 2, None)


async def test_an_account_without_evidence_has_no_reputation(api):
    problem = await api.ask("GET", f"/v1/reputation/{PROXY.address}", 404)
    assert (problem["code"], PROXY.address in problem["detail"]) == ("not_found", True)
    assert (await api.ask("GET", "/v1/reputation/nobody", 400))["field"] == "account"


async def placed(api):
    """Return the number of a lease that runs."""
    tasks = Tasks(api.chain)
    number = tasks.submit(TENANT.address, task_spec())
    running = lease(
        HOST.address,
        state=gen.LeaseStateActive(),
        created_at=OPENED_MS,
        started_at=STARTED_MS,
        escrow=escrow(deposit=10**6, rate_per_hour=RATE, since=STARTED_MS),
    )
    tasks.change(number, leases=(running,))
    api.chain.storage["Hosts", "Hosts"][HOST.address,] = host_record(HOST.address).encode()
    await api.chain.produce(3)
    return lease_id(number, 0, 0)


async def signed(api, lease_number, *, signer=HOST, by_tenant=None, **changes):
    fields = {
        "genesis_hash": await api.chain.genesis_hash(),
        "task": lease_number >> 24,
        "lease": lease_number,
        "host": HOST.address,
        "tenant": TENANT.address,
        "seq": 1,
        "from_ms": OPENED_MS,
        "until_ms": STARTED_MS + 1_000,
        "totals": Totals(),
        "bill": Bill(
            rate_per_hour=RATE, unit=gen.BillingUnit.SECOND, accrued=0, since_ms=STARTED_MS, billed_ms=1_000, owed=1
        ),
        "reported": None,
        "final": False,
    }
    receipt = Receipt(**(fields | changes))
    counter = None
    if by_tenant is not None:
        counter = Countersignature(by_tenant.address, "sr25519", by_tenant.sign(receipt.tenant_payload))
    return SignedReceipt(receipt, signer.sign(receipt.host_payload), counter).plain()


async def test_a_receipt_that_agrees_with_the_chain_has_no_problems(api):
    number = await placed(api)
    receipt = await signed(api, number, by_tenant=PROXY)
    found = (await api.ask("POST", "/v1/receipts/check", body=receipt))["data"]
    assert found["problems"] == []
    assert (found["lease"], found["task"], found["host"]) == (str(number), number >> 24, HOST.address)
    assert (found["signed_by_host"], found["agreed_by"]) == (True, PROXY.address)
    assert (found["digest"], found["final"]) == (receipt["digest"], False)


async def test_what_is_wrong_with_a_receipt_is_named(api):
    number = await placed(api)
    forged = await signed(api, number, signer=from_uri("//Other", "ed25519"), tenant=PROXY.address)
    found = (await api.ask("POST", "/v1/receipts/check", body=forged))["data"]
    assert (found["signed_by_host"], found["agreed_by"]) == (False, None)
    assert found["problems"] == [f"It is for the tenant {PROXY.address}, not {TENANT.address}."]
    receipt = await signed(api, number)
    receipt["receipt"]["seq"] = 9
    problem = await api.ask("POST", "/v1/receipts/check", 400, body=receipt)
    assert (problem["field"], "another digest" in problem["detail"]) == ("receipt", True)
    problem = await api.ask("POST", "/v1/receipts/check", 400, body=receipt | {"extra": 1})
    assert problem["code"] == "invalid_parameter"


async def test_a_lease_without_a_record_has_nothing_to_compare(api):
    problem = await api.ask("POST", "/v1/receipts/check", 404, body=await signed(api, 99 << 24))
    assert problem["code"] == "not_found"
    assert str(99 << 24) in problem["detail"]
