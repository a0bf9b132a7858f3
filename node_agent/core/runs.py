"""The moves that containers make: from a prepared pod to the end of its main container."""

from __future__ import annotations

from dataclasses import replace

from node_agent.core import commands as cmd
from node_agent.core import events as ev
from node_agent.core.containers import (
    Again,
    Container,
    Final,
    GiveUp,
    Stage,
    at_rest,
    is_ready,
    judge,
    named,
    pod_usage,
    put,
    settled,
    startable,
    stuck,
)
from node_agent.core.states import Phase, Pod
from node_agent.core.steps import RETRY_AFTER_MS, Moved, collect, pause, refuse, resume, spec_of, start, stop_for_good
from node_agent.core.values import Ending, Host, HostFailure, TaskKind

_UP = (Phase.STARTING, Phase.RUNNING)
RESTORABLE = frozenset({*_UP, Phase.SUSPENDING, Phase.SUSPENDED})
"""Phases in which there is a machine that can be made anew."""
MaybeMoved = tuple[Pod | None, list[cmd.Command]]


def prepared(_host: Host, pod: Pod | None, _event: ev.Prepared, now_ms: int) -> MaybeMoved:
    """All is there that containers need: the first of them start."""
    if pod is None or pod.phase is not Phase.PREPARING:
        return pod, []
    return advance(replace(pod, phase=Phase.STARTING, has_data=True, tries=0), now_ms)


def container_started(_host: Host, pod: Pod | None, event: ev.ContainerStarted, now_ms: int) -> MaybeMoved:
    """One more runs; others may have waited for it."""
    found = _container(pod, event.handle.service)
    if pod is None or found is None or found.stage is not Stage.STARTING or pod.phase not in _UP:
        return pod, []
    one = replace(found, stage=Stage.RUNNING, handle=event.handle, start=event.handle.start, ran=True, tries=0)
    renew = pod.renew and event.handle.service != spec_of(pod).main.service.name
    pod = replace(pod, containers=put(pod.containers, replace(one, began_at_ms=now_ms, mark="")), renew=renew)
    pod, more = advance(pod, now_ms)
    return pod, [cmd.WatchContainer(event.number, event.handle), *more]


def driver_failed(_host: Host, pod: Pod | None, event: ev.DriverFailed, now_ms: int) -> MaybeMoved:
    """What the driver could not do is tried again where that may help, and else given back."""
    if pod is None:
        return pod, []
    if event.service is None:
        if pod.phase is not Phase.PREPARING:
            return pod, []
        again = retry_later(pod.to(Phase.ASSIGNED), now_ms) if event.transient else None
        return again or refuse(pod, event.reason, event.message)
    found = _container(pod, event.service)
    if found is None or found.stage is not Stage.STARTING or pod.phase not in _UP:
        return pod, []
    if event.transient and found.tries < len(RETRY_AFTER_MS):
        at_ms = now_ms + RETRY_AFTER_MS[found.tries]
        # The same start is made again: its number is taken back.
        one = replace(found, stage=Stage.PAUSING, start=found.start - 1, tries=found.tries + 1, retry_at_ms=at_ms)
        return replace(pod, containers=put(pod.containers, one)), [cmd.ScheduleRetry(event.number, at_ms)]
    return refuse(pod, event.reason, event.message)


def health_changed(_host: Host, pod: Pod | None, event: ev.HealthChanged, now_ms: int) -> MaybeMoved:
    """Whoever waits for its health may start; one that is unwell is stopped, and its end is judged as a failure."""
    found = _container(pod, event.service)
    if pod is None or found is None or pod.phase not in _UP:
        return pod, []
    if found.stage is not Stage.RUNNING or found.start != event.start or found.handle is None:
        return pod, []
    restarts = spec_of(pod).container(event.service).service.restart.when != "no"
    unwell = not event.healthy and (restarts or pod.lease.kind is not TaskKind.JOB)
    one = replace(found, healthy=event.healthy, unwell=unwell)
    pod = replace(pod, containers=put(pod.containers, one))
    if unwell:
        return pod, [cmd.StopContainer(event.number, found.handle, "it is not healthy")]
    return advance(pod, now_ms)


def exited(_host: Host, pod: Pod | None, event: ev.Exited, now_ms: int) -> MaybeMoved:
    """A container ended: for good, to be started again, or so that the pod is given up."""
    found = _container(pod, event.service)
    if pod is None or found is None or pod.phase not in _UP:
        return pod, []
    if found.start != event.start or found.stage is not Stage.RUNNING:
        return pod, []
    spec = spec_of(pod)
    service = spec.container(event.service).service
    verdict = Final() if pod.cut else judge(pod.lease.kind, service, found, event.ending, now_ms)
    if isinstance(verdict, GiveUp):
        gone = replace(found, stage=Stage.ENDED)
        return refuse(replace(pod, containers=put(pod.containers, gone)), verdict.reason, verdict.message)
    if isinstance(verdict, Again):
        return _again(pod, verdict, now_ms)
    one = replace(settled(found, event.ending), stage=Stage.ENDED)
    pod = replace(pod, containers=put(pod.containers, one))
    if event.service != spec.main.service.name:
        return (pod, []) if pod.cut else advance(pod, now_ms)
    return _over(pod, one, now_ms)


