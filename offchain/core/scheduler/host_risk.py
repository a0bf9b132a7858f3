"""Which running pods are likely to fail because their hosts deteriorate. Does not need numpy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from offchain.core.values import Host, HostStatus, Lease, Task

POOR_REPUTATION_PPM: Final = 300_000
"""Below this a host has failed more often than not; a new host has 500,000."""

HIGH_FAILURE_SCORE: Final = 0.5
"""Two errors of the container engine within an hour, or a missed heartbeat."""

AGENT_DELAY_MS: Final = 10_000
"""An agent, which reads final blocks, sees an event of its host at most this much later than a scheduler."""

_LIVE: Final = frozenset({HostStatus.ONLINE, HostStatus.DRAINING})


class Risk(StrEnum):
    """Why a pod is likely to fail, in words for people."""

    RECLAIMED = "its provider takes the lease back"
    AWAY = "its host is not online"
    DEVICE = "one of its GPUs is out of order"
    TROUBLE = "much failed on its host lately"
    SILENT = "its host's heartbeat is overdue"
    DRAINED = "its host takes nothing new"
    REPUTATION = "its host has a poor reputation"
    LATENCY = "the round trip to its host is longer than it may be"


GRACEFUL: Final = frozenset({Risk.RECLAIMED, Risk.DRAINED})
"""The host still works: pods get notice before they are moved, and time to save their work."""


@dataclass(frozen=True, slots=True)
class PodAtRisk:
    lease: int
    host: str
    risk: Risk


HealthSigns = frozenset[Risk | int]
"""What speaks against a host: risks for all of its pods, and the indices of unhealthy devices."""


def health_signs(host: Host, failure_score: float = 0.0) -> HealthSigns:
    """Return what speaks against a host; empty for a healthy one."""
    found: set[Risk | int] = {index for index, device in enumerate(host.devices) if not device.healthy}
    if host.status not in _LIVE:
        found.add(Risk.AWAY)
    if failure_score >= HIGH_FAILURE_SCORE:
        found.add(Risk.TROUBLE)
    if host.score_ppm < POOR_REPUTATION_PPM:
        found.add(Risk.REPUTATION)
    return frozenset(found)


def risk_of(lease: Lease, host: Host, failure_score: float = 0.0) -> Risk | None:
    """Return why the pod of this lease is likely to fail, the most certain reason first; None: no sign of it."""
    signs = health_signs(host, failure_score)
    if lease.reclaim_at is not None:
        return Risk.RECLAIMED
    if Risk.AWAY not in signs and not signs.isdisjoint(lease.devices):
        return Risk.DEVICE
    return next((risk for risk in (Risk.AWAY, Risk.TROUBLE, Risk.REPUTATION) if risk in signs), None)


@dataclass(frozen=True, slots=True)
class HealthLimits:
    """The chain's parameters: a host with a lower score than `poor_ppm`, or an older heartbeat, deteriorates.

    `heartbeat_ms`: the greatest age of a heartbeat. `notice_ms`: notice of pods that leave a host which still works.
    """

    poor_ppm: int
    heartbeat_ms: int
    notice_ms: int


def host_risk(host: Host, now_ms: int, limits: HealthLimits) -> Risk | None:
    """Return the risk for all pods of the host by the chain's rule, the most certain one first."""
    if host.status not in _LIVE:
        return Risk.AWAY
    if now_ms > host.last_heartbeat + limits.heartbeat_ms:
        return Risk.SILENT
    if host.status is HostStatus.DRAINING:
        return Risk.DRAINED
    return Risk.REPUTATION if host.score_ppm < limits.poor_ppm else None


def move_reason(lease: Lease, host: Host, now_ms: int, limits: HealthLimits) -> Risk | None:
    """Return why the chain allows moving the pod of this lease, the most certain reason first; None: it does not."""
    risk = host_risk(host, now_ms, limits)
    if lease.reclaim_at is not None:
        return Risk.RECLAIMED
    if risk in (Risk.AWAY, Risk.SILENT):
        return risk
    if any(not host.devices[index].healthy for index in lease.devices if index < len(host.devices)):
        return Risk.DEVICE
    return risk


def pods_at_risk(task: Task, hosts: Iterable[Host]) -> tuple[PodAtRisk, ...]:
    """Return the task's pods that are likely to fail by the chain's records. `hosts`: at least those of its leases."""
    known = {host.id: host for host in hosts}
    return tuple(
        PodAtRisk(lease.id, lease.host, risk)
        for lease in task.leases
        if lease.host in known
        and (risk := risk_of(lease, known[lease.host]) or _latency_risk(task, known[lease.host])) is not None
    )


def _latency_risk(task: Task, host: Host) -> Risk | None:
    """Return whether the host's latency has grown above the task's limit since it was placed there."""
    longest_ms = task.placement.max_latency_ms
    return Risk.LATENCY if longest_ms and host.latency_ms > longest_ms else None
