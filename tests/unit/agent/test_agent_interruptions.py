"""The agent's shell over twins: restarts, lost containers, full disks, silences, and a chain that was started anew."""

import asyncio

import pytest
from agent_world import RUNS, settle

from node_agent.chain import call_sender
from node_agent.chain.clock import LONG_SILENCE_MS
from node_agent.core.states import Phase
from node_agent.core.values import HostFailure
from node_agent.runtime.state_dir import StateDir
from offchain.errors import Reorganised, StoreStuck
from offchain.schema.chain_types._generated_chain import EndReasonHostLost
from tests.support.fake_engine import FakeProgram


async def test_an_agent_killed_in_mid_task_takes_the_same_container_up_again(world):
    world.program = RUNS
    async with world.agent() as agent:
        number = world.open_lease()
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING)
    async with world.agent() as agent:
        assert agent.state.phase(number) is Phase.RUNNING
        world.engine.finish(world.host, number)
        await world.until(lambda: world.reports and not agent.state.pods)
    assert world.engine.starts == 1
    assert len(world.reports) == 1


async def test_a_result_of_a_job_that_ended_while_the_agent_was_away_is_reported(world):
    world.program = RUNS
    async with world.agent() as agent:
        number = world.open_lease()
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING)
    world.engine.finish(world.host, number, exit_code=4)
    async with world.agent():
        await world.until(lambda: world.reports)
    assert world.reports[0][1]["exit_code"] == 4


async def test_a_lost_database_does_not_run_a_lease_twice_at_once(world):
    world.program = RUNS
    async with world.agent() as agent:
        number = world.open_lease()
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING)
    for file in world.folder.glob("agent.db*"):
        file.unlink()
    async with world.agent() as agent:
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING)
        assert world.engine.starts == 1
        world.engine.finish(world.host, number)
        await world.until(lambda: world.reports)


async def test_an_orphan_is_swept_at_start(world):
    world.program = RUNS
    async with world.agent() as agent:
        number = world.open_lease()
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING)
    world.end_lease(number, EndReasonHostLost())
    for file in world.folder.glob("agent.db*"):
        file.unlink()
    await world.chain.produce()
    async with world.agent():
        await world.until(lambda: not world.engine.containers)
    assert world.reports == []


async def test_a_container_killed_by_others_is_started_again(world):
    world.program = RUNS
    async with world.agent() as agent:
        number = world.open_lease()
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING)
        world.engine.kill(world.host, number)
        await world.until(lambda: world.engine.starts == 2 and agent.state.phase(number) is Phase.RUNNING)
        world.engine.finish(world.host, number)
        await world.until(lambda: world.reports and not agent.state.pods)
    ((_, result),) = world.reports
    assert result["exit_code"] == 0


async def test_a_chain_that_is_away_for_a_while_costs_nothing(world):
    world.program = RUNS
    async with world.agent() as agent:
        number = world.open_lease()
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING)
        world.chain.unreachable = True
        world.engine.finish(world.host, number)
        await settle(lambda: agent.state.phase(number) is Phase.REPORTING)
        world.chain.unreachable = False
        await world.chain.drop_subscriptions()
        await world.until(lambda: world.reports)
    assert len(world.reports) == 1


# --- full disks and silences ------------------------------------------------------------------------------------------


async def test_what_was_written_to_a_full_disk_is_the_hosts_fault(world):
    world.program = FakeProgram(output=b"hello\n", no_space=True)
    async with world.agent() as agent:
        world.open_lease()
        await world.until(lambda: world.reports and not agent.state.pods)
    assert [report for _, report in world.reports] == [HostFailure.RESOURCES_UNAVAILABLE]


async def test_a_disk_that_the_pod_itself_filled_is_its_own_fault(world):
    world.program = FakeProgram(output=b"hello\n", exit_code=1, no_space=True, disk_mib=1025)
    async with world.agent() as agent:
        world.open_lease()
        await world.until(lambda: world.reports and not agent.state.pods)
    ((_, result),) = world.reports
    assert result["exit_code"] == 1


