"""After a start of the agent: what to do again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

from node_agent.core import commands as cmd
from node_agent.core import events as ev
from node_agent.core.states import AgentState, Phase, Pod
from node_agent.core.steps import collect, refuse, send_result_if_ready, start, submit_result
from node_agent.core.values import Handle, HostFailure, PodSpec

Move = Callable[[Pod | None, ev.PodEvent], tuple[Pod | None, list[cmd.Command]]]


def recover(state: AgentState, event: ev.Recovered, move: Move) -> tuple[AgentState, list[cmd.Command]]:
    """Join what was kept on disk, what runs, and what the chain says; all three may differ after a crash."""
    live = {lease.number: lease for lease in event.live}
    pods = dict(state.pods)
    commands: list[cmd.Command] = []
    for number, pod in state.pods.items():
        lease = live.get(number)
        if lease is None or not lease.is_same_as(pod.lease):
            over, more = move(pod, ev.LeaseEnded(number, "NotLive"))
            more = more or [cmd.DestroyPod(number)]
            pods[number] = over or pod
        else:
            stop_at_ms = lease.depletes_at_ms if lease.depletes_at_ms is not None else pod.stop_at_ms
            known = pod.started_known or lease.started
            kept = replace(pod, lease=lease, stop_at_ms=stop_at_ms, started_known=known)
            resumed, more = resume(kept)
            pods[number] = resumed
        commands += more
    for number, lease in live.items():
        if number not in state.pods:
            fresh, more = move(None, ev.LeaseAssigned(lease))
            if fresh is not None:
                pods[number] = fresh
            commands += more
    known_numbers = set(pods)
    commands += [
        cmd.SweepOrphan(number)
        for number in sorted({found.handle.lease for found in event.found})
        if number not in known_numbers
    ]
    return AgentState(state.host, MappingProxyType(pods)), commands


def resume(pod: Pod) -> tuple[Pod, list[cmd.Command]]:
    """Issue again what may not have been done. Every command is safe to repeat."""
    number = pod.lease.number
    again: list[cmd.Command] = []
    if pod.started_sent and not pod.started_known:
        again.append(cmd.SubmitStarted(number))
    if pod.stop_at_ms is not None and pod.phase in (Phase.ASSIGNED, Phase.PREPARING, Phase.RUNNING):
        again.append(cmd.ScheduleStop(number, pod.stop_at_ms))
    pod, more = _repeat(pod)
    return pod, again + more


def _repeat(pod: Pod) -> tuple[Pod, list[cmd.Command]]:  # noqa: PLR0911  (one line for each phase)
    number = pod.lease.number
    match pod:
        case Pod(phase=Phase.ASSIGNED, spec=None):
            return pod, [cmd.FetchManifest(number, pod.lease.task)]
        case Pod(phase=Phase.ASSIGNED | Phase.PREPARING, spec=PodSpec() as spec):
            return start(pod, spec)
        case Pod(phase=Phase.RUNNING, handle=Handle() as handle):
            return pod, [cmd.WatchPod(number, handle)]
        case Pod(phase=Phase.EXITED):
            return pod, [collect(pod)]
        case Pod(phase=Phase.REPORTING, result_sent=True):
            return pod, [submit_result(pod)]
        case Pod(phase=Phase.REPORTING):
            return send_result_if_ready(pod)
        case Pod(phase=Phase.REFUSING, failure=HostFailure() as failure):
            return refuse(pod, failure, pod.failure_message)
        case _:
            return pod, [cmd.DestroyPod(number)]
