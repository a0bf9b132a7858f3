"""Steps of a pod that several transitions share. Pure."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

from node_agent.core import commands as cmd
from node_agent.core.containers import Container, Stage, initial_containers, replace_container
from node_agent.core.states import IllegalMove, Phase, Pod
from node_agent.core.values import HostFailure, HostLease, LeaseStatus, PodSpec

Transition = tuple[Pod, list[cmd.Command]]
MaybeTransition = tuple[Pod | None, list[cmd.Command]]
"""None: the pod is removed."""

RETRY_AFTER_MS = (1_000, 4_000, 15_000, 30_000)
"""Delays before retries of a transient failure; after the last one the lease is given back."""
DATA_MOVED = "DataMoved"
"""The chain's reason for the end of a lease whose data another lease took over."""
USED_UP = "the paid time is over"


def begin(pod: Pod, spec: PodSpec, now_ms: int) -> Transition:
    """Start a pod whose manifest is known, or suspend it if its lease may not run now."""
    pod = replace(pod, spec=spec, containers=initial_containers(spec))
    pod, commands = prepare(pod) if pod.may_run(now_ms) else pause(pod, "the lease is suspended")
    return pod, [*(write_notice(pod) if pod.lease.notice_ends_ms is not None else ()), *commands]


def prepare(pod: Pod) -> Transition:
    """Prepare the containers of a pod once all of its files are delivered."""
    number, spec = pod.lease.number, spec_of(pod)
    pod = replace(pod, retry_at_ms=None)
    due_ms = pod.start_due_ms
    due: list[cmd.Command] = [] if due_ms is None else [cmd.ScheduleRetry(number, due_ms)]
    if pod.awaited:
        return pod.to(Phase.AWAITING), [cmd.PrefetchImages(number, spec), *due]
    return pod.to(Phase.PREPARING), [cmd.PreparePod(number, spec), *due]


def start_overdue(pod: Pod) -> Transition:
    """Handle the approaching start timeout of a pod that has not started: the lease is given back with the reason.

    A file that was not delivered is the tenant's omission. Any other reason only the driver knows.
    """
    if pod.phase is Phase.AWAITING:
        names = ", ".join(pod.awaited)
        return refuse(pod, HostFailure.INPUT_MISSING, f"the tenant did not deliver in time: {names}")
    return pod, [cmd.ExplainLateStart(pod.lease.number, spec_of(pod))]


def resume(pod: Pod) -> Transition:
    """Start a suspended pod again."""
    if pod.spec is None:
        return replace(pod, phase=Phase.ASSIGNED), [cmd.FetchManifest(pod.lease.number, pod.lease.task)]
    return prepare(pod)


def start_container(pod: Pod, container: Container) -> Transition:
    """Start a container, in place if it ran before."""
    number = pod.lease.number
    # Until it runs, it is unknown whether it is the same container.
    following = replace(container, stage=Stage.STARTING, start=container.start + 1, handle=None, retry_at_ms=None)
    pod = replace(pod, containers=replace_container(pod.containers, following))
    return pod, [start_command(pod, following, number)]


def start_command(pod: Pod, container: Container, number: int) -> cmd.StartContainer:
    """Return the command for a container that is starting; the same one after a restart of the agent."""
    spec = spec_of(pod)
    anew = pod.renew and container.name == spec.main.service.name
    return cmd.StartContainer(number, spec, container.name, container.start, "" if anew else container.mark)


def pause(pod: Pod, reason: str) -> Transition:
    """Stop all containers and keep all data."""
    return replace(pod, phase=Phase.SUSPENDING, retry_at_ms=None), [cmd.PausePod(pod.lease.number, reason)]


def stop_for_good(pod: Pod, reason: str) -> list[cmd.Command]:
    """Stop running containers before the pod is removed."""
    runs = any(one.stage in (Stage.RUNNING, Stage.STARTING) for one in pod.containers)
    return [cmd.StopPod(pod.lease.number, reason)] if runs else []


def with_notice_end(lease: HostLease, now_ms: int, before: HostLease | None = None) -> HostLease:
    """Return the lease with the end of its notice if its pod must move; `before`: the lease with an earlier notice."""
    if lease.moves_after_ms is None:
        return lease
    earlier_ends_ms = before.notice_ends_ms if before is not None and before.moves_after_ms is not None else None
    ends_ms = now_ms + lease.moves_after_ms if earlier_ends_ms is None else earlier_ends_ms
    known = ends_ms if lease.notice_ends_ms is None else min(ends_ms, lease.notice_ends_ms)
    return replace(lease, notice_ends_ms=known)