async def test_a_report_that_cannot_be_stored_is_sent_when_there_is_space(world, monkeypatch):
    monkeypatch.setattr(call_sender, "STUCK_PAUSE_S", 0)
    async with world.agent() as agent:
        outbox, full = agent._outbox, True
        submit = outbox.submit

        async def stuck(key, call, **more):
            if full and key.startswith("lease/"):
                raise StoreStuck("The disk is full.", "Make room.")
            await submit(key, call, **more)

        monkeypatch.setattr(outbox, "submit", stuck)
        number = world.open_lease()
        await world.until(lambda: agent.state.phase(number) is Phase.REPORTING)
        assert world.reports == []
        full = False
        await world.until(lambda: world.reports and not agent.state.pods)
    assert len(world.reports) == 1


async def test_events_of_a_full_disk_wait_in_order_and_each_but_once(world, monkeypatch):
    async with world.agent() as agent:
        full, save = True, agent._dir.save_pods

        def stuck(changed):
            if full:
                raise StoreStuck("The disk is full.", "Make room.")
            save(changed)

        monkeypatch.setattr(agent._dir, "save_pods", stuck)
        number, other = world.open_lease(), world.open_lease()
        for _ in range(20):
            await world.chain.produce()
            await settle(lambda: len(agent._events) >= 2)
        assert len(agent._events) <= 4
        assert "The disk is full" in agent.troubles["disk"]
        full = False
        await world.until(lambda: len(world.reports) == 2 and not agent.state.pods)
        assert agent.troubles == {}
    assert sorted(lease for lease, _ in world.reports) == [number, other]


@pytest.mark.parametrize("ended_first", [True, False])
async def test_nothing_is_reported_about_a_lease_lost_during_a_silence(world, ended_first):
    world.program = RUNS
    passed_ms = 0
    async with world.agent(ticks=lambda: world.now_ms + passed_ms) as agent:
        number = world.open_lease()
        # Until the started report is final, so that what is in the outbox below is the result.
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING and not agent._outbox.unfinished)
        world.chain.unreachable = True
        if ended_first:  # its report is in the outbox already
            world.engine.finish(world.host, number)
            await settle(lambda: agent._outbox.unfinished)
        passed_ms = LONG_SILENCE_MS + 1
        if not ended_first:
            world.engine.finish(world.host, number)
        await settle(lambda: agent.state.phase(number) is Phase.REPORTING)
        assert "no block has come" in agent.troubles["node"]
        world.end_lease(number, EndReasonHostLost())
        calls = list(world.calls)
        world.chain.unreachable = False
        await world.chain.drop_subscriptions()
        await world.until(lambda: not agent.state.pods)
        for _ in range(5):
            await world.chain.produce()
        if not ended_first:
            assert not [row for row in agent._dir.store.all("SELECT key FROM intents") if "/result" in row["key"]]
    assert "report_result" not in world.calls[len(calls) :]
    assert world.reports == []


# --- a chain that was started anew ------------------------------------------------------------------------------------


async def test_a_chain_that_was_started_anew_ends_no_pod_and_ends_the_agent(world):
    world.program = RUNS
    away_ms = 0
    state = StateDir(world.folder)
    ticks = lambda: world.now_ms + away_ms  # noqa: E731
    agent, running = world.started(state, ticks)
    await agent.ready.wait()
    number = world.open_lease()
    await world.until(lambda: agent.state.phase(number) is Phase.RUNNING)
    height = 40
    await world.until(lambda: agent._follower._last is not None and agent._follower._last.number >= height)
    world.chain.storage["Tasks", "Tasks"].clear()
    world.chain.storage["Hosts", "Hosts"].clear()
    await world.chain.start_anew()
    await world.chain.produce(2)
    away_ms = LONG_SILENCE_MS * 10
    await settle(lambda: agent.troubles.get("chain"))
    assert "its database was removed" in agent.troubles["chain"]
    assert agent.state.phase(number) is Phase.RUNNING
    # Proven once the new chain is as high as the old one was.
    await world.chain.produce(height)
    with pytest.raises(Reorganised, match=r"agent\.db away"):
        await asyncio.wait_for(running, 10)
    state.close()
    assert world.engine.containers
    # It does not start on the new chain either, and touches nothing.
    state = StateDir(world.folder)
    agent, running = world.started(state, ticks)
    with pytest.raises(Reorganised):
        await asyncio.wait_for(running, 10)
    state.close()
    assert world.engine.containers
