"""The explanation of a task's placement: by the chain's records and by a scheduler that answers."""

from dataclasses import replace

import pytest
from aiohttp import web

from offchain.adapters.keys.signer import from_uri
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.protocol.decisions import (
    Decision,
    DecisionReport,
    PlacedPod,
    RecordedCandidate,
    RecordedCandidates,
    RecordedOutcome,
    SchedulingStatus,
    WaitRecord,
)
from tests.support.api_rig import node_api
from tests.support.chain_records import GTY, Tasks, ask, host_record, lease, task_spec

CHARLIE, BOB, DAVE = (from_uri(f"//{name}") for name in ("Charlie", "Bob", "Dave"))
HOST = from_uri("//Host", "ed25519").address
WAIT = WaitRecord(0, 1_000, 9_000, 4, 3, 0, 1, 1, {"GPUs in use": 2})
BEST = RecordedCandidate(host=HOST, devices=(0,), points=0.5, parts={"price": 0.5}, closed=False)
SEEN = RecordedCandidates(3, 2, 1, {"above the price limit": 1}, (BEST,))
DECISION = Decision(
    at_ms=9_500,
    generation=1,
    pods=1,
    spots=(PlacedPod(0, HOST, (0,)),),
    turn=1,
    placed=1,
    seen=SEEN,
    like=None,
    answer=RecordedOutcome("refused", "HostBusy", 7, 9_900),
)


class AnsweringScheduler:
    """A scheduler at a URL. `answer`: its report, or bytes; None: it knows nothing of any task."""

    def __init__(self):
        self.answer, self.url = None, ""

    async def decisions(self, request):
        if isinstance(self.answer, bytes):
            return web.Response(body=self.answer)
        empty = DecisionReport(int(request.match_info["task"]), DAVE.address, "")
        report = self.answer or empty
        return web.json_response(report.plain(), status=404 if report.empty else 200)


@pytest.fixture
async def scheduler():
    made, app = AnsweringScheduler(), web.Application()
    app.router.add_get("/v1/tasks/{task}/decisions", made.decisions)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield made
    await runner.cleanup()


@pytest.fixture
async def api(tmp_path, monkeypatch, scheduler):
    silent = "http://127.0.0.1:1"
    async with node_api(tmp_path, monkeypatch, schedulers=(scheduler.url, silent)) as client:
        chain, capacity = client.chain, gen.Capacity(4000, 8192, 100)
        prices = ask(cpu_core_per_hour=GTY // 10)
        host = host_record(BOB.address, total=capacity, free=capacity, ask=prices, bond=10 * GTY)
        chain.storage["Hosts", "Hosts"][HOST,] = host.encode()
        client.tasks = Tasks(chain)
        await chain.produce()
        yield client


async def placement(api, number, status=200):
    return await api.ask("GET", f"/v1/tasks/{number}/placement", status)


async def submit(api, **changes):
    """The number of a task without GPUs in a final block."""
    resources = gen.Resources(1000, 1024, 1, gen.GpuRequest(0, 1000, 0, ()))
    number = api.tasks.submit(CHARLIE.address, task_spec(**({"resources": resources} | changes)))
    await api.chain.produce()
    return number


async def test_a_task_that_can_start_says_so(api):
    found = (await placement(api, await submit(api)))["data"]
    assert (found["state"], found["waits"], found["summary"]) == ("Queued", True, "now")
    fits = found["feasibility"]
    assert (fits["hosts"], fits["candidates"], fits["pods_needed"], fits["pods_now"]) == (1, 1, 1, 1)
    assert fits["lowest_rate_per_hour"] == fits["highest_rate_per_hour"] != "0"
    assert fits["excluded"] == []
    assert (found["schedulers"], found["unanswered"]) == ([], 1)


async def test_a_task_that_waits_has_what_excludes_each_host(api, scheduler):
    number = await submit(api, max_rate_per_hour=1)
    scheduler.answer = DecisionReport(
        number, DAVE.address, "", (), (WAIT,), SchedulingStatus("waits", limit="its queue")
    )
    found = (await placement(api, number))["data"]
    assert found["waits"]
    assert found["feasibility"]["excluded"] == [
        {"reason": "price", "text": "above the price limit", "hosts_now": 1, "hosts_always": 1}
    ]
    assert found["summary"].startswith("never with these hosts")
    (heard,) = found["schedulers"]
    assert (heard["scheduler"], heard["state"], heard["limit"]) == (DAVE.address, "waits", "its queue")
    assert heard["wait"]["excluded"] == {"GPUs in use": 2}
    assert (heard["wait"]["times"], heard["wait"]["reserved"], heard["decision"]) == (4, 1, None)


async def test_a_running_task_has_its_hosts_and_the_decision_that_placed_it(api, scheduler):
    number = await submit(api)
    held = lease(HOST, state=gen.LeaseStateActive(), created_at=1)
    api.tasks.change(number, state=gen.TaskStateRunning(), leases=(held,))
    await api.chain.produce()
    scheduler.answer = DecisionReport(number, DAVE.address, "", (replace(DECISION, generation=0), DECISION))
    found = (await placement(api, number))["data"]
    assert (found["state"], found["waits"], found["feasibility"]) == ("Running", False, None)
    assert found["summary"] == "It waits for no host."
    assert [(one["pod"], one["host"]) for one in found["pods"]] == [(0, HOST)]
    (heard,) = found["schedulers"]
    decision = heard["decision"]
    assert (decision["attempt"], decision["outcome"], decision["reason"], decision["block"]) == (
        2,
        "refused",
        "HostBusy",
        7,
    )
    assert decision["best"] == [{"host": HOST, "devices": [0], "cost": 0.5, "parts": {"price": 0.5}, "reserved": False}]


async def test_a_task_that_is_newer_than_the_records_is_explained(api):
    await placement(api, await submit(api))
    assert (await placement(api, await submit(api)))["data"]["state"] == "Queued"


async def test_a_final_task_is_explained_by_decisions_alone(api, scheduler):
    number = await submit(api)
    api.tasks.put(number, None)
    await api.chain.produce()
    scheduler.answer = DecisionReport(number, DAVE.address, "", (DECISION,))
    found = (await placement(api, number))["data"]
    assert (found["state"], found["waits"], found["pods"]) == (None, False, [])
    assert "is final" in found["summary"]
    assert found["schedulers"][0]["decision"]["hosts"] == 3


@pytest.mark.parametrize("answer", [b"not JSON", b'{"version": 9}', b"{}", b"x" * ((1 << 20) + 1)])
async def test_a_scheduler_that_answers_something_else_is_counted(api, scheduler, answer):
    scheduler.answer = answer
    found = (await placement(api, await submit(api)))["data"]
    assert (found["schedulers"], found["unanswered"]) == ([], 2)


async def test_there_is_no_explanation_of_what_there_is_not(api):
    assert (await placement(api, 999, 404))["code"] == "not_found"
    assert (await placement(api, "x", 400))["code"] == "invalid_parameter"
