"""What a scheduler keeps of its decisions, what it tells of them, and what is asked of it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sqlite3
import stat
import subprocess
import sys
import threading

import aiohttp
import pytest
from aiohttp import web
from toy_network import HOST, NOT_QUEUED, OTHER_HOST, WORKER, Toy

from offchain.adapters import local_http
from offchain.adapters.local_http import ListenError, parse_address
from offchain.core.feasibility import Misfit
from offchain.core.scheduler.explain import PlacedTask, WaitReason
from offchain.core.values import PodPlacement
from offchain.schema.protocol.decisions import MAX_ANSWER_BYTES, SchedulingStatus, parse
from offchain.schema.protocol.fields import WireError
from offchain.services import decision_recorder, decision_server
from offchain.services.decision_reader import FILE, DecisionsError, read
from offchain.services.decision_recorder import DecisionRecorder, PlacementOutcome
from offchain.services.decision_server import DecisionServer
from offchain.services.scheduler_replies import ask_schedulers

SEED = b"seed"
WAITS = WaitReason(7, 3, {Misfit.DEVICE_BUSY: 2}, 0, 1, closed=1)


@pytest.fixture
def record(tmp_path):
    with contextlib.closing(DecisionRecorder(tmp_path, WORKER.address, SEED)) as found:
        yield found


@contextlib.asynccontextmanager
async def recorded(toy: Toy, folder):
    """A scheduler whose decisions are on the disk when the block ends."""
    with contextlib.closing(DecisionRecorder(folder, WORKER.address, SEED)) as made:
        toy.record = made
        async with toy.working("scheduler") as quiet:
            yield quiet


def placed(task: int, *pods: int, like: int | None = None) -> PlacedTask:
    return PlacedTask(task, tuple(PodPlacement(pod, HOST, b"\0", 1) for pod in pods or (0,)), 1, 1, None, like)


async def test_a_placement_is_kept_with_its_candidates_and_the_chains_answer(tmp_path):
    toy = Toy()
    toy.host()
    toy.host(OTHER_HOST, status="Offline")
    await toy.block()
    async with recorded(toy, tmp_path) as quiet:
        task = await toy.submit()
        for _ in range(3):
            await toy.block()
            await quiet()
    told = read(tmp_path, task)
    (decision,) = told.decisions
    assert told.scheduler == WORKER.address
    assert [(spot.pod, spot.host, spot.devices) for spot in decision.spots] == [(0, HOST, (0,))]
    assert decision.seen is not None
    assert decision.seen.excluded == {"not online": 1}
    (best,) = decision.seen.best
    assert best.host == HOST
    assert sum(best.parts.values()) == pytest.approx(best.points, abs=1e-5)
    assert decision.answer is not None
    assert decision.answer.kind == "assigned"
    assert decision.answer.block == 3


async def test_a_refusal_is_kept_with_its_reason_and_the_next_try_beside_it(tmp_path):
    toy = Toy()
    toy.host()
    toy.verdict = lambda call: NOT_QUEUED if call.function == "assign" else None
    await toy.block()
    async with recorded(toy, tmp_path) as quiet:
        task = await toy.submit()
        for _ in range(2):
            await toy.block()
            await quiet()
        toy.verdict = lambda _: None
        for _ in range(4):
            await toy.block()
            await quiet()
    refused, assigned = read(tmp_path, task).decisions
    assert refused.answer is not None
    assert refused.answer.kind == "refused"
    assert refused.answer.reason == "Tasks.NotQueued: The task does not wait for a host."
    assert refused.answer.block is not None
    assert assigned.answer is not None
    assert assigned.answer.kind == "assigned"


async def test_the_reason_of_a_waiting_task_is_stored_once_and_updated(tmp_path):
    toy = Toy()
    toy.host(status="Offline")
    await toy.block()
    async with recorded(toy, tmp_path) as quiet:
        task = await toy.submit()
        for _ in range(2):
            await toy.block()
            await quiet()
        toy._online = lambda _account, host: [("Hosts", "StatusChanged", {"host": host})]
        toy.host(OTHER_HOST, status="Draining")
        await toy.call("online", host=OTHER_HOST)
        await toy.block()
        await quiet()
    (wait,) = read(tmp_path, task).waits
    assert wait.excluded == {"not online": 2}
    assert wait.times > 1
    assert wait.since_ms < wait.at_ms


def test_only_the_owner_may_read_the_file(record, tmp_path):
    record.waits(1, 0, WAITS)
    record.close()
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


def test_auxiliary_files_are_private_too(tmp_path):
    with contextlib.closing(DecisionRecorder(tmp_path, WORKER.address, SEED)) as record:
        record.waits(1, 0, WAITS)
    with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as db:
        db.execute("DELETE FROM waits")
        db.commit()
        found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert len(found) == 3
    assert set(found.values()) == {0o600}, found


def test_an_outcome_belongs_to_one_attempt_and_its_pods(record, tmp_path):
    record.placed(1, [(0, placed(7, 0)), (1, placed(7, 0)), (1, placed(7, 1))])
    record.answered(9, 7, 1, (0,), PlacementOutcome("assigned", block=4))
    record.close()
    assert [one.answer and one.answer.kind for one in read(tmp_path, 7).decisions] == [None, "assigned", None]


def test_a_task_equal_to_another_gets_its_explanation(record, tmp_path):
    record.placed(1, [(0, placed(8, like=7)), (0, placed(9))])
    record.waits(2, 0, WAITS)
    record.close()
    first, second = read(tmp_path, 8), read(tmp_path, 9, like=7)
    assert first.decisions[0].like == 7
    assert first.decisions[0].seen is None
    (wait,) = second.waits
    assert (wait.like, wait.closed, wait.excluded) == (7, 1, {"GPUs in use": 2})


def test_the_oldest_decisions_are_deleted_first(record, tmp_path, monkeypatch):
    monkeypatch.setattr(decision_recorder, "MOST_DECISIONS", 3)
    monkeypatch.setattr(decision_recorder, "MOST_WAITING", 2)
    monkeypatch.setattr(decision_recorder, "_PRUNE_EVERY", 1)
    for number in range(5):
        record.placed(number, [(0, placed(number))])
        record.waits(number, 0, WaitReason(number, 1, {}, 0, 1))
    record.close()
    assert [number for number in range(5) if read(tmp_path, number).decisions] == [2, 3, 4]
    assert [number for number in range(5) if read(tmp_path, number).waits] == [3, 4]
    with contextlib.closing(DecisionRecorder(tmp_path, WORKER.address, SEED)) as later:
        later.placed(decision_recorder.KEPT_MS + 10, [(0, placed(9))])
    assert [number for number in range(10) if read(tmp_path, number).decisions] == [9]


def test_an_unusable_file_is_logged_and_harmless(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("gantry"), "propagate", True)  # another test may have sent it elsewhere
    (tmp_path / FILE).write_bytes(b"no database" * 100)
    with contextlib.closing(DecisionRecorder(tmp_path, WORKER.address, SEED)) as record:
        record.waits(1, 0, WAITS)
    assert "not kept" in caplog.text
    with pytest.raises(DecisionsError, match="cannot be read"):
        read(tmp_path, 7)


def test_a_slow_disk_loses_decisions_but_uses_no_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(decision_recorder, "_MOST_PENDING", 2)
    let_go = threading.Event()
    record = DecisionRecorder(tmp_path, WORKER.address, SEED)
    with contextlib.closing(record):
        begun = threading.Event()
        record._put(lambda _: begun.set() or let_go.wait() or 0)
        begun.wait()
        for number in range(5):
            record.waits(1, 0, WaitReason(number, 1, {}, 0, 1))
        let_go.set()
    assert [number for number in range(5) if read(tmp_path, number).waits] == [0, 1]


def test_the_file_of_a_killed_scheduler_can_be_continued(tmp_path):
    writes = f"""
