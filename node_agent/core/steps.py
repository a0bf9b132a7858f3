"""Single steps of a pod that several moves share."""

from __future__ import annotations

from dataclasses import replace

from node_agent.core import commands as cmd
from node_agent.core.containers import Container, Stage, initial_containers, replace_container
from node_agent.core.states import IllegalMove, Phase, Pod
from node_agent.core.values import HostFailure, HostLease, LeaseStatus, PodSpec

Moved = tuple[Pod, list[cmd.Command]]

RETRY_AFTER_MS = (1_000, 4_000, 15_000, 30_000)
"""Pauses before a transient failure is tried again; after the last one the lease is given back."""
DATA_MOVED = "DataMoved"
"""The chain's reason for the end of a lease whose data another one took over."""
USED_UP = "what was paid for is used up"


def begin(pod: Pod, spec: PodSpec, now_ms: int) -> Moved:
    """A pod whose manifest is known: brought up, or kept stopped where the lease is not for running now."""
    pod = replace(pod, spec=spec, containers=initial_containers(spec))
    pod, commands = prepare(pod) if pod.may_run(now_ms) else pause(pod, "the lease is suspended")
    return pod, [*(write_notice(pod) if pod.lease.notice_ends_ms is not None else ()), *commands]


def prepare(pod: Pod) -> Moved:
    """Have ready what its containers need, as soon as all its files are there."""
    number, spec = pod.lease.number, spec_of(pod)
    pod = replace(pod, retry_at_ms=None)
    due_ms = pod.start_due_ms
    due: list[cmd.Command] = [] if due_ms is None else [cmd.ScheduleRetry(number, due_ms)]
    if pod.awaited:
        return pod.to(Phase.AWAITING), [cmd.PrefetchImages(number, spec), *due]
    return pod.to(Phase.PREPARING), [cmd.PreparePod(number, spec), *due]


def start_overdue(pod: Pod) -> Moved:
    """The start timeout is near, and the pod has not started: give the lease back with what it waited for.

    A file that the tenant did not deliver is the tenant's omission. What else a pod waits for only its driver can say.
    """
    if pod.phase is Phase.AWAITING:
        names = ", ".join(pod.awaited)
        return refuse(pod, HostFailure.INPUT_MISSING, f"the tenant did not deliver in time: {names}")
    return pod, [cmd.ExplainLateStart(pod.lease.number, spec_of(pod))]


def resume(pod: Pod) -> Moved:
    """Bring a stopped pod up again."""
    if pod.spec is None:
        return replace(pod, phase=Phase.ASSIGNED), [cmd.FetchManifest(pod.lease.number, pod.lease.task)]
    return prepare(pod)


def start_container(pod: Pod, container: Container) -> Moved:
    """Start a container for the next time, in place where it ran before."""
    number = pod.lease.number
    # Until it runs nobody knows whether it is the container that there was.
    following = replace(container, stage=Stage.STARTING, start=container.start + 1, handle=None, retry_at_ms=None)
    pod = replace(pod, containers=replace_container(pod.containers, following))
    return pod, [start_command(pod, following, number)]


def start_command(pod: Pod, container: Container, number: int) -> cmd.StartContainer:
    """What is asked for a container that is being started; the same again after a restart of the agent."""
    spec = spec_of(pod)
    anew = pod.renew and container.name == spec.main.service.name
    return cmd.StartContainer(number, spec, container.name, container.start, "" if anew else container.mark)


def pause(pod: Pod, reason: str) -> Moved:
    """Stop all containers and keep everything."""
    return replace(pod, phase=Phase.SUSPENDING, retry_at_ms=None), [cmd.PausePod(pod.lease.number, reason)]


def stop_for_good(pod: Pod, reason: str) -> list[cmd.Command]:
    """Containers that still run are asked to end before all is removed."""
    runs = any(one.stage in (Stage.RUNNING, Stage.STARTING) for one in pod.containers)
    return [cmd.StopPod(pod.lease.number, reason)] if runs else []


