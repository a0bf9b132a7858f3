"""The HTTP API on SQLite and PostgreSQL: its answers are what the index holds, its errors name the cause."""

import json
import re
from collections import Counter

import aiohttp
import pytest
from sqlalchemy import func, select

from offchain.gateway.api import actions, client_limits, endpoints, history
from offchain.gateway.api import parameters as ask
from offchain.gateway.api.server import REFERENCE_PATH, ApiServer, ApiSettings
from offchain.indexer import queries
from offchain.indexer.database import ReadTooLong
from offchain.indexer.queries import open_for_reading
from offchain.indexer.rows import EventRow, HostRow, LeaseRow, TaskRow, TransferRow
from offchain.indexer.tables import TABLES
from tests.support.api_client import Api, received
from tests.support.history_blocks import GENESIS, TENANTS, History
from tests.support.index_rig import opened

BLOCKS = 25


@pytest.fixture
async def api(address):
    db, index = opened(address)
    made = History(5)
    index.add(list(made.blocks(BLOCKS)))
    settings = ApiSettings(host="127.0.0.1", port=0, index=address, requests_per_s=1000, streams=4)
    server = ApiServer(settings)
    async with server.listening() as url, aiohttp.ClientSession() as session:
        yield Api(url, session, index, made, server)
    db.close()


async def test_pages_hold_each_row_once_in_the_order_of_the_chain(api, address):
    db = open_for_reading(address)
    tasks = await api.all("/v1/tasks?limit=7")
    assert [one["task"] for one in tasks] == [row.task for row in reversed(db.rows(TaskRow))]
    assert [one["paid"] for one in tasks] == [str(row.paid) for row in reversed(db.rows(TaskRow))]
    leases = await api.all("/v1/leases?limit=9&order=oldest")
    assert [one["lease"] for one in leases] == [str(row.lease) for row in db.rows(LeaseRow)]
    hosts = await api.all("/v1/hosts?limit=3")
    assert [one["host"] for one in hosts] == [row.host for row in db.rows(HostRow)]
    events = await api.all("/v1/events?limit=500&order=oldest")
    rows = db.rows(EventRow)
    assert [(one["block"], one["index"], one["pallet"], one["name"]) for one in events] == [
        (row.block, row.place, row.pallet, row.name) for row in rows
    ]
    assert [one["time_ms"] for one in events] == [row.block * 2000 for row in rows]
    db.close()


async def test_rows_that_come_meanwhile_shift_no_page(api):
    first = await api.get("/v1/tasks?limit=5")
    api.grow(5)
    second = await api.get(f"/v1/tasks?limit=5&after={first['next']}")
    numbers = [one["task"] for one in first["data"] + second["data"]]
    assert numbers == list(range(numbers[0], numbers[0] - 10, -1))
    assert second["as_of"]["number"] == first["as_of"]["number"] + 5


async def test_filters_select_what_they_name(api, address):
    db = open_for_reading(address)
    for tenant in TENANTS[:3]:
        mine = await api.all(f"/v1/tasks?tenant={tenant}&limit=3")
        assert {one["task"] for one in mine} == {row.task for row in db.rows(TaskRow) if row.tenant == tenant}
        leases = await api.all(f"/v1/leases?tenant={tenant}&limit=2")
        numbers = {one["task"] for one in mine}
        assert [one["lease"] for one in leases] == [
            str(row.lease) for row in reversed(db.rows(LeaseRow)) if row.task in numbers
        ]
        task = next((one["task"] for one in leases), 0)
        of_task = await api.all(f"/v1/leases?tenant={tenant}&task={task}&order=oldest&limit=1")
        assert {one["task"] for one in of_task} <= {task}
    settled = await api.all("/v1/tasks?state=Settled&limit=50")
    assert settled
    assert {one["state"] for one in settled} == {"Settled"}
    task = settled[0]["task"]
    bills = await api.all(f"/v1/tasks/{task}/bills?limit=1")
    assert sum(int(bill["paid"]) for bill in bills) == int(settled[0]["paid"])
    about = await api.all(f"/v1/events?subject={task}&limit=2&order=oldest")
    assert about[0]["name"] == "Submitted"
    assert [one["id"] for one in about] == [
        f"{one.event.block}.{one.event.place}" for one in queries.mentions(db, str(task), 1000)
    ]
    named = await api.all("/v1/events?pallet=Tasks&name=Settled&first_block=3&last_block=20&limit=500")
    assert named
    assert {(one["pallet"], one["name"]) for one in named} == {("Tasks", "Settled")}
    assert {3 <= one["block"] <= 20 for one in named} == {True}
    db.close()


async def test_tasks_are_counted_by_state_up_to_a_limit(api, address, monkeypatch):
    db = open_for_reading(address)
    states = Counter(row.state for row in db.rows(TaskRow))
    counts = (await api.get("/v1/tasks/counts"))["data"]
    assert {one["state"]: one["tasks"] for one in counts} == states
    assert not any(one["more"] for one in counts)
    monkeypatch.setattr(history, "MOST_COUNTED", 2)
    counts = (await api.get("/v1/tasks/counts"))["data"]
    assert {one["state"]: (one["tasks"], one["more"]) for one in counts} == {
        state: (min(number, 2), number > 2) for state, number in states.items()
    }
    db.close()


