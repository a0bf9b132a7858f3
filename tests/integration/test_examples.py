"""The examples of services, rentals and pods, from their submission to their end, as their comments say."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from test_usage import the_receipt

from offchain.devnet import demo_image
from offchain.devnet.paths import ROOT
from tests.support.local_network import TENANT, Net

EXAMPLES = ROOT / "examples"
ACCOUNT = ("--account", TENANT)

pytestmark = pytest.mark.skipif(
    bool(demo_image.missing()), reason="the image lacks busybox or dropbear (scripts/up installs them when root)"
)


async def submitted(net: Net, name: str, **env: str) -> dict[str, Any]:
    """Submit an example and wait: a job for its end, anything else until it runs."""
    done = await net.check(
        "submit", EXAMPLES / f"{name}.yaml", *ACCOUNT, "--wait", "--json", env={**net.variables, **env}
    )
    return done.json


async def act(net: Net, what: str, task: int, *more: str) -> dict[str, Any]:
    done = await net.check("task", what, str(task), *more, *ACCOUNT, "--json")
    return done.json


@contextlib.asynccontextmanager
async def forwarded(net: Net, what: int | str, port: int) -> AsyncIterator[int]:
    """The port on this machine that leads to one of a task's first pod, or of a named service's pods."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "offchain.cli", *(("service",) if isinstance(what, str) else ()), "forward"),
        *(str(what), f"0:{port}", *ACCOUNT, "--json"),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "GANTRY_STATE": str(net.state), "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), 60)
        yield int(json.loads(line)["local"].rpartition(":")[2])
    finally:
        process.terminate()
        await process.wait()


async def runs(net: Net, task: int, pods: int) -> bool:
    """Whether a service wants so many pods and they run."""
    record = (await net.task(task)).record
    active = [lease for lease in record.leases if lease.state.tag == "Active"]
    return (record.pods_wanted, len(active)) == (pods, pods)


async def ended(net: Net, task: int) -> None:
    await act(net, "end", task)
    await net.until(task, {"Reported", "Verified", "Settled"})


async def test_three_containers_make_one_result(net: Net) -> None:
    outcome = await submitted(net, "pod")
    assert outcome["state"] == "Settled"
    assert outcome["result"].split() == ["3", "three", "2", "two", "1", "one"]
    # The bill is for all of that, not for the milliseconds of the container that counts: the library is well a second
    # after its start.
    receipt, _ = await the_receipt(net, outcome["task"])
    (lease,) = await net.leases(outcome["task"])
    assert lease.result is not None
    assert lease.result.usage.wall_ms >= 1_000
    # The time between the blocks of both reports bounds what a host says it has measured.
    assert receipt.bill.since_ms is not None
    between_reports = receipt.until_ms - receipt.bill.since_ms
    assert receipt.bill.billed_ms == min(lease.result.usage.wall_ms, between_reports) >= 1_000
    assert receipt.bill.owed == lease.escrow.paid > 0


async def test_a_job_that_may_outlive_its_host_runs_also_where_there_is_no_other(net: Net) -> None:
    outcome = await submitted(net, "counting", STEPS="2")
    assert outcome["state"] == "Settled"
    assert outcome["result"].splitlines() == ["begins", "counted to 2"]


async def test_a_service_is_reached_by_its_tenant_and_scales(net: Net) -> None:
    view = await submitted(net, "service")
    task = view["task"]
    assert view["state"] == "Running"
    assert view["leases"][0]["paid_until"] > 0
    assert len(view["leases"]) == 1
    async with (
        forwarded(net, task, 8080) as port,
        aiohttp.ClientSession() as web,
        web.get(f"http://127.0.0.1:{port}/") as answer,
    ):
        assert f"of task {task}" in await answer.text()
    before = view["leases"][0]["paid_until"]
    longer = await act(net, "extend", task, "1h", "--pod", "0")
    assert longer["leases"][0]["paid_until"] >= before + 3_600_000
    await act(net, "scale", task, "2")
    await net.each_block(lambda: runs(net, task, 2), "a second pod")
    await act(net, "scale", task, "1")
    await ended(net, task)
