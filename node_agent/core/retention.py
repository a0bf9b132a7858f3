"""Retained data of a rental: kept until the chain releases it, then deleted with a receipt. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from node_agent.core import commands as cmd
from node_agent.core import events as ev
from node_agent.core.pod_steps import MaybeTransition, Transition, inventory, submit_of_data
from node_agent.core.states import Phase, Pod
from node_agent.core.values import HostLease, LocalHost, ReportStatus
from node_agent.drivers.port import Volume
from offchain.schema.protocol.messages import canonical_json
from offchain.schema.protocol.snapshots import RentalSnapshot

PURGE_MARGIN_MS = 6_000
"""Delay after the end of retention: the chain accepts no receipt before it, and its block time lags."""
REPORT_AGAIN_MS = 60_000
"""Delay before a refused receipt is reported again."""


def only_data_left(pod: Pod) -> Transition:
    """List the data after everything else of the pod is removed."""
    return pod.to(Phase.RETAINED), [inventory(pod)]


def check_retention(pod: Pod, now_ms: int) -> Transition:
    """List the data if its deletion is due, else schedule that."""
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


def data_found(_host: LocalHost, pod: Pod | None, event: ev.DataFound, now_ms: int) -> MaybeTransition:
    """Delete the data if due, report it if lost, else wait.

    The receipt is stored before the deletion, so that an interruption does no harm.
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


def data_purged(_host: LocalHost, pod: Pod | None, _event: ev.DataPurged, _now_ms: int) -> MaybeTransition:
    """Report the deletion to the chain."""
    if pod is None or pod.phase is not Phase.PURGING:
        return pod, []
    pod = pod.to(Phase.PURGED)
    return pod, [submit_of_data(pod)]


def purge_reported(pod: Pod, event: ev.ReportOutcome, now_ms: int) -> Transition:
    """Repeat a refused receipt, which may be early for the chain's clock, until the lease is over."""
    if event.outcome is ReportStatus.INCLUDED or pod.receipt is None:
        return pod, []
    at_ms = now_ms + REPORT_AGAIN_MS
    return replace(pod, tries=pod.tries + 1, retry_at_ms=at_ms), [cmd.ScheduleRetry(pod.lease.number, at_ms)]


def _due_ms(pod: Pod) -> int | None:
    until_ms = pod.lease.retained_until_ms
    return None if until_ms is None else until_ms + PURGE_MARGIN_MS


def deletion_record(
    host: str, lease: HostLease, volumes: Iterable[Volume], snapshots: Iterable[RentalSnapshot] = ()
) -> bytes:
    """Return the record of deleted data as canonical JSON (docs/agent.md); its SHA-256 is the receipt on the chain."""
    return canonical_json(
        {
            "v": 1,
            "what": "gantry/deletion",
            "host": host,
            "task": lease.task,
            "lease": lease.number,
            "opened_ms": lease.created_at_ms,
            "retained_until_ms": lease.retained_until_ms,
            "volumes": [
                {"name": volume.name, "created": volume.created, "bytes": volume.size_bytes}
                for volume in sorted(volumes, key=lambda volume: volume.name)
            ],
            "snapshots": [
                {"name": one.name, "created_ms": one.created_ms, "bytes": one.size_bytes, "digest": one.digest}
                for one in sorted(snapshots, key=lambda one: one.name)
            ],
        }
    )
