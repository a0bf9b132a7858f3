"""Recovery after a start of the agent: which commands to repeat. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

from node_agent.core import commands as cmd
from node_agent.core import events as ev
from node_agent.core.container_events import advance
from node_agent.core.containers import Container, Stage, stopped_containers
from node_agent.core.pod_steps import (
    DATA_MOVED,
    Transition,
    collect,
    destroy,
    inventory,
    pause,
    prepare,
    refuse,
    retire,
    send_result_if_ready,
    signal_containers,
    start_command,
    stop_for_good,
    submit_of_data,
    submit_result,
    write_notice,
)
from node_agent.core.states import AgentState, Phase, Pod
from node_agent.core.values import FoundContainer, HostFailure, TaskKind

Move = Callable[[Pod | None, ev.PodEvent], tuple[Pod | None, list[cmd.Command]]]
_STOPPABLE = (Phase.ASSIGNED, Phase.AWAITING, Phase.PREPARING, Phase.STARTING, Phase.RUNNING)


def recover(state: AgentState, event: ev.Recovered, move: Move, now_ms: int) -> tuple[AgentState, list[cmd.Command]]:
    """Reconcile the stored pods, the running containers and the chain; all may differ after a crash."""
    live = {lease.number: lease for lease in event.live}
    reasons, files = dict(event.ended), dict(event.files)
    reasons |= {lease.data_from: DATA_MOVED for lease in event.live if lease.data_from is not None}
    pods = dict(state.pods)
    commands: list[cmd.Command] = []
    for number, kept in state.pods.items():
        pod = replace(kept, delivered=files.get(number, ()))
        lease = live.get(number)
        if lease is None or not (lease.is_same_as(pod.lease) or lease.reopens(pod.lease)):
            over, more = move(pod, ev.LeaseEnded(number, reasons.get(number, "NotLive")))
            # A pod that was ending is removed again; its own transition decided about its data.
            more = more or [destroy(pod, keep_data=reasons.get(number) == DATA_MOVED)]
            pods[number] = over or pod
        else:
            after, more = move(pod, ev.LeaseAssigned(lease))
            if after is not None and after.phase is pod.phase:
                after, more = repeat_commands(
                    after, tuple(one for one in event.found if one.handle.lease == number), now_ms
                )
            if after is not None:
                pods[number] = after
        commands += more
    for number, lease in live.items():
        if number not in state.pods:
            fresh, more = move(None, ev.LeaseAssigned(lease))
            if fresh is not None:
                pods[number] = replace(fresh, delivered=files.get(number, ()))
            commands += more
    found_leases = {found.handle.lease for found in event.found} | set(event.leftovers)
    commands += [
        cmd.SweepOrphan(number, reasons.get(number) == DATA_MOVED) for number in sorted(found_leases - set(pods))
    ]
    return AgentState(state.host, MappingProxyType(pods)), commands


def repeat_commands(pod: Pod, found: tuple[FoundContainer, ...], now_ms: int) -> Transition:
    """Repeat the commands that may not have been executed. Every command is safe to repeat."""
    number = pod.lease.number
    again: list[cmd.Command] = []
    if pod.started_sent and not pod.started_known:
        again.append(cmd.SubmitStarted(number))
    if pod.stop_at_ms is not None and pod.phase in _STOPPABLE:
        again.append(cmd.ScheduleStop(number, pod.stop_at_ms))
    pod, more = _repeat(pod, found, now_ms)
    return pod, again + more


def _repeat(pod: Pod, found: tuple[FoundContainer, ...], now_ms: int) -> Transition:  # noqa: C901, PLR0911, PLR0912  (one line each)
    number = pod.lease.number
    match pod.phase:
        case Phase.ASSIGNED if pod.spec is None:
            return pod, [cmd.FetchManifest(number, pod.lease.task)]
        case Phase.ASSIGNED if pod.retry_at_ms is not None:
            # The delay after a failure, or for a device that another account's pod uses, goes on.
            return pod, [cmd.ScheduleRetry(number, pod.retry_at_ms)]
        case Phase.ASSIGNED | Phase.AWAITING | Phase.PREPARING:
            return prepare(pod)
        case Phase.STARTING | Phase.RUNNING:
            return _restart_containers(pod, found, now_ms)
        case Phase.SUSPENDING:
            return pause(pod, "the lease is suspended")
        case Phase.EXITED:
            return pod, [*stop_for_good(pod, pod.cut or "the main container ended"), collect(pod)]
        case Phase.REPORTING if pod.result_sent:
            return pod, [submit_result(pod)]
        case Phase.REPORTING:
            return send_result_if_ready(pod)
        case Phase.REFUSING if pod.failure is not None:
            return refuse(pod, HostFailure(pod.failure), pod.failure_message)
        case Phase.RETIRING:
            return retire(pod)
        case Phase.RETAINED:
            return pod, [inventory(pod)]
        case Phase.PURGING:
            return pod, [cmd.PurgeData(number)]
        case Phase.PURGED:
            lost = [cmd.PurgeData(number)] if pod.receipt is None else []
            return pod, [submit_of_data(pod), *lost]
        case Phase.SUSPENDED:
            return pod, []
        case _:
            return pod, [destroy(pod)]


def _restart_containers(pod: Pod, found: tuple[FoundContainer, ...], now_ms: int) -> Transition:
    if pod.awaited and not any(one.running for one in found):
        # The machine restarted, and secrets in its memory are lost: the tenant has to deliver them again.
        marks = tuple((one.handle.service, one.mark) for one in found)
        # A job is not charged for the lost run; a service has nothing to repeat.
        began_at_ms = None if pod.lease.kind is TaskKind.JOB else pod.began_at_ms
        return prepare(replace(pod, containers=stopped_containers(pod.containers, marks), began_at_ms=began_at_ms))
    commands: list[cmd.Command] = []
    for one in pod.containers:
        commands += _repeat_container(pod, one)
    if pod.cut:
        return pod, [*commands, cmd.StopPod(pod.lease.number, pod.cut)]
    pod, more = advance(pod, now_ms)
    # Whether the notice was written is unknown. A program that saves its work twice loses nothing.
    return pod, [*commands, *more, *write_notice(pod), *signal_containers(pod)]


def _repeat_container(pod: Pod, one: Container) -> list[cmd.Command]:
    number = pod.lease.number
    if one.stage is Stage.STARTING:
        return [start_command(pod, one, number)]
    if one.stage is Stage.PAUSING and one.retry_at_ms is not None:
        return [cmd.ScheduleRetry(number, one.retry_at_ms)]
    if one.stage is Stage.RUNNING and one.handle is not None:
        again: list[cmd.Command] = [cmd.WatchContainer(number, one.handle)]
        if one.unwell:
            again.append(cmd.StopContainer(number, one.handle, "it is not healthy"))
        return again
    return []