def with_notice_end(lease: HostLease, now_ms: int, before: HostLease | None = None) -> HostLease:
    """The lease with the end of the notice of one that is to be moved; what was said `before` stays."""
    if lease.moves_after_ms is None:
        return lease
    said = before.notice_ends_ms if before is not None and before.moves_after_ms is not None else None
    ends_ms = now_ms + lease.moves_after_ms if said is None else said
    known = ends_ms if lease.notice_ends_ms is None else min(ends_ms, lease.notice_ends_ms)
    return replace(lease, notice_ends_ms=known)


def write_notice(pod: Pod) -> list[cmd.Command]:
    """Containers find until when they may run, or that they need not leave."""
    if pod.spec is None or not pod.spec.may_be_told:
        return []
    return [cmd.WriteNotice(pod.lease.number, pod.lease.notice_ends_ms)]


def signal_containers(pod: Pod) -> list[cmd.Command]:
    """Containers that run get the signal that they have to leave, so that they can save their work."""
    runs = any(one.stage is Stage.RUNNING for one in pod.containers)
    if pod.lease.notice_ends_ms is None or pod.spec is None or pod.spec.checkpoint_signal is None or not runs:
        return []
    return [cmd.SignalPod(pod.lease.number, pod.spec.checkpoint_signal)]


def destroy(pod: Pod, *, keep_data: bool | None = None) -> cmd.DestroyPod:
    """Remove the pod; its data only where its lease, which may keep it, is known to be over."""
    return cmd.DestroyPod(pod.lease.number, pod.lease.keeps_data if keep_data is None else keep_data)


def refuse(pod: Pod, reason: HostFailure, message: str) -> Moved:
    """Give the lease back to the chain. Where none of its containers is known to run, none is left time to end."""
    runs = any(one.stage is Stage.RUNNING for one in pod.containers)
    stop = stop_for_good(pod, message) if runs else []
    pod = replace(pod, phase=Phase.REFUSING, failure=reason, failure_message=message, retry_at_ms=None)
    return pod, [cmd.SubmitFailed(pod.lease.number, reason, message), *stop, destroy(pod)]


def retire(pod: Pod) -> Moved:
    """The lease is over but for its data: remove the rest."""
    stop = stop_for_good(pod, "the lease is over")
    return replace(pod, phase=Phase.RETIRING, retry_at_ms=None), [*stop, destroy(pod, keep_data=True)]


def inventory(pod: Pod) -> cmd.TakeInventory:
    """See what is retained."""
    return cmd.TakeInventory(pod.lease.number, spec_of(pod).volumes if pod.has_data else ())


def collect(pod: Pod) -> cmd.Command:
    """Read the result of the ended pod."""
    return cmd.CollectResult(pod.lease.number, main_container(pod).handle, spec_of(pod).result, pod.cut)


def send_result_if_ready(pod: Pod) -> Moved:
    """Report the result as soon as the chain has the started report, without which it takes none."""
    if pod.phase is not Phase.REPORTING or pod.result_sent or not pod.started_known:
        return pod, []
    return replace(pod, result_sent=True), [submit_result(pod)]


def submit_result(pod: Pod) -> cmd.Command:
    """The result's report."""
    if pod.digest is None or pod.ending is None:
        raise IllegalMove(f"lease {pod.lease.number}: no result to report")
    return cmd.SubmitResult(pod.lease.number, pod.digest, pod.ending.exit_code, pod.ending.usage)


def submit_of_data(pod: Pod) -> cmd.Command:
    """What is said of data that is not there any more."""
    if pod.receipt is None:
        return cmd.SubmitDataLost(pod.lease.number)
    return cmd.SubmitPurged(pod.lease.number, pod.receipt, pod.tries)


def main_container(pod: Pod) -> Container:
    """The container whose end is the pod's."""
    name = spec_of(pod).main.service.name
    return next(one for one in pod.containers if one.name == name)


def spec_of(pod: Pod) -> PodSpec:
    """The spec of a pod that must have one."""
    if pod.spec is None:
        raise IllegalMove(f"lease {pod.lease.number}: nothing is known of its containers")
    return pod.spec


def is_retained(pod: Pod) -> bool:
    """Whether the chain keeps the lease for its data alone."""
    return pod.lease.status is LeaseStatus.RETAINED
