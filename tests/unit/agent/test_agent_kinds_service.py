"""The agent's shell with services, rentals and pods of several containers, over twins."""

import hashlib
import json
import sqlite3

import pytest
from agent_world import World, settle

from node_agent.core.states import Phase
from node_agent.core.values import HostFailure
from node_agent.drivers.port import ImageCannotRun
from node_agent.logs.store import LogKey
from node_agent.runtime.state_dir import StateDir
from offchain.schema.chain_types._generated_chain import (
    EndReasonDataMoved,
    LeaseStateActive,
    LeaseStateRetained,
    LeaseStateSuspended,
    TaskKind,
)
from tests.support.fake_engine import FakeProgram

IMAGE = "demo/shell@sha256:" + "1" * 64
RUNS = FakeProgram(runs=True, healthy=True)
LIMITS = 'deploy: {resources: {limits: {cpus: "0.1", memory: 16M}}}'
TOP = "x-gantry: {kind: %s, price: {max_per_hour: 1 GTY}, duration: 10m}\n"
POD = f"""
services:
  main: {{image: {IMAGE}, depends_on: [db], {LIMITS}}}
  db: {{image: {IMAGE}, {LIMITS}}}
{TOP % "job"}""".encode()
SERVICE = f"""
services:
  main:
    image: {IMAGE}
    healthcheck: {{test: [CMD, "true"], interval: 5s, timeout: 1s, retries: 2}}
    secrets: [token]
    {LIMITS}
secrets: {{token: {{external: true}}}}
{TOP % "service"}""".encode()
RENTAL = f"""
services:
  main: {{image: {IMAGE}, volumes: ["home:/home"], {LIMITS}}}
volumes: {{home: {{}}}}
{TOP % "rental"}""".encode()


@pytest.fixture(params=[0])
def world(tmp_path, request):
    made = World(tmp_path / "agent", lambda _spec, container: made.programs.get(container.service.name, RUNS))
    made.programs = {}
    made.clock_off_ms = request.param
    return made


def rental(world, **changes):
    return world.open_lease(RENTAL, kind=TaskKind.RENTAL, **changes)


async def test_a_pod_of_several_containers_runs_and_leaves_nothing(world):
    world.programs["main"] = FakeProgram(output=b"hello\n")
    async with world.agent() as agent:
        number = world.open_lease(POD)
        await world.until(lambda: world.reports and not agent.state.pods)
    assert world.engine.starts == 2
    assert not world.engine.containers
    assert not world.engine.networks
    ((lease, result),) = world.reports
    assert (lease, result["digest"]) == (number, hashlib.sha256(b"hello\n").digest())


async def test_a_service_waits_for_its_secret_and_runs_before_it_is_healthy(world):
    world.programs["main"] = FakeProgram(runs=True)
    async with world.agent() as agent:
        number = world.open_lease(SERVICE, kind=TaskKind.SERVICE)
        await world.until(lambda: agent.state.phase(number) is Phase.AWAITING)
        with pytest.raises(ValueError, match="names no secret or input 'other'"):
            await agent.deliver(number, "other", b"")
    # The secret is there for the next agent, too.
    async with world.agent() as agent:
        await agent.deliver(number, "token", b"secret")
        await settle(lambda: agent.state.phase(number) is Phase.RUNNING)
        with pytest.raises(ValueError, match="waits for no files"):
            await agent.deliver(number, "token", b"again")
    async with world.agent() as agent:
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING and "report_started" in world.calls)
        assert world.engine.main(world.host, number).healthy is None
        world.end_lease(number)
        await world.until(lambda: not agent.state.pods)
        assert not agent._dir.files.leases()
    assert world.engine.starts == 1


async def test_a_failed_dependency_is_the_result_of_a_pod_whose_main_container_never_started(world):
    world.programs["db"] = FakeProgram(output=b"no room\n", exit_code=5)
    async with world.agent() as agent:
        number = world.open_lease(POD.replace(b"[db]", b"{db: {condition: service_completed_successfully}}"))
        await world.until(lambda: world.reports and not agent.state.pods)
        log = b"".join(agent._dir.logs.lines(LogKey(number, world.tasks.lease(number).created_at)))
    ((_, result),) = world.reports
    assert (result["exit_code"], result["digest"]) == (5, hashlib.sha256(b"").digest())
    assert b"no room" in log
    assert b"[main waits until db is completed, but that ended with exit code 5.]" in log


