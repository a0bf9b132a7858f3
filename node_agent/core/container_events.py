"""Transitions caused by containers, from the prepared pod to the end of its main container. Pure.

For the chain a pod runs, and is paid, from the start of its first container. A failure that the tenant causes after
that is a result, so that nobody computes for nothing in a pod that is given back; a failure that the host causes is a
refusal.
"""

from __future__ import annotations

from dataclasses import replace

from node_agent.core import commands as cmd
from node_agent.core import events as ev
from node_agent.core.containers import (
    Container,
    HostFault,
    RestartContainer,
    Stage,
    StaysEnded,
    TenantFault,
    after_run,
    find_container,
    judge_exit,
    pod_usage,
    replace_container,
    startable,
    stopped_containers,
    unmet_dependency,
)
from node_agent.core.pod_steps import (
    RETRY_AFTER_MS,
    MaybeTransition,
    Transition,
    collect,
    main_container,
    pause,
    refuse,
    resume,
    spec_of,
    start_container,
    stop_for_good,
)
from node_agent.core.states import Phase, Pod
from node_agent.core.values import Ending, EndKind, HostFailure, LocalHost, TaskKind, Usage

_ACTIVE = (Phase.STARTING, Phase.RUNNING)
RESTORABLE = frozenset({*_ACTIVE, Phase.SUSPENDING, Phase.SUSPENDED})
"""Phases in which the main container can be replaced by a snapshot."""
TOO_MUCH_EXIT_CODE = 137
"""Exit code of a pod that exceeded a limit while its main container did not run: 128 + SIGKILL."""
NO_PROGRAM_EXIT_CODE = 127
"""Exit code of a pod with a container whose program cannot run in its image, as in a shell."""
OUT_OF_TIME_EXIT_CODE = 124
"""Exit code of a job that was stopped at the end of its time, as of `timeout`."""
_UNRUNNABLE = (HostFailure.IMAGE_INVALID, HostFailure.IMAGE_CANNOT_RUN)


def prepared(_host: LocalHost, pod: Pod | None, _event: ev.PodPrepared, now_ms: int) -> MaybeTransition:
    """Start the first containers of a prepared pod."""
    if pod is None or pod.phase is not Phase.PREPARING:
        return pod, []
    return advance(replace(pod, phase=Phase.STARTING, has_data=True, tries=0), now_ms)


def container_started(_host: LocalHost, pod: Pod | None, event: ev.ContainerStarted, now_ms: int) -> MaybeTransition:
    """Take note of a running container, and start those that depend on it."""
    found = _container(pod, event.handle.service)
    if pod is None or found is None or found.stage is not Stage.STARTING or pod.phase not in _ACTIVE:
        return pod, []
    one = replace(found, stage=Stage.RUNNING, handle=event.handle, start=event.handle.start, ran=True, tries=0)
    renew = pod.renew and event.handle.service != spec_of(pod).main.service.name
    pod = replace(
        pod, containers=replace_container(pod.containers, replace(one, began_at_ms=now_ms, mark="")), renew=renew
    )
    pod, more = advance(pod, now_ms)
    return pod, [cmd.WatchContainer(event.number, event.handle), *more]


def driver_failed(_host: LocalHost, pod: Pod | None, event: ev.DriverFailed, now_ms: int) -> MaybeTransition:
    """Retry a transient failure of the driver; refuse the lease for any other."""
    if pod is None:
        return pod, []
    if event.service is None:
        if pod.phase is not Phase.PREPARING:
            return pod, []
        again = retry_later(pod.to(Phase.ASSIGNED), now_ms) if event.transient else None
        return again or refuse(pod, event.reason, event.message)
    found = _container(pod, event.service)
    if found is None or found.stage is not Stage.STARTING or pod.phase not in _ACTIVE:
        return pod, []
    return _not_started(pod, found, event, now_ms)


def _not_started(pod: Pod, found: Container, event: ev.DriverFailed, now_ms: int) -> Transition:
    if event.transient and found.tries < len(RETRY_AFTER_MS):
        at_ms = now_ms + RETRY_AFTER_MS[found.tries]
        # The same start is repeated, so its number is taken back.
        one = replace(found, stage=Stage.PAUSING, start=found.start - 1, tries=found.tries + 1, retry_at_ms=at_ms)
        return replace(pod, containers=replace_container(pod.containers, one)), [cmd.ScheduleRetry(event.number, at_ms)]
    if pod.phase is Phase.RUNNING and event.reason in _UNRUNNABLE:
        return _end_with_failure(
            pod, found, NO_PROGRAM_EXIT_CODE, f"{found.name} did not start: {event.message}", now_ms
        )
    return refuse(pod, event.reason, event.message)


