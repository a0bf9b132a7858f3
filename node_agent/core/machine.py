"""`handle(state, event, now_ms)`: the whole behaviour of the agent, as a function.

The rules for a container that ended:

* by itself, whatever the exit code, or for its memory limit: that is the result;
* ended by somebody else on the host (`docker kill`, `docker rm -f`, an engine that was stopped): a fault of the host;
  it is started again within the same lease, twice at most, then the lease is given back with `DriverError`;
* with the exit code of a kill and no trace of one: started again once; if that repeats, it is the program's own doing
  and thus the result.

The escrow's end stops the pod in any case; no result is reported then, since the chain closes such a lease.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from node_agent.core import commands as cmd
from node_agent.core import events as ev
from node_agent.core.admission import Unfit, admit
from node_agent.core.recovery import recover
from node_agent.core.states import TABLE, AgentState, IllegalMove, Phase, Pod
from node_agent.core.steps import collect, refuse, send_result_if_ready, start
from node_agent.core.values import EndKind, Host, HostFailure, Report

MAX_KILL_RESTARTS = 2
MAX_UNEXPLAINED_RESTARTS = 1
RETRY_AFTER_MS = (1_000, 4_000, 15_000, 30_000)
"""Pauses before a transient failure is tried again; after the last one the lease is given back."""
STOP_GRACE_MS = 10_000
STORY_LENGTH = 16

Moved = tuple[Pod | None, list[cmd.Command]]
_HAS_CONTAINER = frozenset({Phase.PREPARING, Phase.RUNNING})


def handle(state: AgentState, event: ev.Event, now_ms: int) -> tuple[AgentState, list[cmd.Command]]:
    """The state after the event, and what is to be done. Raises :class:`IllegalMove` and then changed nothing."""
    if isinstance(event, ev.Recovered):

        def move(pod: Pod | None, what: ev.PodEvent) -> Moved:
            return _move(state.host, pod, ev.lease_number(what), what, now_ms)

        return recover(state, event, move)
    numbers = tuple(state.pods) if isinstance(event, (ev.Tick, ev.DevicesFailed)) else (ev.lease_number(event),)
    pods = dict(state.pods)
    commands: list[cmd.Command] = []
    for number in numbers:
        pod, more = _move(state.host, pods.get(number), number, event, now_ms)
        commands += more
        _put(pods, number, pod)
    return AgentState(state.host, MappingProxyType(pods)), commands


def _put(pods: dict[int, Pod], number: int, pod: Pod | None) -> None:
    if pod is None:
        pods.pop(number, None)
    else:
        pods[number] = pod


def _move(
    host: Host, pod: Pod | None, number: int, event: ev.PodEvent | ev.Tick | ev.DevicesFailed, now_ms: int
) -> Moved:
    before = Phase.ABSENT if pod is None else pod.phase
    targets = TABLE[before].get(type(event))
    if targets is None:
        story = "; ".join(pod.story) if pod else "none"
        raise IllegalMove(f"lease {number}: {type(event).__name__} in phase {before}. Story: {story}")
    after, commands = _HANDLERS[type(event)](host, pod, event, now_ms)
    phase = Phase.ABSENT if after is None else after.phase
    if phase not in targets:
        raise IllegalMove(f"lease {number}: {type(event).__name__} must not lead from {before} to {phase}")
    if after is not None and phase is not before:
        line = f"{now_ms} {type(event).__name__}: {before} -> {phase}"
        after = replace(after, story=(*after.story, line)[-STORY_LENGTH:])
    return after, commands


def _assigned(host: Host, pod: Pod | None, event: ev.LeaseAssigned, now_ms: int) -> Moved:
    lease = event.lease
    if pod is None:
        pod = Pod(lease=lease, phase=Phase.ASSIGNED, started_known=lease.started, stop_at_ms=lease.depletes_at_ms)
        if event.manifest is None:
            return pod, [cmd.FetchManifest(lease.number, lease.task)]
        return _admitted(host, pod, event.manifest, now_ms)
    if not lease.is_same_as(pod.lease):
        # The block that opened the lease we hold was reverted; the new one is taken up when the old pod is gone.
        return _ended(host, pod, ev.LeaseEnded(lease.number, "Reverted"), now_ms)
    if pod.phase is Phase.ENDING:
        return pod, []
    commands: list[cmd.Command] = []
    if lease.depletes_at_ms is not None and lease.depletes_at_ms != pod.stop_at_ms:
        pod = replace(pod, stop_at_ms=lease.depletes_at_ms)
        commands.append(cmd.ScheduleStop(lease.number, lease.depletes_at_ms))
    pod = replace(pod, lease=lease, started_known=pod.started_known or lease.started)
    if pod.phase is Phase.ASSIGNED and pod.spec is None and event.manifest is not None:
        after, more = _admitted(host, pod, event.manifest, now_ms)
        return after, commands + more
    pod, more = send_result_if_ready(pod)
    return pod, commands + more


def _manifest_fetched(host: Host, pod: Pod | None, event: ev.ManifestFetched, now_ms: int) -> Moved:
    if pod is None or pod.phase is not Phase.ASSIGNED or pod.spec is not None:
        return pod, []
    return _admitted(host, pod, event.manifest, now_ms)


def _admitted(host: Host, pod: Pod, manifest: bytes | None, now_ms: int) -> Moved:
    del now_ms
    spec = admit(host, pod.lease, manifest)
    if isinstance(spec, Unfit):
        return refuse(pod, spec.reason, spec.message)
    return start(pod, replace(spec, start=1))


def _ended(_host: Host, pod: Pod | None, event: ev.LeaseEnded, _now_ms: int) -> Moved:
    if pod is None or pod.phase is Phase.ENDING:
        return pod, []
    number = pod.lease.number
    commands: list[cmd.Command] = []
    if pod.phase in _HAS_CONTAINER:
        commands.append(cmd.StopPod(number, STOP_GRACE_MS, event.reason))
    return pod.to(Phase.ENDING), [*commands, cmd.DestroyPod(number)]


def _missing(_host: Host, _pod: Pod | None, event: ev.ChainLeaseMissing, _now_ms: int) -> Moved:
    return None, [cmd.SweepOrphan(event.number)]


def _driver_started(_host: Host, pod: Pod | None, event: ev.DriverStarted, now_ms: int) -> Moved:
    if pod is None or pod.phase is not Phase.PREPARING or pod.spec is None:
        return pod, []
    number = pod.lease.number
    commands: list[cmd.Command] = [cmd.WatchPod(number, event.handle)]
    if not pod.started_known and not pod.started_sent:
        commands.append(cmd.SubmitStarted(number))
    # Until the chain says when the escrow ends, our own clock does: it runs out a little earlier.
    stop_at_ms = pod.stop_at_ms if pod.stop_at_ms is not None else now_ms + pod.lease.max_duration_ms
    commands.append(cmd.ScheduleStop(number, stop_at_ms))
    pod = replace(
        pod,
        phase=Phase.RUNNING,
        handle=event.handle,
        spec=replace(pod.spec, start=event.handle.start),
        started_sent=True,
        stop_at_ms=stop_at_ms,
        tries=0,
    )
    return pod, commands


def _driver_failed(_host: Host, pod: Pod | None, event: ev.DriverFailed, now_ms: int) -> Moved:
    if pod is None or pod.phase is not Phase.PREPARING:
        return pod, []
    if event.transient and pod.tries < len(RETRY_AFTER_MS):
        retry_at_ms = now_ms + RETRY_AFTER_MS[pod.tries]
        pod = replace(pod, phase=Phase.ASSIGNED, tries=pod.tries + 1, retry_at_ms=retry_at_ms)
        return pod, [cmd.ScheduleRetry(event.number, retry_at_ms)]
    return refuse(pod, event.reason, event.message)


def _exited(_host: Host, pod: Pod | None, event: ev.Exited, now_ms: int) -> Moved:
    if pod is None or pod.spec is None or event.start != pod.spec.start:
        return pod, []
    if pod.phase is not Phase.RUNNING or pod.handle is None:
        return pod, []
    ending = event.ending
    if ending is None or ending.kind is EndKind.KILLED:
        if pod.killed >= MAX_KILL_RESTARTS:
            what = f"The container was ended from outside {pod.killed + 1} times."
            return refuse(pod, HostFailure.DRIVER_ERROR, what)
        return _restart(replace(pod, killed=pod.killed + 1), now_ms)
    if ending.kind is EndKind.UNEXPLAINED and pod.unexplained < MAX_UNEXPLAINED_RESTARTS:
        return _restart(replace(pod, unexplained=pod.unexplained + 1), now_ms)
    pod = replace(pod, phase=Phase.EXITED, ending=ending, tries=0)
    return pod, [collect(pod)]


def _restart(pod: Pod, now_ms: int) -> Moved:
    if pod.spec is None or (pod.stop_at_ms is not None and now_ms >= pod.stop_at_ms):
        return pod, []  # The tick that is due stops it for good.
    return start(pod, replace(pod.spec, start=pod.spec.start + 1))


def _result_stored(_host: Host, pod: Pod | None, event: ev.ResultStored, _now_ms: int) -> Moved:
    if pod is None or pod.phase is not Phase.EXITED:
        return pod, []
    return send_result_if_ready(replace(pod, phase=Phase.REPORTING, digest=event.digest, retry_at_ms=None))


def _collect_failed(_host: Host, pod: Pod | None, event: ev.CollectFailed, now_ms: int) -> Moved:
    if pod is None or pod.phase is not Phase.EXITED:
        return pod, []
    if pod.tries < len(RETRY_AFTER_MS):
        retry_at_ms = now_ms + RETRY_AFTER_MS[pod.tries]
        return replace(pod, tries=pod.tries + 1, retry_at_ms=retry_at_ms), [
            cmd.ScheduleRetry(event.number, retry_at_ms)
        ]
    return refuse(pod, HostFailure.DRIVER_ERROR, f"The result could not be kept: {event.message}")


def _report_outcome(_host: Host, pod: Pod | None, event: ev.ReportOutcome, _now_ms: int) -> Moved:
    if pod is None:
        return pod, []
    if event.report is Report.STARTED:
        # Also where the chain refused it: the result is then refused too, or the lease is over, and the chain says so.
        return send_result_if_ready(replace(pod, started_known=True))
    if event.report is Report.RESULT and pod.phase is Phase.REPORTING:
        return pod.to(Phase.DONE), [cmd.DestroyPod(event.number)]
    if event.report is Report.FAILED and pod.phase is Phase.REFUSING:
        return pod.to(Phase.REFUSED), []
    return pod, []


def _destroyed(_host: Host, pod: Pod | None, _event: ev.Destroyed, _now_ms: int) -> Moved:
    return (None if pod is None or pod.phase is Phase.ENDING else replace(pod, handle=None)), []


def _tick(_host: Host, pod: Pod | None, _event: ev.Tick, now_ms: int) -> Moved:
    if pod is None:
        return pod, []
    number = pod.lease.number
    stoppable = pod.phase in (Phase.ASSIGNED, Phase.PREPARING, Phase.RUNNING)
    if stoppable and pod.stop_at_ms is not None and now_ms >= pod.stop_at_ms:
        stop = cmd.StopPod(number, STOP_GRACE_MS, "the escrow is used up")
        return replace(pod, phase=Phase.DEPLETED, retry_at_ms=None), [stop, cmd.DestroyPod(number)]
    if pod.retry_at_ms is None or now_ms < pod.retry_at_ms:
        return pod, []
    pod = replace(pod, retry_at_ms=None)
    if pod.phase is Phase.ASSIGNED and pod.spec is not None:
        return start(pod, pod.spec)
    if pod.phase is Phase.EXITED:
        return pod, [collect(pod)]
    return pod, []


def _devices_failed(_host: Host, pod: Pod | None, event: ev.DevicesFailed, _now_ms: int) -> Moved:
    waiting = pod is not None and pod.phase in (Phase.ASSIGNED, Phase.PREPARING, Phase.RUNNING)
    if pod is None or not waiting or event.devices.isdisjoint(pod.lease.devices):
        return pod, []
    pod, commands = refuse(pod, HostFailure.RESOURCES_UNAVAILABLE, event.message)
    return pod, [cmd.StopPod(pod.lease.number, STOP_GRACE_MS, event.message), *commands]


_HANDLERS: Mapping[type, Callable[[Host, Pod | None, Any, int], Moved]] = MappingProxyType(
    {
        ev.LeaseAssigned: _assigned,
        ev.ManifestFetched: _manifest_fetched,
        ev.LeaseEnded: _ended,
        ev.ChainLeaseMissing: _missing,
        ev.DriverStarted: _driver_started,
        ev.DriverFailed: _driver_failed,
        ev.Exited: _exited,
        ev.ResultStored: _result_stored,
        ev.CollectFailed: _collect_failed,
        ev.ReportOutcome: _report_outcome,
        ev.Destroyed: _destroyed,
        ev.Tick: _tick,
        ev.DevicesFailed: _devices_failed,
    }
)
