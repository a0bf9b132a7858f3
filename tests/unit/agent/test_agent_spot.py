"""A pod of a spot task is told that it has to leave, and is stopped when its lease has ended."""

from agent_builders import HOST, MANIFEST, a_handle, a_lease

from node_agent.core import commands as cmd
from node_agent.core import events as ev
from node_agent.core.machine import handle
from node_agent.core.states import AgentState, Phase
from node_agent.core.values import Found

SPOT = MANIFEST.replace(b"duration", b"spot: {checkpoint_signal: SIGUSR2}\n  duration")
WARN = cmd.WarnPod(1, "SIGUSR2")


def lease(manifest=SPOT, **changes):
    return a_lease(manifest=manifest, **changes)


def play(*events, state=None):
    state, commands = state or AgentState(HOST), []
    for event in events:
        state, commands = handle(state, event, 5_000)
    return state, commands


def running(manifest=SPOT):
    began = (ev.LeaseAssigned(lease(manifest), manifest), ev.Prepared(1), ev.ContainerStarted(1, a_handle()))
    return play(*began)[0]


def told(manifest=SPOT, ends_at_ms=9_000):
    return ev.LeaseAssigned(lease(manifest, notice_ends_ms=ends_at_ms))


def test_the_containers_get_the_signal_once_for_each_notice():
    state, commands = play(told(), state=running())
    assert commands == [WARN]
    state, commands = play(told(), state=state)
    assert commands == []
    state, commands = play(told(ends_at_ms=None), state=state)
    assert commands == []
    assert play(told(ends_at_ms=99_000), state=state)[1] == [WARN]


def test_who_is_told_runs_on_until_its_lease_has_ended():
    state, _ = play(told(), state=running())
    state, commands = play(ev.Tick(), state=state)
    assert (state.phase(1), commands) == (Phase.RUNNING, [])
    state, commands = play(ev.LeaseEnded(1, "Preempted"), state=state)
    assert commands == [cmd.StopPod(1, "Preempted"), cmd.DestroyPod(1)]


def test_who_is_no_spot_task_by_its_manifest_gets_no_signal():
    assert play(told(MANIFEST), state=running(MANIFEST))[1] == []


def test_nothing_gets_a_signal_before_it_runs():
    state, _ = play(ev.LeaseAssigned(lease(), SPOT))
    assert play(told(), state=state)[1] == []


def test_after_a_restart_of_the_agent_the_signal_is_sent_in_any_case():
    state, _ = play(told(), state=running())
    found = Found(a_handle(), running=True)
    _, commands = play(ev.Recovered((found,), (lease(notice_ends_ms=9_000),)), state=state)
    assert WARN in commands