async def test_numbers_of_leases_are_text_everywhere(api):
    lease = (await api.get("/v1/leases?limit=1"))["data"][0]
    assert isinstance(lease["lease"], str)
    for name, numbers in (
        ("Assigned", lambda fields: [lease for lease, *_ in fields["leases"]]),
        ("PodStarted", lambda fields: [fields["lease"]]),
        ("Settled", lambda fields: [bill["lease"] for bill in fields["bills"]]),
    ):
        events = await api.all(f"/v1/events?pallet=Tasks&name={name}&limit=500")
        found = [number for event in events for number in numbers(event["fields"])]
        assert found
        assert all(isinstance(number, str) and number.isdecimal() for number in found)
    bills = await api.all(f"/v1/leases/{lease['lease']}/bills")
    assert all(bill["lease"] == lease["lease"] for bill in bills)


async def test_every_movement_of_an_accounts_coins_is_on_one_page(api, address):
    db = open_for_reading(address)
    for account in TENANTS[:4]:
        found = await api.all(f"/v1/accounts/{account}/transfers?limit=4&order=oldest")
        mine = [row for row in db.rows(TransferRow) if account in (row.sender, row.receiver)]
        assert [(one["block"], one["index"], one["amount"]) for one in found] == [
            (row.block, row.place, str(row.amount)) for row in mine
        ]
    db.close()


async def test_single_resources_and_the_network(api):
    network = await api.get("/v1/network")
    off = {"development": False, "sign_in": False, "signing": False, "relay": None}
    assert network["data"] == {"genesis_hash": f"0x{GENESIS.hex()}", "events_from_block": 0} | off
    assert network["as_of"]["number"] == BLOCKS - 1
    block = (await api.get("/v1/blocks/7"))["data"]
    assert block["number"] == 7
    (first, *_) = await api.all("/v1/blocks/7/extrinsics?order=oldest&limit=2")
    assert (await api.get(f"/v1/extrinsics/{first['hash']}"))["data"] == [first]
    lease = (await api.get("/v1/leases?limit=1"))["data"][0]
    assert (await api.get(f"/v1/leases/{lease['lease']}"))["data"] == lease
    host = (await api.get(f"/v1/hosts/{lease['host']}"))["data"]
    assert host["host"] == lease["host"]


@pytest.mark.parametrize(
    ("path", "status", "code", "says"),
    [
        ("/v1/tasks/999999999", 404, "not_found", "no task 999999999"),
        ("/v1/tasks/x", 400, "invalid_parameter", "task: "),
        ("/v1/tasks/-1", 400, "invalid_parameter", "task: "),
        ("/v1/tasks?limit=501", 400, "invalid_parameter", "limit: .*500"),
        ("/v1/tasks?limit=1&limit=2", 400, "invalid_parameter", "given twice"),
        ("/v1/tasks?owner=me", 400, "invalid_parameter", "no parameter owner"),
        ("/v1/tasks?tenant=5Fx", 400, "invalid_parameter", "tenant: "),
        ("/v1/tasks?after=%21%21", 400, "invalid_parameter", "after: "),
        ("/v1/tasks?after=WzEsMl0", 400, "invalid_parameter", "another list"),
        ("/v1/tasks?after=WyJhIl0", 400, "invalid_parameter", "another list"),
        ("/v1/hosts?after=WzFd", 400, "invalid_parameter", "another list"),
        ("/v1/hosts/%3Cscript%3E", 400, "invalid_parameter", "host: "),
        ("/v1/events?name=Settled", 400, "invalid_parameter", "name needs pallet"),
        ("/v1/events/stream?after=x", 400, "invalid_parameter", "after: "),
        ("/v1/extrinsics/0x00", 400, "invalid_parameter", "hash: "),
        (f"/v1/extrinsics/0x{'00' * 32}", 404, "not_found", "no extrinsic"),
        ("/v2/tasks", 404, "not_found", "no resource /v2/tasks"),
        ("/v1/../etc/passwd", 404, "not_found", "no resource"),
    ],
)
async def test_errors_name_the_cause(api, path, status, code, says):
    problem = await api.get(path, status)
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["type"] == f"urn:gantry:problem:{code}"
    assert re.search(says, problem["detail"]), problem


async def test_other_methods_are_refused(api):
    async with api.session.post(f"{api.url}/v1/tasks", data=b"x") as answer:
        assert (answer.status, answer.content_type) == (405, "application/problem+json")
        assert "GET" in answer.headers["Allow"]


