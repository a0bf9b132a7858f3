"""The moves of data that outlives its pod: kept until the chain lets go of it, then deleted with a receipt."""

from __future__ import annotations

from dataclasses import replace

from node_agent.core import commands as cmd
from node_agent.core import events as ev
from node_agent.core.states import Phase, Pod
from node_agent.core.steps import Moved, inventory, submit_of_data
from node_agent.core.values import LocalHost, ReportStatus

PURGE_MARGIN_MS = 6_000
"""After the end of retention: the chain takes no receipt before it, and its blocks come when they come."""
REPORT_AGAIN_MS = 60_000

MaybeMoved = tuple[Pod | None, list[cmd.Command]]


def only_data_left(pod: Pod) -> Moved:
    """Only the data is left; see whether it is all there."""
    return pod.to(Phase.RETAINED), [inventory(pod)]


def check_retention(pod: Pod, now_ms: int) -> Moved:
    """The lease was read again, or it is time: look at the data where it is due, else note when it will be."""
    if pod.phase is not Phase.RETAINED:
        return pod, []
    due_ms = _due_ms(pod)
    if due_ms is None:
        return pod, []
    if now_ms >= due_ms:
        return replace(pod, retry_at_ms=None), [inventory(pod)]
    if due_ms == pod.retry_at_ms:
        return pod, []
    return replace(pod, retry_at_ms=due_ms), [cmd.ScheduleRetry(pod.lease.number, due_ms)]


def data_found(_host: LocalHost, pod: Pod | None, event: ev.DataFound, now_ms: int) -> MaybeMoved:
    """Delete it where it is due, say so where it is gone, and else wait.

    The receipt is kept before anything is deleted, so that a deletion that is cut short is no loss.
    """
    if pod is None or pod.phase is not Phase.RETAINED:
        return pod, []
    if event.missing:
        pod = replace(pod, phase=Phase.PURGED, receipt=None, tries=0, retry_at_ms=None)
        return pod, [submit_of_data(pod), cmd.PurgeData(event.number)]
    due_ms = _due_ms(pod)
    if due_ms is not None and now_ms >= due_ms:
        pod = replace(pod, phase=Phase.PURGING, receipt=event.receipt, tries=0, retry_at_ms=None)
        return pod, [cmd.PurgeData(event.number)]
    return check_retention(pod, now_ms)


def data_purged(_host: LocalHost, pod: Pod | None, _event: ev.DataPurged, _now_ms: int) -> MaybeMoved:
    """It is deleted: say so on the chain."""
    if pod is None or pod.phase is not Phase.PURGING:
        return pod, []
    pod = pod.to(Phase.PURGED)
    return pod, [submit_of_data(pod)]


def purge_reported(pod: Pod, event: ev.ReportOutcome, now_ms: int) -> Moved:
    """A refusal may be the chain's clock: it is said again, unless the lease turns out to be over."""
    if event.outcome is ReportStatus.INCLUDED or pod.receipt is None:
        return pod, []
    at_ms = now_ms + REPORT_AGAIN_MS
    return replace(pod, tries=pod.tries + 1, retry_at_ms=at_ms), [cmd.ScheduleRetry(pod.lease.number, at_ms)]


def _due_ms(pod: Pod) -> int | None:
    until_ms = pod.lease.retained_until_ms
    return None if until_ms is None else until_ms + PURGE_MARGIN_MS
