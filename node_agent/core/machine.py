"""State machine of the agent: `handle(state, event, now_ms) -> (state, commands)`. Pure.

This module handles events of leases, reports, time and devices; `container_events.py` those of containers and
`retention.py` those of retained data. `containers.py` decides what the end of a container means.

When the paid time is over, a job's pod is removed without a report, because the chain closes such a lease; a service or
rental is stopped with its data, and goes on if its tenant pays in time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from node_agent.core import commands as cmd
from node_agent.core import container_events, retention
from node_agent.core import events as ev
from node_agent.core.admission import FetchedManifest, LeaseRejected, admit
from node_agent.core.pod_steps import (
    DATA_MOVED,
    USED_UP,
    MaybeTransition,
    begin,
    collect,
    destroy,
    is_retained,
    pause,
    prepare,
    refuse,
    resume,
    retire,
    send_result_if_ready,
    signal_containers,
    start_overdue,
    stop_for_good,
    submit_of_data,
    with_notice_end,
    write_notice,
)
from node_agent.core.recovery import recover
from node_agent.core.states import TABLE, AgentState, IllegalMove, Phase, Pod
from node_agent.core.values import HostFailure, HostLease, LeaseReport, LeaseStatus, LocalHost, TaskKind
from offchain.schema.manifest.types import WHOLE_GPU

STORY_LENGTH = 16
TOO_LARGE_EXIT_CODE = 153
"""Exit code of a job whose result is too large although it succeeded: 128 + SIGXFSZ."""

_STARTED = frozenset({Phase.ASSIGNED, Phase.AWAITING, Phase.PREPARING, Phase.STARTING, Phase.RUNNING})
_REOPENABLE = _STARTED | {Phase.EXITED, Phase.REPORTING}
_STARTED_OR_SUSPENDED = _STARTED | {Phase.SUSPENDING, Phase.SUSPENDED}
_RETAINED = frozenset({Phase.RETIRING, Phase.RETAINED, Phase.PURGING, Phase.PURGED})


def handle(state: AgentState, event: ev.Event, now_ms: int) -> tuple[AgentState, list[cmd.Command]]:
    """Return the state after the event and the commands. Raises :class:`IllegalMove`, which changes nothing."""
    if isinstance(event, ev.Recovered):

        def move(pod: Pod | None, what: ev.PodEvent) -> MaybeTransition:
            return _move(state.host, pod, ev.lease_number(what), what, now_ms, state.pods)

        return recover(state, event, move, now_ms)
    numbers = tuple(state.pods) if isinstance(event, ev.HostEvent) else (ev.lease_number(event),)
    pods = dict(state.pods)
    commands: list[cmd.Command] = []
    for number in numbers:
        pod, more = _move(state.host, pods.get(number), number, event, now_ms, pods)
        commands += more
        _put(pods, number, pod)
    return AgentState(state.host, MappingProxyType(pods)), commands


def _put(pods: dict[int, Pod], number: int, pod: Pod | None) -> None:
    if pod is None:
        pods.pop(number, None)
    else:
        pods[number] = pod


def _move(
    host: LocalHost,
    pod: Pod | None,
    number: int,
    event: ev.PodEvent | ev.HostEvent,
    now_ms: int,
    others: Mapping[int, Pod],
) -> MaybeTransition:
    before = Phase.ABSENT if pod is None else pod.phase
    targets = TABLE[before].get(type(event))
    if targets is None:
        story = "; ".join(pod.story) if pod else "none"
        raise IllegalMove(f"lease {number}: {type(event).__name__} in phase {before}. Story: {story}")
    after, commands = _HANDLERS[type(event)](host, pod, event, now_ms)
    if after is not None and takes_devices(before, after.phase) and conflicting_pod(after.lease, others) is not None:
        after, commands = _wait_for_device(after, commands, now_ms)
    phase = Phase.ABSENT if after is None else after.phase
    if phase not in targets:
        raise IllegalMove(f"lease {number}: {type(event).__name__} must not lead from {before} to {phase}")
    if after is not None and phase is not before:
        line = f"{now_ms} {type(event).__name__}: {before} -> {phase}"
        after = replace(after, story=(*after.story, line)[-STORY_LENGTH:])
    return after, commands


def _assigned(host: LocalHost, pod: Pod | None, event: ev.LeaseAssigned, now_ms: int) -> MaybeTransition:
    lease = event.lease
    if pod is None:
        lease = with_notice_end(lease, now_ms)
        pod = Pod(lease=lease, phase=Phase.ASSIGNED, started_known=lease.started, stop_at_ms=lease.depletes_at_ms)
        if is_retained(pod):
            return retire(pod)
        if event.manifest is None:
            return pod, [cmd.FetchManifest(lease.number, lease.task)]
        return _admitted(host, pod, event.manifest, now_ms)
    if not lease.is_same_as(pod.lease):
        return _opened_by_fork(host, pod, lease, now_ms)
    if pod.phase is Phase.ENDING:
        return pod, []
    pod, commands = refreshed(pod, lease, now_ms)
    if pod.phase is Phase.ASSIGNED and pod.spec is None and event.manifest is not None and not is_retained(pod):
        after, more = _admitted(host, pod, event.manifest, now_ms)
    else:
        after, more = _apply_lease(pod, now_ms)
    return after, commands + more


def _opened_by_fork(host: LocalHost, pod: Pod, lease: HostLease, now_ms: int) -> MaybeTransition:
    """Handle a lease with the number of the known one, whose block was reverted.

    If it is the same lease, opened again, the pod goes on. Its reports are not on that fork, and are sent again.
    Otherwise the new lease is taken up after the old pod is removed.
    """
    if not lease.reopens(pod.lease) or pod.phase not in _REOPENABLE:
        return _ended(host, pod, ev.LeaseEnded(lease.number, "Reverted"), now_ms)
    pod, commands = refreshed(replace(pod, started_known=False, result_sent=False), lease, now_ms)
    if pod.started_sent and not pod.started_known:
        commands.append(cmd.SubmitStarted(lease.number))
    after, more = _apply_lease(pod, now_ms)
    return after, commands + more


def refreshed(pod: Pod, lease: HostLease, now_ms: int) -> tuple[Pod, list[cmd.Command]]:
    """Update the lease of a pod and the end of its paid time. A new notice is passed on once."""
    commands: list[cmd.Command] = []
    if lease.depletes_at_ms is not None and lease.depletes_at_ms != pod.stop_at_ms:
        pod = replace(pod, stop_at_ms=lease.depletes_at_ms)
        commands.append(cmd.ScheduleStop(lease.number, lease.depletes_at_ms))
    noticed_ms = pod.lease.notice_ends_ms
    lease = with_notice_end(lease, now_ms, pod.lease)
    pod = replace(pod, lease=lease, started_known=pod.started_known or lease.started)
    if lease.notice_ends_ms != noticed_ms and pod.phase in _STARTED_OR_SUSPENDED:
        commands += write_notice(pod) + (signal_containers(pod) if pod.phase is Phase.RUNNING else [])
    return pod, commands


def _wait_for_device(pod: Pod, commands: list[cmd.Command], now_ms: int) -> tuple[Pod, list[cmd.Command]]:
    """Delay a pod whose device a pod of another account still uses; refuse it after the last attempt."""
    again = container_events.retry_later(pod.to(Phase.ASSIGNED), now_ms)
    if again is None:
        message = "A pod of another account still uses its GPU, and only pods of one account can share a GPU."
        return refuse(pod, HostFailure.RESOURCES_UNAVAILABLE, message)
    pod, more = again
    return pod, [one for one in commands if not isinstance(one, cmd.PreparePod | cmd.PrefetchImages)] + more


def _apply_lease(pod: Pod, now_ms: int) -> MaybeTransition:
    """Apply the state of the lease to its pod."""
    if is_retained(pod):
        return retention.check_retention(pod, now_ms) if pod.phase in _RETAINED else retire(pod)
    if pod.phase in _STARTED and pod.spec is not None and pod.lease.status is LeaseStatus.SUSPENDED:
        return pause(pod, "its tenant stopped it")
    if pod.phase is Phase.SUSPENDED and pod.may_run(now_ms):
        return resume(pod)
    return send_result_if_ready(pod)


def _manifest_fetched(host: LocalHost, pod: Pod | None, event: ev.ManifestFetched, now_ms: int) -> MaybeTransition:
    if pod is None or pod.phase is not Phase.ASSIGNED or pod.spec is not None:
        return pod, []
    return _admitted(host, pod, event.manifest, now_ms)


def _admitted(host: LocalHost, pod: Pod, manifest: FetchedManifest | None, now_ms: int) -> MaybeTransition:
    spec = admit(host, pod.lease, manifest)
    if isinstance(spec, LeaseRejected):
        return refuse(pod, spec.reason, spec.message)
    return begin(pod, spec, now_ms)


def _ended(_host: LocalHost, pod: Pod | None, event: ev.LeaseEnded, _now_ms: int) -> MaybeTransition:
    if pod is None or pod.phase is Phase.ENDING:
        return pod, []
    stop = stop_for_good(pod, event.reason) if pod.phase in _STARTED else []
    return pod.to(Phase.ENDING), [*stop, destroy(pod, keep_data=event.reason == DATA_MOVED)]


def _missing(_host: LocalHost, _pod: Pod | None, event: ev.OrphanFound, _now_ms: int) -> MaybeTransition:
    return None, [cmd.SweepOrphan(event.number, event.reason == DATA_MOVED)]


def _file_delivered(_host: LocalHost, pod: Pod | None, event: ev.FileDelivered, _now_ms: int) -> MaybeTransition:
    if pod is None:
        return pod, []
    pod = replace(pod, delivered=tuple(sorted({*pod.delivered, event.name})))
    return prepare(pod) if pod.phase is Phase.AWAITING and not pod.awaited else (pod, [])


def _result_stored(_host: LocalHost, pod: Pod | None, event: ev.ResultStored, _now_ms: int) -> MaybeTransition:
    if pod is None or pod.phase is not Phase.EXITED:
        return pod, []
    ending = pod.ending
    if event.too_large and ending is not None and ending.exit_code == 0:
        ending = replace(ending, exit_code=TOO_LARGE_EXIT_CODE)
    pod = replace(pod, phase=Phase.REPORTING, digest=event.digest, ending=ending, retry_at_ms=None)
    return send_result_if_ready(pod)


def _collect_failed(_host: LocalHost, pod: Pod | None, event: ev.CollectFailed, now_ms: int) -> MaybeTransition:
    if pod is None or pod.phase is not Phase.EXITED:
        return pod, []
    again = container_events.retry_later(pod, now_ms)
    return again or refuse(pod, HostFailure.DRIVER_ERROR, f"The result could not be kept: {event.message}")


def _report_outcome(_host: LocalHost, pod: Pod | None, event: ev.ReportOutcome, now_ms: int) -> MaybeTransition:
    if pod is None or (event.report is LeaseReport.STARTED and not pod.started_sent):
        return pod, []  # The report is of a lease with the same number, whose block was reverted.
    if event.report is LeaseReport.STARTED:
        # Also if the chain refused it: then it refuses the result too, or the lease is over and the chain says so.
        return send_result_if_ready(replace(pod, started_known=True))
    if event.report is LeaseReport.RESULT and pod.phase is Phase.REPORTING:
        return pod.to(Phase.DONE), [destroy(pod)]
    if event.report is LeaseReport.FAILED and pod.phase is Phase.REFUSING:
        return pod.to(Phase.REFUSED), []
    if event.report in (LeaseReport.PURGED, LeaseReport.DATA_LOST) and pod.phase is Phase.PURGED:
        return retention.purge_reported(pod, event, now_ms)
    return pod, []


def _destroyed(_host: LocalHost, pod: Pod | None, _event: ev.PodDestroyed, _now_ms: int) -> MaybeTransition:
    if pod is None or pod.phase is Phase.ENDING:
        return None, []
    return retention.only_data_left(pod) if pod.phase is Phase.RETIRING else (pod, [])


def _tick(_host: LocalHost, pod: Pod | None, _event: ev.Tick, now_ms: int) -> MaybeTransition:
    if pod is None:
        return pod, []
    if pod.phase in _STARTED and pod.stop_at_ms is not None and now_ms >= pod.stop_at_ms:
        return _paid_time_over(pod, now_ms)
    due_ms = pod.start_due_ms
    if pod.phase in (Phase.AWAITING, Phase.PREPARING) and due_ms is not None and now_ms >= due_ms:
        return start_overdue(pod)
    pod, commands = container_events.restart_due(pod, now_ms)
    if pod.retry_at_ms is not None and now_ms >= pod.retry_at_ms:
        pod, more = _retry(replace(pod, retry_at_ms=None), now_ms)
        commands += more
    return pod, commands


def _retry(pod: Pod, now_ms: int) -> tuple[Pod, list[cmd.Command]]:
    match pod.phase:
        case Phase.ASSIGNED if pod.spec is not None:
            return prepare(pod)
        case Phase.EXITED:
            return pod, [collect(pod)]
        case Phase.RETAINED:
            return retention.check_retention(pod, now_ms)
        case Phase.PURGED:
            return pod, [submit_of_data(pod)]
    return pod, []


def _paid_time_over(pod: Pod, now_ms: int) -> MaybeTransition:
    if pod.lease.kind is not TaskKind.JOB:
        return pause(pod, USED_UP)
    if pod.phase is Phase.RUNNING:
        return container_events.out_of_time(pod, USED_UP, now_ms)
    stop = cmd.StopPod(pod.lease.number, USED_UP)
    return replace(pod, phase=Phase.DEPLETED, retry_at_ms=None), [stop, destroy(pod)]


def _devices_failed(_host: LocalHost, pod: Pod | None, event: ev.DevicesFailed, _now_ms: int) -> MaybeTransition:
    if pod is None or pod.phase not in _STARTED or event.devices.isdisjoint(pod.lease.devices):
        return pod, []
    return refuse(pod, HostFailure.RESOURCES_UNAVAILABLE, event.message)


_HANDLERS: Mapping[type, Callable[[LocalHost, Pod | None, Any, int], MaybeTransition]] = MappingProxyType(
    {
        ev.LeaseAssigned: _assigned,
        ev.ManifestFetched: _manifest_fetched,
        ev.LeaseEnded: _ended,
        ev.OrphanFound: _missing,
        ev.FileDelivered: _file_delivered,
        ev.RestoreRequested: container_events.restore_asked,
        ev.PodPrepared: container_events.prepared,
        ev.ContainerStarted: container_events.container_started,
        ev.DriverFailed: container_events.driver_failed,
        ev.HealthChanged: container_events.health_changed,
        ev.ContainerExited: container_events.exited,
        ev.LimitExceeded: container_events.limit_exceeded,
        ev.PodPaused: container_events.paused,
        ev.ResultStored: _result_stored,
        ev.CollectFailed: _collect_failed,
        ev.DataFound: retention.data_found,
        ev.DataPurged: retention.data_purged,
        ev.ReportOutcome: _report_outcome,
        ev.PodDestroyed: _destroyed,
        ev.Tick: _tick,
        ev.DevicesFailed: _devices_failed,
    }
)


_OFF_DEVICES: Final = frozenset({Phase.ABSENT, Phase.ASSIGNED, Phase.SUSPENDING, Phase.SUSPENDED})
_BEFORE_START: Final = frozenset({Phase.AWAITING, Phase.PREPARING})
_ON_DEVICES: Final = _BEFORE_START | {
    Phase.STARTING,
    Phase.RUNNING,
    Phase.SUSPENDING,
    Phase.EXITED,
    Phase.REFUSING,
    Phase.REFUSED,
    Phase.DEPLETED,
    Phase.RETIRING,
    Phase.ENDING,
}
"""Phases in which containers may run or start."""


def takes_devices(before: Phase, after: Phase) -> bool:
    """Whether a pod is about to occupy its devices."""
    return before in _OFF_DEVICES and after in _BEFORE_START


def conflicting_pod(lease: HostLease, pods: Mapping[int, Pod]) -> Pod | None:
    """Return a pod of another account on a device of the lease if one of both has only a share of it.

    The chain gives shares of a device to one account at a time. A device that it assigns again may still be in use
    here, because a pod needs time to end.
    """
    for number, pod in pods.items():
        other = pod.lease
        same = number == lease.number or other.tenant == lease.tenant
        shares = min(lease.gpu_milli, other.gpu_milli) < WHOLE_GPU
        if not same and shares and pod.phase in _ON_DEVICES and not set(lease.devices).isdisjoint(other.devices):
            return pod
    return None