def health_changed(_host: LocalHost, pod: Pod | None, event: ev.HealthChanged, now_ms: int) -> MaybeTransition:
    """Start containers that wait for this health; stop an unhealthy container, so that its end counts as a failure."""
    found = _container(pod, event.service)
    if pod is None or found is None or pod.phase not in _ACTIVE:
        return pod, []
    if found.stage is not Stage.RUNNING or found.start != event.start or found.handle is None:
        return pod, []
    restarts = spec_of(pod).container(event.service).service.restart.when != "no"
    unwell = not event.healthy and (restarts or pod.lease.kind is not TaskKind.JOB)
    one = replace(found, healthy=event.healthy, unwell=unwell)
    pod = replace(pod, containers=replace_container(pod.containers, one))
    if unwell:
        return pod, [cmd.StopContainer(event.number, found.handle, "it is not healthy")]
    return advance(pod, now_ms)


def exited(_host: LocalHost, pod: Pod | None, event: ev.ContainerExited, now_ms: int) -> MaybeTransition:
    """Handle the end of a container: it is final, the container restarts, or the pod fails."""
    found = _container(pod, event.service)
    if pod is None or found is None or pod.phase not in _ACTIVE:
        return pod, []
    if found.start != event.start or found.stage is not Stage.RUNNING:
        return pod, []
    spec = spec_of(pod)
    service = spec.container(event.service).service
    verdict = StaysEnded() if pod.cut else judge_exit(pod.lease.kind, service, found, event.ending, now_ms)
    if not isinstance(verdict, StaysEnded):
        return _apply_verdict(pod, found, verdict, now_ms)
    one = replace(after_run(found, event.ending), stage=Stage.ENDED)
    pod = replace(pod, containers=replace_container(pod.containers, one))
    if event.service != spec.main.service.name:
        return advance(pod, now_ms)
    return _main_ended(pod, one, now_ms)


def _apply_verdict(
    pod: Pod, found: Container, verdict: RestartContainer | HostFault | TenantFault, now_ms: int
) -> Transition:
    """Restart the container, refuse the lease or end the pod, by the verdict on a run."""
    if isinstance(verdict, HostFault):
        gone = replace(found, stage=Stage.ENDED)
        return refuse(replace(pod, containers=replace_container(pod.containers, gone)), verdict.reason, verdict.message)
    if isinstance(verdict, TenantFault):
        pod = replace(pod, containers=replace_container(pod.containers, verdict.container))
        return _end_with_failure(pod, verdict.container, verdict.exit_code, verdict.message, now_ms)
    return _restart_later(_exclude_run(pod, found, now_ms) if verdict.lost else pod, verdict, now_ms)


def limit_exceeded(_host: LocalHost, pod: Pod | None, event: ev.LimitExceeded, now_ms: int) -> MaybeTransition:
    """End a pod that exceeded a limit. If none of its containers runs yet, the event comes again."""
    if pod is None or pod.phase is not Phase.RUNNING:
        return pod, []
    main = main_container(pod)
    if main.stage is Stage.RUNNING:
        return replace(pod, cut=event.message), [cmd.StopPod(event.number, event.message)]
    return _end_with_failure(pod, main, TOO_MUCH_EXIT_CODE, event.message, now_ms)


def paused(_host: LocalHost, pod: Pod | None, event: ev.PodPaused, now_ms: int) -> MaybeTransition:
    """Suspend a stopped pod, or resume it if its lease is active again."""
    if pod is None or pod.phase is not Phase.SUSPENDING:
        return pod, []
    pod = replace(pod, phase=Phase.SUSPENDED, containers=stopped_containers(pod.containers, event.marks))
    return resume(pod) if pod.may_run(now_ms) else (pod, [])


def restore_asked(_host: LocalHost, pod: Pod | None, event: ev.RestoreRequested, _now_ms: int) -> MaybeTransition:
    """Replace the main container by a snapshot at its next start; a running pod is stopped and started for that."""
    if pod is None or pod.phase not in RESTORABLE:
        return pod, []
    pod = replace(pod, spec=replace(spec_of(pod), base=event.snapshot), renew=True)
    return pause(pod, f"its tenant restores {event.snapshot}") if pod.phase in _ACTIVE else (pod, [])


def restart_due(pod: Pod, now_ms: int) -> Transition:
    """Start the containers whose restart delay is over."""
    commands: list[cmd.Command] = []
    if pod.phase in _ACTIVE and not pod.cut:
        for one in pod.containers:
            if one.stage is Stage.PAUSING and one.retry_at_ms is not None and now_ms >= one.retry_at_ms:
                pod, more = start_container(pod, one)
                commands += more
    return pod, commands


def retry_later(pod: Pod, now_ms: int) -> Transition | None:
    """Schedule a retry of the current step; None after the last attempt."""
    if pod.tries >= len(RETRY_AFTER_MS):
        return None
    at_ms = now_ms + RETRY_AFTER_MS[pod.tries]
    return replace(pod, tries=pod.tries + 1, retry_at_ms=at_ms), [cmd.ScheduleRetry(pod.lease.number, at_ms)]