async def test_an_answer_that_is_the_same_is_not_sent_again(api):
    async with api.session.get(f"{api.url}/v1/tasks") as answer:
        tag = answer.headers["ETag"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    await api.get("/v1/tasks", 304, headers={"If-None-Match": tag})
    api.grow(1)
    await api.get("/v1/tasks", 200, headers={"If-None-Match": tag})


async def test_the_document_has_every_resource_and_answers_fit_it(api):
    document = await api.get("/v1/openapi.json")
    assert document["openapi"].startswith("3.1")
    assert set(document["paths"]) == {
        endpoints.STREAM_PATH,
        *(one.path for one in (*endpoints.ENDPOINTS, *actions.ACTIONS)),
    }
    schemas = document["components"]["schemas"]
    for reference in re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)):
        assert reference in schemas
    for one in endpoints.ENDPOINTS:
        parameters = {found["name"]: found for found in document["paths"][one.path]["get"]["parameters"]}
        assert {name for name, found in parameters.items() if found["in"] == "path"} == set(one.in_path)
        assert all(found["required"] for found in parameters.values() if found["in"] == "path")
    page = await api.get("/v1/tasks?limit=1")
    assert set(page["data"][0]) == set(schemas["Task"]["properties"])
    async with api.session.get(api.url + REFERENCE_PATH) as answer:
        text = await answer.text()
    assert all(f"{one.method} {one.path}<" in text for one in actions.ACTIONS)
    assert all(f"GET {one.path}<" in text for one in endpoints.ENDPOINTS)


async def test_a_stream_goes_on_at_another_gateway(api, address):
    start = (await api.get("/v1/events?limit=1"))["data"][0]["id"]
    api.grow(3)
    settings = ApiSettings(host="127.0.0.1", port=0, index=address)
    expected = await api.all(f"/v1/events?first_block={BLOCKS}&limit=500&order=oldest")
    first = await received(await api.stream(f"/v1/events/stream?after={start}"), 30)
    async with ApiServer(settings).listening() as url:
        stream = await Api(url, api.session).stream(headers={"Last-Event-ID": first[-1]["id"]})
        rest = await received(stream, len(expected) - 30)
    assert first + rest == expected


async def test_events_come_while_clients_listen(api):
    streams = [await api.stream("/v1/events/stream?pallet=Tasks") for _ in range(3)]
    api.grow(4)
    expected = await api.all(f"/v1/events?pallet=Tasks&first_block={BLOCKS}&limit=500&order=oldest")
    for stream in streams:
        assert await received(stream, 20) == expected[:20]


async def test_streams_of_one_address_are_limited(api):
    streams = [await api.stream() for _ in range(4)]
    assert api.server.stream_clients == 4
    problem = await api.get("/v1/events/stream", 429)
    assert problem["code"] == "too_many_requests"
    assert api.server.refused == {"requests": 0, "streams": 1, "connections": 0}
    for stream in streams:
        stream.close()


async def test_answers_are_counted_by_endpoint_and_status_whatever_paths_are_asked_for(api):
    durations = []
    api.server.on_duration = durations.append
    for path, status in (("/v1/tasks", 200), ("/v1/tasks/0", 200), ("/v1/tasks/999999", 404), ("/v1/tasks?x=1", 400)):
        await api.get(path, status)
    for number in range(3):
        await api.get(f"/nowhere/{number}", 404)
    assert api.server.answers == {
        ("tasks", "2xx"): 1,
        ("task", "2xx"): 1,
        ("task", "4xx"): 1,
        ("tasks", "4xx"): 1,
        ("other", "4xx"): 3,
    }
    assert len(durations) == 7
    assert all(0 < duration_s < 10 for duration_s in durations)


async def test_requests_of_one_address_are_limited(address, monkeypatch):
    times = [100.0]
    monkeypatch.setattr(client_limits, "now_s", lambda: times[0])
    db, index = opened(address)
    index.add(list(History(5).blocks(3)))
    settings = ApiSettings(host="127.0.0.1", port=0, index=address, requests_per_s=2)
    async with ApiServer(settings).listening() as url, aiohttp.ClientSession() as session:
        client = Api(url, session)
        for _ in range(9):
            await client.get("/v1/network")
        problem = await client.get("/v1/network", 429)
        times[0] += 1
        await client.get("/v1/network")
    assert "2 requests a second" in problem["detail"]
    db.close()


async def test_without_an_index_the_answer_says_so_and_comes_later(tmp_path):
    address = str(tmp_path / "index.db")
    settings = ApiSettings(host="127.0.0.1", port=0, index=address)
    async with ApiServer(settings).listening() as url, aiohttp.ClientSession() as session:
        client = Api(url, session)
        assert (await client.get("/v1/network", 503))["code"] == "no_index"
        db, index = opened(address)
        assert (await client.get("/v1/network", 503))["code"] == "index_busy"
        index.add(list(History(5).blocks(3)))
        assert (await client.get("/v1/network"))["as_of"]["number"] == 2
        db.close()


def test_a_read_beyond_its_time_is_ended(address):
    db, index = opened(address)
    index.add(list(History(5).blocks(60)))
    db.close()
    limited = open_for_reading(address, 0.05)
    some, other = TABLES[EventRow].alias(), TABLES[EventRow].alias()
    with pytest.raises(ReadTooLong, match=r"longer than 0\.05 s"), limited.snapshot():
        limited.execute(select(func.count()).select_from(some.join(other, some.c.fields < other.c.fields)))
    # The connection goes on, with a new limit for each snapshot.
    with limited.snapshot():
        assert history.events(limited, ask.EventList(limit=5)).data
    limited.close()
