"""Single steps of a pod that several moves share."""

from __future__ import annotations

from dataclasses import replace

from node_agent.core import commands as cmd
from node_agent.core.states import IllegalMove, Phase, Pod
from node_agent.core.values import HostFailure, PodSpec


def start(pod: Pod, spec: PodSpec) -> tuple[Pod, list[cmd.Command]]:
    """Start the container, or adopt the one of this start."""
    pod = replace(pod, phase=Phase.PREPARING, spec=spec, handle=None, retry_at_ms=None)
    return pod, [cmd.StartPod(pod.lease.number, spec)]


def refuse(pod: Pod, reason: HostFailure, message: str) -> tuple[Pod, list[cmd.Command]]:
    """Give the lease back to the chain."""
    number = pod.lease.number
    pod = replace(pod, phase=Phase.REFUSING, failure=reason, failure_message=message, retry_at_ms=None)
    return pod, [cmd.SubmitFailed(number, reason, message), cmd.DestroyPod(number)]


def collect(pod: Pod) -> cmd.Command:
    """Read the result of the ended container."""
    if pod.handle is None or pod.spec is None:
        raise IllegalMove(f"lease {pod.lease.number}: no container to collect from")
    return cmd.CollectResult(pod.lease.number, pod.handle, pod.spec.result)


def send_result_if_ready(pod: Pod) -> tuple[Pod, list[cmd.Command]]:
    """Report the result as soon as the chain has the started report, without which it takes none."""
    if pod.phase is not Phase.REPORTING or pod.result_sent or not pod.started_known:
        return pod, []
    return replace(pod, result_sent=True), [submit_result(pod)]


def submit_result(pod: Pod) -> cmd.Command:
    """The result's report."""
    if pod.digest is None or pod.ending is None:
        raise IllegalMove(f"lease {pod.lease.number}: no result to report")
    return cmd.SubmitResult(pod.lease.number, pod.digest, pod.ending.exit_code, pod.ending.usage)