def advance(pod: Pod, now_ms: int) -> Transition:
    """Report the start once a container runs, and start the containers whose dependencies are met."""
    commands: list[cmd.Command] = []
    if pod.phase is Phase.STARTING and any(one.ran for one in pod.containers):
        pod, commands = _report_start(pod, now_ms)
    if pod.cut:
        return pod, commands  # The pod is being stopped.
    spec = spec_of(pod)
    hopeless = unmet_dependency(spec, pod.containers)
    if hopeless is not None:
        pod, more = _end_with_failure(pod, hopeless.container, hopeless.exit_code, hopeless.message, now_ms)
        return pod, commands + more
    for one in startable(spec, pod.containers):
        pod, more = start_container(pod, one)
        commands += more
    return pod, commands


def _report_start(pod: Pod, now_ms: int) -> Transition:
    number = pod.lease.number
    commands: list[cmd.Command] = []
    if not pod.started_known and not pod.started_sent:
        commands.append(cmd.SubmitStarted(number))
    # Until the chain knows the end of the escrow, the local clock decides; it ends a little earlier.
    stop_at_ms = pod.stop_at_ms if pod.stop_at_ms is not None else now_ms + pod.lease.max_duration_ms
    commands.append(cmd.ScheduleStop(number, stop_at_ms))
    began_at_ms = pod.began_at_ms
    if began_at_ms is None:
        began_at_ms = min(one.began_at_ms for one in pod.containers if one.ran)
    pod = replace(pod, phase=Phase.RUNNING, started_sent=True, stop_at_ms=stop_at_ms, began_at_ms=began_at_ms)
    return pod, commands


def _restart_later(pod: Pod, verdict: RestartContainer, now_ms: int) -> Transition:
    at_ms = now_ms + verdict.delay_ms
    one = replace(verdict.container, stage=Stage.PAUSING, retry_at_ms=at_ms)
    pod = replace(pod, containers=replace_container(pod.containers, one))
    if pod.stop_at_ms is not None and now_ms >= pod.stop_at_ms:
        return pod, []  # The tick that is due stops the pod.
    if verdict.delay_ms == 0:
        return start_container(pod, one)
    return pod, [cmd.ScheduleRetry(pod.lease.number, at_ms)]


def _main_ended(pod: Pod, main: Container, now_ms: int) -> Transition:
    """End the pod with its main container."""
    if main.ending is None:
        return refuse(pod, HostFailure.DRIVER_ERROR, f"The container {main.name} was removed, and its result with it.")
    pod = replace(pod, phase=Phase.EXITED, ending=replace(main.ending, usage=_usage(pod, main, now_ms)), tries=0)
    return pod, [*stop_for_good(pod, "the main container ended"), collect(pod)]


def _end_with_failure(pod: Pod, one: Container, exit_code: int, message: str, now_ms: int) -> Transition:
    """End the pod because of this container: the failure is the tenant's, and so a result."""
    ending = Ending(EndKind.SELF, exit_code, oom_killed=False, usage=_usage(pod, one, now_ms))
    pod = replace(pod, phase=Phase.EXITED, ending=ending, cut=message, tries=0)
    return pod, [*stop_for_good(pod, message), collect(pod)]


def _usage(pod: Pod, last: Container, now_ms: int) -> Usage:
    """Return the usage of a pod that ended with container `last`.

    A job with several containers ran from its first start to the end of the last run of `last`, in the engine's time:
    the run may have ended long before the agent saw it. A job with one container ran as long as that container.
    """
    wall_ms, began_at_ms = main_container(pod).used.wall_ms, pod.began_at_ms
    is_job = pod.lease.kind is TaskKind.JOB
    if began_at_ms is not None and not (is_job and len(pod.containers) == 1):
        # The tenant pays for the delays between runs.
        until_ms = now_ms
        if is_job and last.stage is Stage.ENDED and last.ending is not None:
            until_ms = min(now_ms, last.began_at_ms + last.ending.usage.wall_ms)
        wall_ms = max(wall_ms, until_ms - began_at_ms)
    return pod_usage(pod.containers, wall_ms)


def out_of_time(pod: Pod, message: str, now_ms: int) -> Transition:
    """End a job's pod at the end of its paid time; what it has written is its result."""
    return _end_with_failure(pod, main_container(pod), OUT_OF_TIME_EXIT_CODE, message, now_ms)


def _exclude_run(pod: Pod, lost: Container, now_ms: int) -> Pod:
    """Exclude a run that the host ended from the time of a job's pod.

    The run of a helper is not excluded if the main container has run: that has used the time.
    """
    main = main_container(pod)
    if pod.began_at_ms is None or (main.ran and lost.name != main.name):
        return pod
    return replace(pod, began_at_ms=min(now_ms, pod.began_at_ms + now_ms - lost.began_at_ms))


def _container(pod: Pod | None, service: str) -> Container | None:
    return None if pod is None else find_container(pod.containers, service)
