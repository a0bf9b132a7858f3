"""Restart of a process by a signed request: what it accepts and refuses, and that it ends as at SIGTERM."""

import asyncio
import json
import subprocess
import sys
import time
from dataclasses import replace

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offchain.adapters.keys.signer import from_uri
from offchain.adapters.metrics.restart import (
    LIFETIME_MS,
    MOST_BODY,
    RestartBody,
    RestartGuard,
    RestartMessage,
    RestartRefused,
    read_restart,
)
from offchain.adapters.metrics.server import MetricsServer

ALICE, BOB = from_uri("//Alice"), from_uri("//Bob")
NOW_MS = 1_800_000_000_000
PROGRAM = "worker scheduler"


@pytest.fixture
def guard():
    return RestartGuard(frozenset({ALICE.address}), PROGRAM, now_ms=lambda: NOW_MS, end=lambda: None)


def message(guard, **changes):
    made = RestartMessage("gateway.example.org", ALICE.address, PROGRAM, guard.identity.run, NOW_MS + 60_000)
    return replace(made, **changes)


def body(found, signer=ALICE):
    text = found if isinstance(found, str) else found.text()
    return RestartBody(message=text, signature=f"0x{signer.sign(text.encode()).hex()}")


def test_the_operators_request_for_this_run_is_accepted(guard):
    found = message(guard)
    assert guard.check(body(found)) == found
    wrapped = f"<Bytes>{found.text()}</Bytes>".encode()
    assert guard.check(RestartBody(message=found.text(), signature=ALICE.sign(wrapped).hex())) == found


@pytest.mark.parametrize(
    ("changes", "signer", "why"),
    [
        ({"account": BOB.address}, BOB, "may not restart"),
        ({}, BOB, "not by"),
        ({"run": "0" * 32}, ALICE, "another run"),
        ({"program": "worker indexer"}, ALICE, "another process"),
        ({"expires_ms": NOW_MS}, ALICE, "not valid now"),
        ({"expires_ms": NOW_MS + LIFETIME_MS + 1}, ALICE, "not valid now"),
        ({"domain": "two words"}, ALICE, "not that of a restart"),
        ({"program": "worker\nscheduler"}, ALICE, "not that of a restart"),
        ({"account": "5" * 47}, ALICE, "may not restart"),
    ],
)
def test_a_request_that_is_not_the_operators_for_this_run_is_refused(guard, changes, signer, why):
    with pytest.raises(RestartRefused, match=why):
        guard.check(body(message(guard, **changes), signer))


def test_a_text_that_was_changed_is_refused(guard):
    signed = body(message(guard))
    for old, new in (("gateway.", "other."), ("Process: worker scheduler", "Process: worker  scheduler")):
        with pytest.raises(RestartRefused):
            guard.check(RestartBody(message=signed.message.replace(old, new), signature=signed.signature))
    with pytest.raises(RestartRefused):
        read_restart(signed.message + "\n")


@given(st.text(max_size=1_000))
def test_any_text_is_read_or_refused(text):
    with pytest.raises(RestartRefused):
        read_restart(text)


async def test_a_served_process_ends_once(guard):
    ended = asyncio.Event()
    guard._end = ended.set
    async with MetricsServer([], (), guard).listening("127.0.0.1", 0) as url, aiohttp.ClientSession() as session:
        where = url.replace("/metrics", "/restart")

        async def post(data):
            async with session.post(where, data=data) as answer:
                return answer.status

        async with session.get(where) as answer:
            assert await answer.json() == {"program": PROGRAM, "run": guard.identity.run}
        assert await post(b"no JSON") == 400
        assert await post(b"x" * (MOST_BODY + 1)) == 413
        assert await post(body(message(guard), BOB).model_dump_json()) == 403
        assert not ended.is_set()
        signed = body(message(guard)).model_dump_json()
        assert await post(signed) == 202
        assert await post(signed) == 403, "it is ending"
        async with asyncio.timeout(10):
            await ended.wait()


async def test_without_operators_there_is_no_such_resource():
    async with MetricsServer([]).listening("127.0.0.1", 0) as url, aiohttp.ClientSession() as session:
        for method in ("GET", "POST"):
            async with session.request(method, url.replace("/metrics", "/restart")) as answer:
                assert answer.status == 404


PROCESS = """
import asyncio, json, signal, sys
from offchain.adapters.metrics.serving import MetricsAddress, serve_metrics
from offchain.devnet.ports import free

async def main():
    stop, port = asyncio.Event(), free()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with serve_metrics(MetricsAddress("127.0.0.1", port, frozenset({sys.argv[1]}), "worker settler"), []):
        print(f"http://127.0.0.1:{port}/restart", flush=True)
        await stop.wait()
    print("ended in order", flush=True)

asyncio.run(main())
"""


async def test_a_process_ends_as_at_sigterm():
    command = [sys.executable, "-c", PROCESS, ALICE.address]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60), aiohttp.ClientSession() as session:
            url = (await process.stdout.readline()).decode().strip()
            async with session.get(url) as answer:
                run = json.loads(await answer.text())["run"]
            soon_ms = time.time_ns() // 1_000_000 + 60_000
            text = RestartMessage("here:8080", ALICE.address, "worker settler", run, soon_ms).text()
            async with session.post(url, data=body(text).model_dump_json()) as answer:
                assert answer.status == 202
            assert (await process.stdout.readline()).decode().strip() == "ended in order"
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
