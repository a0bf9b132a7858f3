"""Search, blocks by hash, extrinsics with calls and signers, and documentation, on SQLite and PostgreSQL."""

import re
from dataclasses import replace

import pytest
from sqlalchemy import event

from offchain.adapters.keys import ss58
from offchain.gateway.api import parameters as ask
from offchain.gateway.api.search import MOST_OF_KIND, search
from offchain.indexer.rows import EventRow, ExtrinsicRow, LeaseRow, TaskRow
from offchain.ports import ItemDocumentation
from tests.support.history_api import history_api
from tests.support.history_blocks import HOSTS, TENANTS

DOCS = [
    ItemDocumentation("Tasks", "event", "Settled", "A task was settled.", {"task": "The task."}),
    ItemDocumentation("Tasks", "call", "settle", "Settle a task.", {}),
    ItemDocumentation("Hosts", "event", "Registered", "A provider registered a host.", {}),
]


@pytest.fixture
async def api(address):
    async with history_api(address, 25, DOCS, requests_per_s=1000) as client:
        yield client


async def found(api, text):
    """Return the matches of a search as (kind, id)."""
    answer = await api.get("/v1/search", params={"q": text})
    assert answer["as_of"]["number"] == 24
    for match in answer["data"]:
        await api.get(match["path"])
    return [(match["kind"], match["id"]) for match in answer["data"]]


async def test_numbers_name_blocks_tasks_and_leases(api):
    assert await found(api, "7") == [("block", "7"), ("task", "7")]
    lease = api.db.rows(LeaseRow, limit=3)[-1].lease
    assert await found(api, str(lease)) == [("lease", str(lease))]
    assert await found(api, "999999999") == []


async def test_hashes_name_blocks_extrinsics_manifests_and_results(api):
    block = (await api.get("/v1/blocks/7"))["data"]
    assert await found(api, block["hash"]) == [("block", "7")]
    assert await found(api, block["hash"][2:].upper()) == [("block", "7")]
    extrinsic = api.db.rows(ExtrinsicRow, limit=5)[-1].hash
    assert await found(api, extrinsic) == [("extrinsic", extrinsic)]
    task = api.db.rows(TaskRow, limit=1)[0]
    assert ("task", str(task.task)) in await found(api, f"sha256:{task.manifest_digest[2:]}")
    lease = next(row for row in api.db.rows(LeaseRow) if row.result_digest)
    assert ("lease", str(lease.lease)) in await found(api, lease.result_digest)
    assert await found(api, "0x" + "00" * 32) == []


async def test_addresses_and_public_keys_name_hosts_and_accounts(api):
    host = next(name for name in HOSTS if name in {row.host for row in api.db.rows(LeaseRow)})
    assert await found(api, host) == [("host", host), ("account", host)]
    assert await found(api, f"0x{ss58.decode(host).hex()}") == [("host", host), ("account", host)]
    assert await found(api, f" {TENANTS[0]} ") == [("account", TENANTS[0])]
    assert await found(api, ss58.encode(bytes(32))) == []


async def test_places_name_events_and_extrinsics(api):
    (extrinsic,) = [row for row in api.db.rows(ExtrinsicRow) if (row.block, row.place) == (7, 1)]
    assert await found(api, "7.1") == [("extrinsic", extrinsic.hash), ("event", "7.1")]
    assert await found(api, "7-1") == await found(api, "7.1")


@pytest.mark.parametrize("text", ["hello", "0x12", "-1", "7,3", "1" * 19, "'; DROP TABLE blocks", "5" * 80])
async def test_other_texts_are_refused_with_what_can_be_searched(api, text):
    problem = await api.get("/v1/search", 400, params={"q": text})
    assert (problem["code"], problem["field"]) == ("invalid_parameter", "q")
    assert problem["hint"]


async def test_a_search_makes_a_fixed_number_of_look_ups(api):
    """Whatever is searched: one statement a table, and never more rows than are shown."""
    statements = []
    event.listen(api.db._engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    for text in ("7", "7.1", "ab" * 32, HOSTS[0]):
        statements.clear()
        with api.db.snapshot():
            search(api.db, ask.SearchText(q=text))
        selects = [one for one in statements if one.startswith("SELECT")]
        assert len(selects) <= 11, selects
        assert all(
            "WHERE" in one and "LIMIT" in one
            for one in selects
            if "meta" not in one and "blocks.number DESC" not in one
        )


async def test_many_tasks_of_one_manifest_are_cut_and_listed_by_the_filter(api):
    rows = api.db.rows(TaskRow)
    digest = max({row.manifest_digest for row in rows}, key=lambda one: sum(row.manifest_digest == one for row in rows))
    tasks = [row.task for row in rows if row.manifest_digest == digest]
    more = [replace(rows[0], task=10**6 + number, manifest_digest=digest) for number in range(MOST_OF_KIND + 5)]
    api.db.upsert(TaskRow, more)
    matches = [int(id_) for kind, id_ in await found(api, digest) if kind == "task"]
    assert len(matches) == MOST_OF_KIND
    assert matches == sorted(matches, reverse=True)
    listed = await api.all(f"/v1/tasks?digest={digest}&limit=7")
    assert len(listed) == MOST_OF_KIND + 5 + len(tasks)


async def test_a_block_is_found_by_number_or_hash(api):
    block = (await api.get("/v1/blocks/7"))["data"]
    assert (await api.get(f"/v1/blocks/{block['hash']}"))["data"] == block
    assert await api.all(f"/v1/blocks/{block['hash']}/extrinsics") == await api.all("/v1/blocks/7/extrinsics")
    for path in (f"/v1/blocks/0x{'00' * 32}", "/v1/blocks/99/extrinsics"):
        assert (await api.get(path, 404))["code"] == "not_found"


async def test_extrinsics_have_call_signer_and_success(api):
    first, second, third = await api.all("/v1/blocks/7/extrinsics?order=oldest")
    assert (first["call"], first["signer"], first["success"]) == ("Timestamp.set", None, True)
    assert (second["call"], second["signer"], second["refused_items"]) == ("Tasks.assign_batch", TENANTS[7], 1)
    assert (third["call"], third["success"], third["error"]) == ("Tasks.cancel", False, "Tasks.NoSuchTask")


async def test_events_of_an_extrinsic_with_their_documentation(api):
    events = await api.all("/v1/events?first_block=7&last_block=7&extrinsic=2")
    assert [one["name"] for one in events] == ["ExtrinsicFailed"]
    assert events[0]["documentation"] is None
    rows = [row for row in api.db.rows(EventRow) if row.name == "Settled"]
    block = rows[0].block
    documented = await api.all(f"/v1/events?first_block={block}&last_block={block}&documented=true&limit=500")
    texts = {one["name"]: one["documentation"] for one in documented}
    assert texts["Settled"] == "A task was settled."
    assert texts["ItemRefused"] is None
    problem = await api.get("/v1/events?extrinsic=2&first_block=7", 400)
    assert re.search("extrinsic needs its block", problem["detail"])


async def test_the_documentation_is_that_of_the_last_start(api):
    listed = await api.all("/v1/documentation?limit=2")
    assert [(one["pallet"], one["kind"], one["name"]) for one in listed] == [
        ("Hosts", "event", "Registered"),
        ("Tasks", "call", "settle"),
        ("Tasks", "event", "Settled"),
    ]
    assert listed[2]["fields"] == {"task": "The task."}
    assert len(await api.all("/v1/documentation?pallet=Tasks&kind=call")) == 1
    api.index.document(DOCS[:1])
    assert len(await api.all("/v1/documentation")) == 1