async def test_a_program_that_the_image_does_not_have_is_a_result_after_a_dependency_ran(world):
    world.programs["main"] = FakeProgram(fails_to_start=ImageCannotRun("no such program"))
    async with world.agent() as agent:
        number = world.open_lease(POD)
        await world.until(lambda: world.reports and not agent.state.pods)
        log = b"".join(agent._dir.logs.lines(LogKey(number, world.tasks.lease(number).created_at)))
    ((_, result),) = world.reports
    assert result["exit_code"] == 127
    assert b"[main did not start: no such program]" in log


async def test_a_service_that_takes_too_much_disk_is_stopped_and_reported(world):
    world.programs["main"] = FakeProgram(runs=True, healthy=True, disk_mib=1025)
    async with world.agent() as agent:
        number = world.open_lease(POD)
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING and agent.state.pods[number].started_known)
        await agent._upkeep.run()
        await world.until(lambda: world.reports and not agent.state.pods)
    ((_, result),) = world.reports
    assert result["exit_code"] == 137


@pytest.mark.parametrize("world", [0, 3_600_000, -3_600_000], indirect=True)
async def test_a_rental_is_stopped_started_and_its_data_deleted_with_a_receipt(world):
    async with world.agent() as agent:
        number = rental(world)
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING and agent.state.pods[number].started_known)
        world.set_lease(number, LeaseStateSuspended())
        await world.until(lambda: agent.state.phase(number) is Phase.SUSPENDED)
        assert world.engine.main(world.host, number).ending is not None
    async with world.agent() as agent:
        world.set_lease(number, LeaseStateActive())
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING)
        ((container, starts),) = [(one.reference, one.start) for one in world.engine.of(world.host, number)]
        assert (container, starts) == ("fake-2", 2)
        until = world.now_ms + 60_000
        world.set_lease(number, LeaseStateRetained(value=until))
        await world.until(lambda: agent.state.phase(number) is Phase.RETAINED)
        assert not world.engine.containers
        assert world.engine.data
        await world.until(lambda: world.reports and not agent.state.pods)
        assert world.now_ms > until
    ((lease, report),) = world.reports
    assert lease == number
    assert not world.engine.data
    state = StateDir(world.folder)
    record = json.loads(state.get_blob(report["receipt"]))
    state.close()
    assert (record["lease"], record["host"]) == (number, world.host)
    assert [volume["name"] for volume in record["volumes"]] == ["home"]


async def test_retained_data_that_is_gone_is_reported_as_lost(world):
    async with world.agent() as agent:
        number = rental(world)
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING and agent.state.pods[number].started_known)
        world.set_lease(number, LeaseStateRetained(value=10**15))
        await world.until(lambda: agent.state.phase(number) is Phase.RETAINED)
    world.engine.data.clear()
    async with world.agent() as agent:
        await world.until(lambda: agent.state.phase(number) is Phase.PURGED)
        # Another machine might have it, with an agent that beats before this one.
        await world.chain.produce(30)
        assert "report" not in world.calls
        world.table("Timestamp", "Now")[()] = world.now_ms
        await agent._heartbeat.send_due()
        await world.until(lambda: "report" in world.calls)


async def test_another_rental_takes_the_data_over(world):
    async with world.agent() as agent:
        first = rental(world)
        await world.until(lambda: agent.state.phase(first) is Phase.RUNNING and agent.state.pods[first].started_known)
        (data,) = world.engine.data.values()
        world.set_lease(first, LeaseStateRetained(value=10**15))
        await world.until(lambda: agent.state.phase(first) is Phase.RETAINED)
        second = rental(world, data_from=first)
        world.end_lease(first, EndReasonDataMoved())
        await world.until(lambda: agent.state.phase(second) is Phase.RUNNING and first not in agent.state.pods)
    assert world.engine.data == {(world.host, second): data}


async def test_a_manifest_of_another_kind_than_the_task_is_given_back(world):
    async with world.agent() as agent:
        world.open_lease(RENTAL, kind=TaskKind.SERVICE)
        await world.until(lambda: world.reports and not agent.state.pods)
    assert [report for _, report in world.reports] == [HostFailure.MANIFEST_INVALID]


async def test_events_wait_while_the_disk_takes_nothing(world, monkeypatch):
    async with world.agent() as agent:
        number = world.open_lease(POD)
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING and agent.state.pods[number].started_known)

        def full(_changed):
            raise sqlite3.OperationalError("database or disk is full")

        monkeypatch.setattr(agent._dir, "save_pods", full)
        world.engine.finish(world.host, number)
        await settle(lambda: len(agent._events))
        assert agent.state.phase(number) is Phase.RUNNING
        monkeypatch.undo()
        await world.until(lambda: world.reports and not agent.state.pods)
    assert world.engine.starts == 2