def write_notice(pod: Pod) -> list[cmd.Command]:
    """Tell the containers until when they may run, or that they need not leave."""
    if pod.spec is None or not pod.spec.receives_notices:
        return []
    return [cmd.WriteNotice(pod.lease.number, pod.lease.notice_ends_ms)]


def signal_containers(pod: Pod) -> list[cmd.Command]:
    """Send the checkpoint signal to running containers, so that they can save their work."""
    runs = any(one.stage is Stage.RUNNING for one in pod.containers)
    if pod.lease.notice_ends_ms is None or pod.spec is None or pod.spec.checkpoint_signal is None or not runs:
        return []
    return [cmd.SignalPod(pod.lease.number, pod.spec.checkpoint_signal)]


def destroy(pod: Pod, *, keep_data: bool | None = None) -> cmd.DestroyPod:
    """Remove the pod, and its data unless `keep_data` or, by default, its lease may keep it."""
    return cmd.DestroyPod(pod.lease.number, pod.lease.keeps_data if keep_data is None else keep_data)


def refuse(pod: Pod, reason: HostFailure, message: str) -> Transition:
    """Give the lease back to the chain. Containers get a grace period only if one of them is known to run."""
    runs = any(one.stage is Stage.RUNNING for one in pod.containers)
    stop = stop_for_good(pod, message) if runs else []
    pod = replace(pod, phase=Phase.REFUSING, failure=reason, failure_message=message, retry_at_ms=None)
    return pod, [cmd.SubmitFailed(pod.lease.number, reason, message), *stop, destroy(pod)]


def retire(pod: Pod) -> Transition:
    """Remove everything except the data of a lease that has ended."""
    stop = stop_for_good(pod, "the lease is over")
    return replace(pod, phase=Phase.RETIRING, retry_at_ms=None), [*stop, destroy(pod, keep_data=True)]


def inventory(pod: Pod) -> cmd.TakeInventory:
    """List the retained data."""
    return cmd.TakeInventory(pod.lease.number, spec_of(pod).volumes if pod.has_data else ())


def collect(pod: Pod) -> cmd.Command:
    """Read the result of the ended pod.

    A compared result is empty if a limit ended the pod: how far it came differs between honest hosts.
    """
    at_limit = bool(pod.cut) or (pod.ending is not None and pod.ending.oom_killed)
    handle = None if at_limit and pod.lease.redundant else main_container(pod).handle
    return cmd.CollectResult(pod.lease.number, handle, spec_of(pod).result, pod.cut)


def send_result_if_ready(pod: Pod) -> Transition:
    """Report the result once the chain has the started report, without which it accepts none."""
    if pod.phase is not Phase.REPORTING or pod.result_sent or not pod.started_known:
        return pod, []
    return replace(pod, result_sent=True), [submit_result(pod)]


def submit_result(pod: Pod) -> cmd.Command:
    """Return the report of the result."""
    if pod.digest is None or pod.ending is None:
        raise IllegalMove(f"lease {pod.lease.number}: no result to report")
    return cmd.SubmitResult(pod.lease.number, pod.digest, pod.ending.exit_code, pod.ending.usage)


def submit_of_data(pod: Pod) -> cmd.Command:
    """Return the report on deleted or lost data."""
    if pod.receipt is None:
        return cmd.SubmitDataLost(pod.lease.number)
    return cmd.SubmitPurged(pod.lease.number, pod.receipt, pod.tries)


def main_container(pod: Pod) -> Container:
    """Return the container whose end is the pod's."""
    name = spec_of(pod).main.service.name
    return next(one for one in pod.containers if one.name == name)


def spec_of(pod: Pod) -> PodSpec:
    """Return the spec of a pod; IllegalMove if it has none."""
    if pod.spec is None:
        raise IllegalMove(f"lease {pod.lease.number}: nothing is known of its containers")
    return pod.spec


def is_retained(pod: Pod) -> bool:
    """Whether the chain keeps the lease only for its data."""
    return pod.lease.status is LeaseStatus.RETAINED


def termination_notice(ends_ms: int) -> bytes:
    """Return the notice: `ends_at` (RFC 3339, UTC) and `ends_at_ms` (Unix ms), in chain time, as JSON."""
    ends_at = datetime.fromtimestamp(ends_ms // 1000, UTC).strftime(f"%Y-%m-%dT%H:%M:%S.{ends_ms % 1000:03d}Z")
    return json.dumps({"ends_at": ends_at, "ends_at_ms": ends_ms}).encode() + b"\n"
