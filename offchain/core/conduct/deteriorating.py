"""Which running pods are likely to fail because of their hosts, before they do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from offchain.core.values import Host, HostStatus, Lease, Task

POOR_PPM: Final = 300_000
"""A host whose reputation is below this has failed more than it did well; of one that is new it is 500,000."""

WORN: Final = 0.5
"""So much trouble: two errors of its engine within an hour, or a heartbeat that did not come."""

SEEN_LATE_MS: Final = 10_000
"""An agent, who reads final blocks, sees what happens to its host at most so much later than a scheduler."""

_LIVES: Final = frozenset({HostStatus.ONLINE, HostStatus.DRAINING})


class Risk(StrEnum):
    """Why."""

    RECLAIMED = "its provider takes the lease back"
    AWAY = "its host is not online"
    DEVICE = "a GPU of its is out of order"
    TROUBLE = "much failed on its host lately"
    SILENT = "its host's heartbeat is overdue"
    DRAINED = "its host takes nothing new"
    REPUTATION = "its host has a poor reputation"
    LATENCY = "the round trip to its host is longer than it may be"


TOLD: Final = frozenset({Risk.RECLAIMED, Risk.DRAINED})
"""The host works as ever: its pods are told that they are to be moved, and have time to save their work."""


@dataclass(frozen=True, slots=True)
class AtRisk:
    """A pod that runs on a host that deteriorates."""

    lease: int
    host: str
    risk: Risk


Signs = frozenset[Risk | int]
"""What speaks against a host: risks for whatever runs there, and the numbers of devices that are out of order."""


def signs_of(host: Host, trouble: float = 0.0) -> Signs:
    """Empty where the host is in good order. `trouble`: how much failed there lately, 0 to 1."""
    found: set[Risk | int] = {place for place, device in enumerate(host.devices) if not device.healthy}
    if host.status not in _LIVES:
        found.add(Risk.AWAY)
    if trouble >= WORN:
        found.add(Risk.TROUBLE)
    if host.score_ppm < POOR_PPM:
        found.add(Risk.REPUTATION)
    return frozenset(found)


def risk_of(lease: Lease, host: Host, trouble: float = 0.0) -> Risk | None:
    """Why the pod of this lease is likely to fail, the most certain first; None where nothing says so."""
    signs = signs_of(host, trouble)
    if lease.reclaim_at is not None:
        return Risk.RECLAIMED
    if Risk.AWAY not in signs and not signs.isdisjoint(lease.devices):
        return Risk.DEVICE
    return next((risk for risk in (Risk.AWAY, Risk.TROUBLE, Risk.REPUTATION) if risk in signs), None)


@dataclass(frozen=True, slots=True)
class Limits:
    """The chain's own: a host with a lower score than `poor_ppm`, or whose heartbeat is `late_ms` old, deteriorates.

    `told_ms`: pods that leave a host which still works are moved so long after that was seen; their agent tells them.
    """

    poor_ppm: int
    late_ms: int
    told_ms: int


def amiss(host: Host, now_ms: int, limits: Limits) -> Risk | None:
    """What is wrong with the host itself, by the chain's own rule, the most certain first."""
    if host.status not in _LIVES:
        return Risk.AWAY
    if now_ms > host.last_heartbeat + limits.late_ms:
        return Risk.SILENT
    if host.status is HostStatus.DRAINING:
        return Risk.DRAINED
    return Risk.REPUTATION if host.score_ppm < limits.poor_ppm else None


def leaves(lease: Lease, host: Host, now_ms: int, limits: Limits) -> Risk | None:
    """Why the chain lets a scheduler move the pod of this lease, the most certain first; None: it does not."""
    wrong = amiss(host, now_ms, limits)
    if lease.reclaim_at is not None:
        return Risk.RECLAIMED
    if wrong in (Risk.AWAY, Risk.SILENT):
        return wrong
    if any(not host.devices[place].healthy for place in lease.devices if place < len(host.devices)):
        return Risk.DEVICE
    return wrong


def at_risk(task: Task, hosts: Iterable[Host]) -> tuple[AtRisk, ...]:
    """The task's pods that are, as far as the chain's records tell. `hosts`: those of its leases, and maybe others."""
    known = {host.id: host for host in hosts}
    return tuple(
        AtRisk(lease.id, lease.host, risk)
        for lease in task.leases
        if lease.host in known
        and (risk := risk_of(lease, known[lease.host]) or _too_far(task, known[lease.host])) is not None
    )


def _too_far(task: Task, host: Host) -> Risk | None:
    """Whether the host's latency has grown above what the task takes since it was placed there."""
    longest_ms = task.placement.max_latency_ms
    return Risk.LATENCY if longest_ms and host.latency_ms > longest_ms else None
