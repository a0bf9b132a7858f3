"""The agent's shell over twins: a lease from its block to its report, what tenants get, the folder and the hardware."""

import asyncio
import hashlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from agent_world import HARDWARE, RUNS, TENANT, settle

from node_agent.chain.registration import check_devices
from node_agent.core.admission import read_manifest
from node_agent.core.states import Phase
from node_agent.core.values import HostFailure
from node_agent.drivers.port import CollectedResult, ImageUnavailable
from node_agent.logs.store import LogKey
from node_agent.runtime import runner
from node_agent.runtime.state_dir import KEEP_S, StateDir
from node_agent.telemetry.hardware import Hardware
from offchain.adapters.keys.signer import Ed25519Signer, from_uri
from offchain.adapters.outbox import outbox
from offchain.adapters.transport.host_client import HostClient
from offchain.adapters.transport.port import HostRefused
from offchain.errors import OurError
from offchain.schema.chain_types._generated_chain import EndReasonCancelled, HostRecord, TaskKind
from offchain.schema.protocol.messages import Code
from tests.support.fake_driver import FakeDriver
from tests.support.fake_engine import FakeProgram

DIGEST = hashlib.sha256(b"hello\n").digest()


async def test_a_job_is_run_and_reported_once(world):
    async with world.agent() as agent:
        number = world.open_lease()
        await world.until(lambda: world.reports and not agent.state.pods)
    ((lease, result),) = world.reports
    assert (lease, result["digest"], result["exit_code"]) == (number, DIGEST, 0)
    assert world.engine.starts == 1
    assert not world.engine.containers


async def test_the_host_sends_heartbeats_and_its_endpoint(world):
    def record():
        return world.table("Hosts", "Hosts")[(world.host,)]

    async with world.agent() as agent:
        await world.until(lambda: record()["status"] == "Online" and record()["endpoint"])
        assert record()["endpoint"] == agent._transport.addresses[0].encode()


async def test_heartbeats_go_on_while_finality_stalls(world):
    """Each heartbeat is sent when it is due on the best block, although its predecessor is not final."""

    def record():
        return world.table("Hosts", "Hosts")[(world.host,)]

    async with world.agent() as agent:
        await world.until(lambda: record()["status"] == "Online" and record()["endpoint"])
        final = (await world.chain.finalized_head()).number
        for _ in range(3):
            last_ms = record()["last_heartbeat"]
            world.table("Timestamp", "Now")[()] = last_ms + world.table("Hosts", "Params")[()]["heartbeat_period_ms"]
            await agent._heartbeat.send_due()
            await world.until(lambda last_ms=last_ms: record()["last_heartbeat"] > last_ms, final=False)
        assert (await world.chain.finalized_head()).number == final


async def test_the_agent_works_while_a_manifest_is_parsed(world, monkeypatch):
    loop, began, go = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def slow(data):
        loop.call_soon_threadsafe(began.set)
        assert go.wait(30), "the event loop waits for the parser"
        return read_manifest(data)

    monkeypatch.setattr(runner, "read_manifest", slow)
    async with world.agent() as agent:
        loop.set_default_executor(ThreadPoolExecutor(1))
        number = world.open_lease()
        await world.chain.produce()
        await began.wait()
        assert agent.state.phase(number) is Phase.ASSIGNED
        go.set()
        await asyncio.to_thread(int)  # the same thread, so the manifest is parsed now
        await world.until(lambda: world.reports and not agent.state.pods)
    assert world.engine.starts == 1


async def test_a_pod_starts_before_its_block_is_final(world):
    async with world.agent() as agent:
        number = world.open_lease()
        await world.chain.produce(finalize=False)
        await settle(lambda: agent.state.phase(number) is Phase.EXITED or world.engine.starts)
        assert world.engine.starts == 1


async def test_a_result_is_reported_before_its_started_report_is_final(world):
    async with world.agent() as agent:
        await world.until(lambda: world.calls)
        number = world.open_lease()
        await world.until(lambda: world.reports, final=False)
        ((lease, result),) = world.reports
        assert (lease, result["digest"]) == (number, DIGEST)
        reporting = agent.state.phase(number)
        final = (await world.chain.finalized_head()).number
        await world.until(lambda: not agent.state.pods)
    assert reporting is Phase.REPORTING
    nonces = [nonce for call, _, nonce in world.chain.executed if call.function.startswith("report_")]
    assert len(nonces) == 2
    assert nonces == sorted(nonces)
    assert final < (await world.chain.finalized_head()).number


async def test_a_reverted_lease_leaves_no_container(world):
    world.program = RUNS
    async with world.agent() as agent:
        await world.chain.produce()
        number = world.open_lease()
        await world.chain.produce(finalize=False)
        await settle(lambda: agent.state.phase(number) is Phase.RUNNING)
        world.tasks.clear()
        await world.chain.fork()
        await world.until(lambda: not agent.state.pods)
        assert not world.engine.containers
    assert world.reports == []


async def test_a_lease_that_another_fork_opens_again_is_reported_there_before_it_is_final(world, monkeypatch):
    monkeypatch.setattr(outbox, "STALL_S", 0.0)
    async with world.agent() as agent:
        host = world.table("Hosts", "Hosts")
        await world.until(lambda: host[(world.host,)]["endpoint"] and not world.chain.pool)
        number = world.open_lease()
        await world.chain.produce(finalize=False)
        await settle(lambda: world.chain.pool)
        await world.chain.fork()
        world.chain.forget_pool()
        world.tasks.change_lease(number, created_at=world.now_ms + 1)
        await world.until(lambda: world.reports, final=False)
        await world.until(lambda: not agent.state.pods)
    ((lease, result),) = world.reports
    assert (lease, result["digest"]) == (number, DIGEST)
    assert world.engine.starts == 1