def limit_exceeded(_host: Host, pod: Pod | None, event: ev.LimitExceeded, _now_ms: int) -> MaybeMoved:
    """Its end is now the pod's own doing: a result where there may be one."""
    if pod is None or pod.phase not in _UP:
        return pod, []
    main = named(pod.containers, spec_of(pod).main.service.name)
    if pod.phase is Phase.RUNNING and main is not None and main.stage is Stage.RUNNING:
        return replace(pod, cut=event.message), [cmd.StopPod(event.number, event.message)]
    if pod.phase is Phase.RUNNING:
        return pod, []  # Its main container is between two runs; this is told again.
    return refuse(pod, HostFailure.MANIFEST_INVALID, event.message)


def paused(_host: Host, pod: Pod | None, event: ev.Paused, now_ms: int) -> MaybeMoved:
    """All is stopped. The lease may have been taken up again meanwhile."""
    if pod is None or pod.phase is not Phase.SUSPENDING:
        return pod, []
    pod = replace(pod, phase=Phase.SUSPENDED, containers=at_rest(pod.containers, event.marks))
    return resume(pod) if pod.may_run(now_ms) else (pod, [])


def restore_asked(_host: Host, pod: Pod | None, event: ev.RestoreAsked, _now_ms: int) -> MaybeMoved:
    """From its next start on the main container is another one; a pod that runs is stopped and started for that."""
    if pod is None or pod.phase not in RESTORABLE:
        return pod, []
    pod = replace(pod, spec=replace(spec_of(pod), base=event.snapshot), renew=True)
    return pause(pod, f"its tenant restores {event.snapshot}") if pod.phase in _UP else (pod, [])


def restart_due(pod: Pod, now_ms: int) -> Moved:
    """Start the containers whose pause is over."""
    commands: list[cmd.Command] = []
    if pod.phase in _UP and not pod.cut:
        for one in pod.containers:
            if one.stage is Stage.PAUSING and one.retry_at_ms is not None and now_ms >= one.retry_at_ms:
                pod, more = start(pod, one)
                commands += more
    return pod, commands


def retry_later(pod: Pod, now_ms: int) -> Moved | None:
    """The present step of the pod once more after a pause; None where it was tried often enough."""
    if pod.tries >= len(RETRY_AFTER_MS):
        return None
    at_ms = now_ms + RETRY_AFTER_MS[pod.tries]
    return replace(pod, tries=pod.tries + 1, retry_at_ms=at_ms), [cmd.ScheduleRetry(pod.lease.number, at_ms)]


def advance(pod: Pod, now_ms: int) -> Moved:
    """Start what waits for nothing any more, and say that the pod runs as soon as its main container is ready."""
    spec = spec_of(pod)
    hopeless = stuck(spec, pod.containers)
    if hopeless is not None:
        return refuse(pod, hopeless.reason, hopeless.message)
    commands: list[cmd.Command] = []
    for one in startable(spec, pod.containers):
        pod, more = start(pod, one)
        commands += more
    main = named(pod.containers, spec.main.service.name)
    if pod.phase is Phase.STARTING and main is not None and is_ready(spec.main.service, main, pod.lease.kind):
        pod, more = _up(pod, now_ms)
        commands += more
    return pod, commands


def _up(pod: Pod, now_ms: int) -> Moved:
    number = pod.lease.number
    commands: list[cmd.Command] = []
    if not pod.started_known and not pod.started_sent:
        commands.append(cmd.SubmitStarted(number))
    # Until the chain says when the escrow ends, our own clock does: it runs out a little earlier.
    stop_at_ms = pod.stop_at_ms if pod.stop_at_ms is not None else now_ms + pod.lease.max_duration_ms
    commands.append(cmd.ScheduleStop(number, stop_at_ms))
    began_at_ms = now_ms if pod.began_at_ms is None else pod.began_at_ms
    pod = replace(pod, phase=Phase.RUNNING, started_sent=True, stop_at_ms=stop_at_ms, began_at_ms=began_at_ms)
    return pod, commands


def _again(pod: Pod, verdict: Again, now_ms: int) -> Moved:
    at_ms = now_ms + verdict.pause_ms
    one = replace(verdict.container, stage=Stage.PAUSING, retry_at_ms=at_ms)
    pod = replace(pod, containers=put(pod.containers, one))
    if pod.stop_at_ms is not None and now_ms >= pod.stop_at_ms:
        return pod, []  # The tick that is due stops the pod.
    if verdict.pause_ms == 0:
        return start(pod, one)
    return pod, [cmd.ScheduleRetry(pod.lease.number, at_ms)]


def _over(pod: Pod, main: Container, now_ms: int) -> Moved:
    """The main container ended for good, and the pod with it."""
    if pod.phase is Phase.STARTING:
        code = 0 if main.ending is None else main.ending.exit_code
        what = f"{main.name} ended with exit code {code} before it was healthy."
        return refuse(pod, HostFailure.IMAGE_INVALID, what)
    if main.ending is None:
        return refuse(pod, HostFailure.DRIVER_ERROR, f"The container {main.name} is gone, and what it left with it.")
    pod = replace(pod, phase=Phase.EXITED, ending=_ending(pod, main, main.ending, now_ms), tries=0)
    return pod, [*stop_for_good(pod, "the main container ended"), collect(pod)]


def _ending(pod: Pod, main: Container, ending: Ending, now_ms: int) -> Ending:
    wall_ms = main.used.wall_ms
    if pod.lease.kind is not TaskKind.JOB and pod.began_at_ms is not None:
        # The pauses between its runs are the tenant's, too.
        wall_ms = max(wall_ms, now_ms - pod.began_at_ms)
    return replace(ending, usage=pod_usage(pod.containers, wall_ms))


def _container(pod: Pod | None, service: str) -> Container | None:
    return None if pod is None else named(pod.containers, service)
