"""A pod of a spot task is told that it has to leave, and is stopped when its lease has ended."""

import json

import pytest
from agent_builders import HOST, MANIFEST, a_handle, a_lease
from agent_world import World
from test_agent_kinds_service import RENTAL

from node_agent.chain.follower import REREAD_EVERY_BLOCKS
from node_agent.core import commands as cmd
from node_agent.core import events as ev
from node_agent.core.admission import read_manifest
from node_agent.core.machine import handle
from node_agent.core.pod_steps import termination_notice
from node_agent.core.states import AgentState, Phase
from node_agent.core.values import FoundContainer
from offchain.schema.chain_types._generated_chain import Preemption, Survival, TaskKind, TaskStateRunning
from offchain.schema.chain_types.ids import lease_parts
from tests.support.chain_records import tasks_params
from tests.support.fake_engine import FakeProgram

SPOT = MANIFEST.replace(b"duration", b"spot: {checkpoint_signal: SIGUSR2}\n  duration")
MOVES = MANIFEST.replace(b"duration", b"survival: move\n  duration")
WARN = cmd.SignalPod(1, "SIGUSR2")
TELL = cmd.WriteNotice(1, 9_000)


def lease(manifest=SPOT, **changes):
    return a_lease(manifest=manifest, **changes)


def play(*events, state=None):
    state, commands = state or AgentState(HOST), []
    for event in events:
        state, commands = handle(state, event, 5_000)
    return state, commands


def running(manifest=SPOT):
    began = (
        ev.LeaseAssigned(lease(manifest), read_manifest(manifest)),
        ev.PodPrepared(1),
        ev.ContainerStarted(1, a_handle()),
    )
    return play(*began)[0]


def told(manifest=SPOT, ends_at_ms=9_000):
    return ev.LeaseAssigned(lease(manifest, notice_ends_ms=ends_at_ms))


def test_the_containers_get_the_signal_once_for_each_notice():
    state, commands = play(told(), state=running())
    assert commands == [TELL, WARN]
    state, commands = play(told(), state=state)
    assert commands == []
    state, commands = play(told(ends_at_ms=None), state=state)
    assert commands == [cmd.WriteNotice(1, None)]
    assert play(told(ends_at_ms=99_000), state=state)[1] == [cmd.WriteNotice(1, 99_000), WARN]


def test_who_is_told_runs_on_until_its_lease_has_ended():
    state, _ = play(told(), state=running())
    state, commands = play(ev.Tick(), state=state)
    assert (state.phase(1), commands) == (Phase.RUNNING, [])
    state, commands = play(ev.LeaseEnded(1, "Preempted"), state=state)
    assert commands == [cmd.StopPod(1, "Preempted"), cmd.DestroyPod(1)]


def test_who_is_no_spot_task_by_its_manifest_gets_no_signal():
    assert play(told(MANIFEST), state=running(MANIFEST))[1] == []


def test_who_is_to_be_moved_off_a_host_that_works_is_told_once_and_not_any_more_when_it_may_stay():
    drained = ev.LeaseAssigned(lease(MOVES, moves_after_ms=4_000))
    state, commands = play(drained, state=running(MOVES))
    assert commands == [TELL]
    state, commands = handle(state, drained, 7_000)
    assert commands == [], "what was said stays"
    taken_back = ev.LeaseAssigned(lease(MOVES, moves_after_ms=4_000, notice_ends_ms=8_000))
    state, commands = handle(state, taken_back, 7_000)
    assert commands == [cmd.WriteNotice(1, 8_000)], "its provider ends it sooner"
    state, commands = handle(state, ev.LeaseAssigned(lease(MOVES)), 7_000)
    assert commands == [cmd.WriteNotice(1, None)]
    assert handle(state, drained, 20_000)[1] == [cmd.WriteNotice(1, 24_000)]


def test_a_notice_before_the_start_is_written_without_a_signal():
    state, _ = play(ev.LeaseAssigned(lease(), read_manifest(SPOT)))
    assert play(told(), state=state)[1] == [TELL]
    _, commands = play(ev.LeaseAssigned(lease(notice_ends_ms=9_000), read_manifest(SPOT)))
    assert commands[0] == TELL


def test_after_a_restart_of_the_agent_the_signal_is_sent_in_any_case():
    state, _ = play(told(), state=running())
    found = FoundContainer(a_handle(), running=True)
    _, commands = play(ev.Recovered((found,), (lease(notice_ends_ms=9_000),)), state=state)
    assert commands[-2:] == [TELL, WARN]


def test_the_notice_says_the_moment_in_both_ways():
    assert json.loads(termination_notice(1_790_000_000_007)) == {
        "ends_at": "2026-09-21T14:13:20.007Z",
        "ends_at_ms": 1_790_000_000_007,
    }


async def test_a_program_finds_the_notice_and_its_last_output_is_its_result(tmp_path):
    world = World(tmp_path / "agent", lambda *_: FakeProgram(runs_until_told=True))
    async with world.agent() as agent:
        number = world.open_lease(SPOT)
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING)
        for _ in range(5):
            await world.chain.produce()
        assert agent.state.phase(number) is Phase.RUNNING
        ends_at = world.now_ms + 120_000
        world.tasks.change(lease_parts(number)[0], state=TaskStateRunning(), preemption=Preemption(9, ends_at))
        await world.until(lambda: world.reports)
        ((_, result),) = world.reports
        assert agent._dir.get_blob(result["digest"]) == termination_notice(ends_at)


@pytest.mark.parametrize(("manifest", "survival"), [(MOVES, Survival.MOVE), (SPOT, Survival.RESTART)])
async def test_a_pod_that_may_move_gets_a_notice_when_its_host_is_drained(tmp_path, manifest, survival):
    world = World(tmp_path / "agent", lambda *_: FakeProgram(runs_until_told=True))
    world.table("Tasks", "Params")[()] = tasks_params()
    async with world.agent() as agent:
        number = world.open_lease(manifest, survival=survival)
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING)
        hosts, drained_ms = world.table("Hosts", "Hosts"), world.now_ms
        for _ in range(REREAD_EVERY_BLOCKS + 1):
            # A heartbeat, here, makes it one that takes pods again.
            hosts[(world.host,)] = {**hosts[(world.host,)], "status": "Draining"}
            await world.chain.produce()
        if survival is Survival.RESTART:
            assert not world.engine.notices
            return
        await world.until(lambda: world.reports)
        ((_, result),) = world.reports
        ends_at_ms = json.loads(agent._dir.get_blob(result["digest"]))["ends_at_ms"]
        notice_ms = tasks_params()["preemption_notice_ms"]
        assert drained_ms + notice_ms < ends_at_ms <= world.now_ms + notice_ms


async def test_a_provider_that_takes_its_host_back_is_a_notice_too(tmp_path):
    world = World(tmp_path / "agent", lambda *_: FakeProgram(runs_until_told=True))
    async with world.agent() as agent:
        number = world.open_lease(RENTAL, kind=TaskKind.RENTAL)
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING)
        ends_at = world.now_ms + 120_000
        world.tasks.change_lease(number, reclaim_at=ends_at)
        await world.until(lambda: world.engine.notices)
        assert set(world.engine.notices.values()) == {termination_notice(ends_at)}