async def test_a_cancelled_job_is_stopped_and_not_reported(world):
    world.program = RUNS
    async with world.agent() as agent:
        number = world.open_lease()
        await world.until(lambda: agent.state.pods and agent.state.pods[number].started_known)
        world.end_lease(number, EndReasonCancelled())
        await world.until(lambda: not agent.state.pods)
        assert not world.engine.containers
    assert world.reports == []


async def test_an_image_that_is_nowhere_gives_the_lease_back(world):
    world.program = FakeProgram(fails_to_start=ImageUnavailable("nowhere"))
    async with world.agent() as agent:
        world.open_lease()
        await world.until(lambda: world.reports and not agent.state.pods)
    assert [report for _, report in world.reports] == [HostFailure.IMAGE_UNAVAILABLE]


async def test_a_result_that_is_too_large_fails_a_job_that_else_ended_well(world, monkeypatch):
    async def collect(_self, _handle, _result):
        return CollectedResult(b"", "the result is too large", too_large=True)

    monkeypatch.setattr(FakeDriver, "collect", collect)
    for exit_code, reported in ((0, 153), (4, 4)):
        world.reports.clear()
        world.program = FakeProgram(exit_code=exit_code)
        async with world.agent() as agent:
            number = world.open_lease()
            await world.until(lambda: world.reports and not agent.state.pods)
            log = b"".join(agent._dir.logs.lines(LogKey(number, world.tasks.lease(number).created_at)))
        assert world.reports[0][1]["exit_code"] == reported
        assert b"[the result is too large]" in log


async def test_reports_that_are_due_at_once_go_as_one(world):
    world.program = RUNS
    async with world.agent() as agent:
        numbers = [world.open_lease() for _ in range(3)]
        await world.until(
            lambda: len(agent.state.pods) == 3 and all(p.started_known for p in agent.state.pods.values())
        )
        assert "report_batch" in world.calls
        for number in numbers:
            world.engine.finish(world.host, number)
        await world.until(lambda: len(world.reports) == 3 and not agent.state.pods)
    assert sorted(number for number, _ in world.reports) == numbers
    assert world.engine.starts == 3


async def test_what_no_agent_can_run_yet_is_given_back_with_the_reason(world):
    async with world.agent() as agent:
        world.open_lease(kind=TaskKind.SERVICE)
        await world.until(lambda: world.reports and not agent.state.pods)
    assert [report for _, report in world.reports] == [HostFailure.MANIFEST_INVALID]


# --- what tenants get -------------------------------------------------------------------------------------------------


def client(world, agent, signer):
    transport = world.network.endpoint(Ed25519Signer(b"c" * 32).public_key)
    return HostClient(
        transport,
        world.key.public_key,
        agent._transport.addresses,
        genesis_hash=world.chain.genesis,
        signer=signer,
        now_ms=lambda: world.now_ms,
    )


async def test_the_tenant_reads_result_and_log_after_the_container_is_gone(world):
    async with world.agent() as agent:
        number = world.open_lease()
        await world.until(lambda: world.reports and not agent.state.pods)
        tenant = client(world, agent, TENANT)
        assert await tenant.result(number, DIGEST) == b"hello\n"
        log = b"".join([chunk async for chunk in tenant.logs(number)])
        assert log.count(b"hello\n") == log.count(b"warned\n") == 1
        await tenant.close()


async def test_the_log_of_a_running_pod_and_who_may_read_it(world):
    world.program = RUNS
    async with world.agent() as agent:
        number = world.open_lease()
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING)
        tenant = client(world, agent, TENANT)
        assert b"late\n" in b"".join([chunk async for chunk in tenant.logs(number)])
        refusals = []
        for signer, lease in ((TENANT, number), (from_uri("//Bob"), number), (TENANT, number + 1)):
            asking = client(world, agent, signer)
            with pytest.raises(HostRefused) as caught:
                await asking.result(lease, DIGEST)
            refusals.append(caught.value.refusal.code)
            await asking.close()
        assert refusals == [Code.NOT_READY, Code.NOT_YOUR_LEASE, Code.UNKNOWN_LEASE]
        await tenant.close()


# --- the folder and the hardware --------------------------------------------------------------------------------------


def test_two_agents_cannot_share_a_folder(tmp_path):
    first = StateDir(tmp_path)
    with pytest.raises(OurError, match="Another agent"):
        StateDir(tmp_path)
    first.close()
    StateDir(tmp_path).close()


def test_results_are_kept_by_digest_and_an_altered_one_is_not_served(tmp_path):
    state = StateDir(tmp_path)
    digest = state.put_blob(b"data")
    assert state.get_blob(digest) == b"data"
    blob = tmp_path / "blobs" / digest.hex()
    assert blob.stat().st_mode & 0o777 == 0o600
    blob.write_bytes(b"other")
    assert state.get_blob(digest) is None
    assert state.get_blob(b"\0" * 32) is None
    state.close()


def test_old_results_and_logs_are_removed_and_new_ones_kept(tmp_path):
    state = StateDir(tmp_path)
    old, new = state.put_blob(b"old"), state.put_blob(b"new")
    os.utime(tmp_path / "blobs" / old.hex(), (1_000, 1_000))
    assert state.tidy(1_000 + KEEP_S + 1) == 1
    assert (state.get_blob(old), state.get_blob(new)) == (None, b"new")
    state.close()


def test_other_hardware_than_the_chain_lists_is_refused(world):
    record = HostRecord.decode(world.table("Hosts", "Hosts")[(world.host,)])
    check_devices(record, HARDWARE)
    check_devices(None, HARDWARE)
    with pytest.raises(OurError, match="no device"):
        check_devices(record, Hardware(1, 1, 1, ()))
