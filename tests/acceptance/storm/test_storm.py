"""Accidents of a machine, on real processes: cut off, hung, full, flooded, its clock wrong. See docs/resilience.md.

In all of them the settler's clock is an hour behind the chain's, and that of the host "ben" an hour ahead.
"""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import pytest
import pytest_asyncio
from storm_net import ABSENCE_MS, HOUR_MS, HostOfNet, NetworkClient, StormNet, client_of, first_lease

from offchain.schema.chain_types._generated_chain import calls
from tests.gpu_stub.build import Machine as Gpus
from tests.gpu_stub.build import build as build_stub
from tests.gpu_stub.build import eight

pytestmark = pytest.mark.docker
DISK_WORDS = ("could not be kept", "Events wait", "cannot be written")
FELL_OFF = 79
"""The driver's number for a GPU that has fallen off its bus."""
RESULT_BYTES = 16 << 20
UNTIL_END = "until [ -e /end ]; do"
TICKS = f"i=0; {UNTIL_END} i=$((i+1)); echo tick $i; sleep 1; done"
FLOOD = f"yes $(printf %0200d 0) & {UNTIL_END} sleep 1; done; kill $!; wait; echo the end of the flood"
MOST_LOG_BYTES = (32 << 20) + 4096
ENGINE_LOG_BYTES = 2 * (100 << 20)
Accident = Callable[[StormNet, NetworkClient], Awaitable[None]]
Accidents = Mapping[Accident, asyncio.Task[None]]


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """The process hangs meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def digest(text: str) -> bytes:
    return sha256(text.encode()).digest()


async def settled_with(client: NetworkClient, task: int, text: str, exit_code: int = 0) -> None:
    """The task is settled, its last lease was paid for this result."""
    await client.until_state(task, "Settled")
    lease = (await client.lease(task)).record
    assert lease.result is not None
    assert (lease.result.exit_code, bytes(lease.result.digest)) == (exit_code, digest(text))
    assert lease.escrow.paid > 0
    assert not lease.escrow.open


async def cut_off(net: StormNet, client: NetworkClient):
    ann, ben = net.hosts["ann"], net.hosts["ben"]
    await client.online(ann)
    await client.online(ben)
    before = (await client.chain.link.best_head()).number
    runs_on = await client.job(ann, "sleep 600")
    ends_meanwhile = await client.job(ann, "sleep 9; echo done")
    await client.runs(ends_meanwhile, ann)
    await client.until_state(runs_on, "Running")
    with ann.cable.cut():
        for task in (runs_on, ends_meanwhile):
            await client.until_state(task, "Queued")
            assert (await client.record(ann)).status.tag == "Offline"
            await client.assign(task, ben)
        await settled_with(client, ends_meanwhile, "done\n")
        await client.until_state(runs_on, "Running")
        # Nobody could tell the old host: its pod runs on, beside the one that took its place.
        (old,) = client.containers(runs_on, ann)
        assert old["State"] == "running"
        assert client.containers(runs_on, ben)
        (over,) = client.containers(ends_meanwhile, ann)
        assert over["State"] == "exited"

    for task in (runs_on, ends_meanwhile):
        await client.gone(task, ann)
    assert await client.state(runs_on) == "Running"
    assert client.containers(runs_on, ben)
    await client.online(ann)
    # The only result that counts is the new host's, and nothing of the old leases is left to be said.
    said = [event for event in await client.events(ends_meanwhile, before) if event.name == "PodReported"]
    assert [event.fields["lease"] for event in said] == [first_lease(ends_meanwhile) + 1]
    assert net.unsent(ann) == []
    await client.do(calls.tasks_cancel(task=runs_on))
    await client.gone(runs_on, ben)


async def wrong_clock(net: StormNet, client: NetworkClient):
    ben = net.hosts["ben"]
    said = await client.until_trouble(ben, "clock")
    assert re.search(r"is 36[01]\d s ahead of the chain's", said), said
    other = await client.job(ben, "sleep 30; echo in time")
    short = await client.job(ben, "sleep 600", top="duration: 16s")
    await client.until_state(short, "Running")
    lease = (await client.lease(short)).record
    assert [one["State"] for one in client.containers(other, ben)] == ["running"]
    ben.clock.set(-HOUR_MS)
    await client.chain.block_with((await client.chain.link.best_head()).number + 1)
    ben.clock.set(HOUR_MS)
    await settled_with(client, other, "in time\n")
    await client.gone(short, ben)

    async def over() -> Any:
        record = (await client.lease(short)).record
        return None if record.ended_at is None else record

    ended = await client.until(over, "the lease to be closed")
    assert lease.started_at is not None
    assert 16_000 <= ended.ended_at - lease.started_at <= 32_000
    assert ended.escrow.paid <= ended.escrow.deposit


async def failing_gpu(net: StormNet, client: NetworkClient):
    library = build_stub(net.places.state)
    gpus = Gpus(net.places.state / "gpus", eight()[:2])
    gil = net.add_host("gil", env={"LD_LIBRARY_PATH": str(library.parent), "GANTRY_NVML_STUB": str(gpus.path)})
    await client.online(gil)
    before = (await client.chain.link.best_head()).number
    needs = (
        'deploy: {resources: {limits: {cpus: "0.1", memory: 32M}, reservations: {devices: [{driver: nvidia, count: 1, '
        "capabilities: [gpu]}]}}}"
    )
    services = f'services: {{main: {{image: IMAGE, command: [sleep, "600"], {needs}}}}}\n'
    task = await client.submit(gil, services, devices=b"\0")
    await client.until_state(task, "Running")
    assert uuids(net, client, task, gil) == [gpus.gpus[0].uuid]
    gpus.xid(gpus.gpus[0].uuid, FELL_OFF)
    lost = await client.until_said(task, "Requeued", before)
    assert "ResourcesUnavailable" in str(lost.fields["reason"])
    await client.gone(task, gil)

    async def marked() -> bool:
        return [device.healthy for device in (await client.record(gil)).devices] == [False, True]

    await client.until(marked, "the chain to know which GPU failed")
    await client.assign(task, gil, b"\1")
    await client.until_state(task, "Running")
    assert uuids(net, client, task, gil) == [gpus.gpus[1].uuid]
    await client.do(calls.tasks_cancel(task=task))
    await client.gone(task, gil)


# --- three hosts at once, for each accident takes its time -----------------------------------------------------------


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def accidents(net: StormNet) -> AsyncIterator[Accidents]:
    async with client_of(net) as client:
        tasks = {
            accident: asyncio.create_task(accident(net, client)) for accident in (cut_off, wrong_clock, failing_gpu)
        }
        yield tasks
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_host_that_was_cut_off_stops_its_old_pods_before_it_says_anything(accidents: Accidents):
    await accidents[cut_off]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_clock_that_is_wrong_and_is_set_moves_no_deadline(accidents: Accidents):
    await accidents[wrong_clock]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_gpu_that_fails_loses_its_pod_to_the_next_one(accidents: Accidents):
    await accidents[failing_gpu]


# --- the engine and the disks that all hosts have in common -----------------------------------------------------------


async def test_an_engine_that_hangs_costs_time_and_nothing_else(net: StormNet, client: NetworkClient):
    ann = net.hosts["ann"]
    await client.online(ann)
    before = (await client.chain.link.best_head()).number
    runs = await client.job(ann, "sleep 9; echo one")
    await client.runs(runs, ann)
    assert net.dockerd.process is not None
    with stopped(net.dockerd.process.pid):
        waits = await client.job(ann, "echo two")
        heard = (await client.record(ann)).last_heartbeat

        async def beats_on() -> bool:
            return bool((await client.record(ann)).last_heartbeat >= heard + ABSENCE_MS)

        assert "has not answered" in await client.until_trouble(ann, "engine")
        await client.until(beats_on, "the host to be heard for longer than its absence limit")
        assert (await client.record(ann)).status.tag == "Online"
    await settled_with(client, runs, "one\n")
    await settled_with(client, waits, "two\n")
    for task in (runs, waits):
        said = [event.name for event in await client.events(task, before)]
        assert (said.count("PodStarted"), said.count("PodReported")) == (1, 1)
        await client.gone(task, ann)

    async def well() -> bool:
        return "engine" not in (await asyncio.to_thread(net.status, ann))["troubles"]

    await client.until(well, "the trouble to be over")


async def test_a_full_disk_of_the_engine_is_the_hosts_fault(net: StormNet, client: NetworkClient):
    ben = net.hosts["ben"]
    await client.online(ben)
    before = (await client.chain.link.best_head()).number
    task = await client.job(ben, "sleep 6; echo done")
    await client.runs(task, ben)
    with net.disk.full():
        refused = await client.until_said(task, "Requeued", before)
    assert "ResourcesUnavailable" in str(refused.fields["reason"])
    await client.gone(task, ben)
    await client.assign(task, ben)
    await settled_with(client, task, "done\n")


async def test_a_disk_that_the_tenant_filled_is_the_tenants_fault(net: StormNet, client: NetworkClient):
    ben = net.hosts["ben"]
    with net.disk.full(leave_mib=1400):
        task = await client.job(ben, "dd if=/dev/zero of=/big bs=1048576 2>/dev/null")
        await client.until_state(task, "Settled")
    lease = (await client.lease(task)).record
    assert lease.result is not None
    assert lease.result.exit_code != 0
    assert lease.escrow.paid > 0
    assert "its disk of 1024 MiB is full" in net.gantry("logs", str(task), "--account=//Charlie")


async def test_a_full_disk_of_the_agent_delays_a_result_and_loses_nothing(net: StormNet, client: NetworkClient):
    ann = net.hosts["ann"]
    task = await client.job(ann, "sleep 6; echo kept")
    await client.runs(task, ann)
    with ann.disk.full():

        async def noticed() -> bool:
            (container,) = client.containers(task, ann)
            return container["State"] == "exited" and any(words in ann.log() for words in DISK_WORDS)

        await client.until(noticed, "the agent to notice that it can keep nothing")
        assert ann.child.ended() is None
        assert await client.state(task) in ("Assigned", "Running")
    await settled_with(client, task, "kept\n")
    await client.online(ann)


async def test_floods_and_giants_are_refused_and_everybody_else_goes_on(net: StormNet, client: NetworkClient):
    ben = net.hosts["ben"]
    await client.online(ben)
    idle_mib = ben.rss_mib()
    giant = await client.job(ben, "truncate -s 10G /giant", top="duration: 10m, result: /giant")
    quiet = await client.job(ben, TICKS)
    flood = await client.job(ben, FLOOD)
    await client.runs(flood, ben)
    with net.following("logs", str(flood), "-f", "--account=//Charlie"):
        heard = [0]
        largest = 0
        while len(heard) < 4 or heard[-1] == heard[1] or largest < 2 * MOST_LOG_BYTES:
            heard.append(net.gantry("logs", str(quiet), "--account=//Charlie").count("tick"))
            largest = max(largest, net.log_bytes(client.containers(flood, ben)))
        for task in (flood, quiet):
            net.gantry("exec", str(task), "--account=//Charlie", "--", "touch", "/end")
    assert largest <= ENGINE_LOG_BYTES * 1.1
    await settled_with(client, giant, "", exit_code=153)
    assert "/giant has 10737418240 bytes, more than the 16777216" in net.gantry(
        "logs", str(giant), "--account=//Charlie"
    )
    await settled_with(client, flood, "", exit_code=153)
    kept = net.gantry("logs", str(flood), "--account=//Charlie")
    assert kept.startswith("[the log was longer")
    assert "the end of the flood" in kept[-1000:]
    assert f"more than the {RESULT_BYTES} bytes a result may have" in kept[-1000:]
    assert len(kept) <= MOST_LOG_BYTES
    ticks = net.gantry("logs", str(quiet), "--account=//Charlie").count("tick")
    await settled_with(client, quiet, "".join(f"tick {number}\n" for number in range(1, ticks + 1)))
    peak_mib = ben.rss_mib("VmHWM")
    sys.stderr.write(f"agent: {idle_mib:.0f} MiB idle, {peak_mib:.0f} at most; engine's log: {largest >> 20} MiB\n")
    assert peak_mib <= idle_mib + 48


async def test_an_engine_that_is_killed_under_a_pod_of_several_containers(net: StormNet, client: NetworkClient):
    ann = net.hosts["ann"]
    await client.online(ann)
    services = """services:
  main: {image: IMAGE, command: [sh, -c, "sleep 3; echo done"], LIMITS}
  beside: {image: IMAGE, command: [sleep, "600"], LIMITS}
"""
    task = await client.submit(ann, services)
    await client.until_state(task, "Running")
    assert len(client.containers(task, ann)) == 2
    assert net.dockerd.process is not None
    net.dockerd.process.kill()
    net.dockerd.process.wait()
    net.dockerd.start()
    net.await_engine()
    await settled_with(client, task, "done\n")
    await client.gone(task, ann)


def uuids(net: StormNet, client: NetworkClient, task: int, host: HostOfNet) -> list[str]:
    """The GPUs that the engine was asked for."""
    (container,) = client.containers(task, host)
    (request,) = net.engine.inspect_container(container["Id"])["HostConfig"]["DeviceRequests"]
    return [str(one) for one in request["DeviceIDs"]]