import pathlib, sys
from offchain.core.scheduler.explain import WaitReason
from offchain.services.decision_recorder import DecisionRecorder
record = DecisionRecorder(pathlib.Path({str(tmp_path)!r}), "a", b"")
record._put(lambda store: print("writes", flush=True) or 0)
number = 0
while True:
    record.waits(number, 0, WaitReason(number, 1, {{}}, 0, 1))
    number += 1
"""
    with subprocess.Popen([sys.executable, "-c", writes], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writes\n"
        process.kill()
    with contextlib.closing(DecisionRecorder(tmp_path, WORKER.address, SEED)) as record:
        record.waits(1, 0, WAITS)
    assert len(read(tmp_path, 7).waits) == 1
    with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


# --- answers ----------------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def answering(folder, stands=None):
    made = DecisionServer(folder)
    made.ask(stands)
    async with made.listening("127.0.0.1", 0) as (host, port):
        yield f"http://{host}:{port}"


async def test_a_scheduler_answers_what_it_has_recorded_and_how_the_task_stands(record, tmp_path):
    record.waits(5, 0, WAITS)
    record.close()
    now = SchedulingStatus(
        "waits", "account x holds 1 of at most 1 GPU", 9, others_turn=True, starts_by_ms=60, nobody_leaves="too often"
    )

    async def standing(_task):
        return now, 7

    async with answering(tmp_path, standing) as url:
        (heard,) = await ask_schedulers([url], 8)
    assert heard.answer is not None
    assert heard.answer.now == now
    assert [wait.like for wait in heard.answer.waits] == [7]


async def test_an_unknown_task_is_answered_with_not_found(record, tmp_path):
    record.close()
    async with answering(tmp_path) as url, aiohttp.ClientSession() as client:
        async with client.get(f"{url}/v1/tasks/9/decisions") as answer:
            assert answer.status == 404
            assert parse(await answer.read()).empty
        (heard,) = await ask_schedulers([url], 9)
    assert heard.answer is not None
    assert heard.answer.empty


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "PATCH"])
async def test_only_get_is_answered(record, tmp_path, method):
    record.close()
    async with (
        answering(tmp_path) as url,
        aiohttp.ClientSession() as client,
        client.request(method, f"{url}/v1/tasks/7/decisions", data=b"x" * 10_000) as answer,
    ):
        assert answer.status == 405


@pytest.mark.parametrize("number", ["", "..", "x", "-1", "9" * 40, "7/x"])
async def test_other_paths_are_not_found(record, tmp_path, number):
    record.close()
    path = f"/v1/tasks/{number}/decisions"
    async with answering(tmp_path) as url, aiohttp.ClientSession() as client, client.get(url + path) as answer:
        assert answer.status == 404


async def test_the_path_of_an_unreadable_file_is_not_disclosed(tmp_path):
    async with answering(tmp_path) as url, aiohttp.ClientSession() as client:
        async with client.get(f"{url}/v1/tasks/7/decisions") as answer:
            assert answer.status == 503
            assert str(tmp_path) not in await answer.text()
        (heard,) = await ask_schedulers([url], 7)
    assert heard.answer is None
    assert "503" in (heard.reason or "")


async def test_a_scheduler_that_does_not_answer_is_reported_with_the_reason():
    gone, nothing = await ask_schedulers(["http://127.0.0.1:1", "/nowhere"], 7)
    assert gone.answer is None
    assert "unreachable" in (gone.reason or "")
    assert "no scheduler keeps its decisions there" in (nothing.reason or "")


async def test_idle_connections_are_limited(record, tmp_path, monkeypatch):
    record.close()
    monkeypatch.setattr(decision_server, "_MOST_CONNECTIONS", 2)
    async with contextlib.AsyncExitStack() as stack:
        port = int((await stack.enter_async_context(answering(tmp_path))).rpartition(":")[2])
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        for _, writer in silent:
            stack.callback(writer.close)
        assert await silent[2][0].read() == b""
        assert not silent[0][0].at_eof()


async def test_connections_have_a_limited_lifetime(record, tmp_path, monkeypatch):
    record.close()
    monkeypatch.setattr(local_http, "_LIFE_S", 0.01)
    async with answering(tmp_path) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        async with asyncio.timeout(20):
            assert await reader.read() == b""
        writer.close()


async def test_an_answer_without_end_is_cut_off():
    async def endless(_request: web.Request) -> web.StreamResponse:
        return web.Response(body=b"{" + b" " * MAX_ANSWER_BYTES)

    app = web.Application()
    app.router.add_get("/v1/tasks/7/decisions", endless)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        (heard,) = await ask_schedulers([f"http://127.0.0.1:{runner.addresses[0][1]}"], 7)
    finally:
        await runner.cleanup()
    assert heard.answer is None
    assert "longer than" in (heard.reason or "")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 2}, "version 2"),
        ({"decisions": [{"at_ms": "x"}]}, "at_ms"),
        ({"waits": 3}, "waits"),
        ({"now": {"state": 1}}, "state"),
        ({"scheduler": "x" * 200}, "scheduler"),
    ],
)
def test_a_malformed_answer_is_refused(change, said):
    whole = {"version": 1, "task": 7, "scheduler": "a", "seed": "", "decisions": [], "waits": [], "now": None}
    assert parse(json.dumps(whole).encode()).empty
    with pytest.raises(WireError, match=said):
        parse(json.dumps(whole | change).encode())


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("4437", ("127.0.0.1", 4437)),
        (":4437", ("127.0.0.1", 4437)),
        ("10.0.0.5:1", ("10.0.0.5", 1)),
        ("[::1]:9", ("::1", 9)),
    ],
)
def test_a_port_alone_means_this_machine(given, meant):
    assert parse_address(given, "answers") == meant


@pytest.mark.parametrize("given", ["", "x", "1.2.3.4:", "1.2.3.4:99999", "1.2.3.4:-1"])
def test_a_malformed_address_is_refused(given):
    with pytest.raises(ListenError):
        parse_address(given, "answers")


async def test_an_address_in_use_is_reported(tmp_path):
    async with answering(tmp_path) as url:
        with pytest.raises(ListenError, match="cannot be used for answers"):
            async with DecisionServer(tmp_path).listening("127.0.0.1", int(url.rpartition(":")[2])):
                pass
