"""What the console has of a network's own processes: the decision that placed a task, and a restart that is signed."""

import json
import time
from typing import Any

import aiohttp
import test_api

from offchain.adapters.keys.signer import from_uri
from offchain.adapters.metrics.restart import RestartMessage
from tests.support.local_network import Net

OPERATOR = from_uri("//Alice")


async def test_a_task_has_the_decision_of_the_scheduler_that_placed_it(net: Net, settled: int) -> None:
    (lease,) = await net.leases(settled)
    async with aiohttp.ClientSession() as session:
        found = (await test_api.answer(net, session, f"/v1/tasks/{settled}/placement"))["data"]
    assert (found["waits"], found["unanswered"]) == (False, 0)
    (scheduler,) = found["schedulers"]
    decision = scheduler["decision"]
    assert decision["outcome"] == "assigned"
    assert [(pod["host"], pod["devices"]) for pod in decision["pods"]] == [(lease.host, list(lease.devices))]
    assert decision["best"][0]["host"] == lease.host


async def test_an_operator_restarts_the_indexer(net: Net) -> None:
    urls = json.loads((net.state / "network.json").read_text(encoding="utf-8"))["metrics"]
    url, pid = urls["indexer"].removesuffix("/metrics") + "/restart", net.pid("indexer")

    async with aiohttp.ClientSession() as session:

        async def identity() -> Any:
            try:
                async with session.get(url) as answer:
                    return await answer.json()
            except aiohttp.ClientError:
                return None

        before = await identity()
        assert before["program"] == "worker indexer"
        expires_ms = time.time_ns() // 1_000_000 + 60_000
        text = RestartMessage("console:8080", OPERATOR.address, "worker indexer", before["run"], expires_ms).text()
        body = {"message": text, "signature": OPERATOR.sign(text.encode()).hex()}
        async with session.post(url, json=body) as answer:
            assert answer.status == 202, await answer.text()

        async def again() -> bool:
            found = await identity()
            return found is not None and found["run"] != before["run"]

        await net.each_block(again, "another run of the indexer")
        assert net.pid("indexer") != pid
        # It goes on with the index.
        await test_api.answer(net, session, "/v1/network")
