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

_LIVES: Final = frozenset({HostStatus.ONLINE, HostStatus.DRAINING})


class Risk(StrEnum):
    """Why, the most certain first."""

    RECLAIMED = "its provider takes the lease back"
    AWAY = "its host is not online"
    DEVICE = "a GPU of its is out of order"
    TROUBLE = "much failed on its host lately"
    REPUTATION = "its host has a poor reputation"


@dataclass(frozen=True, slots=True)
class AtRisk:
    """A pod that runs on a host that deteriorates."""

    lease: int
    host: str
    risk: Risk


def risk_of(lease: Lease, host: Host, trouble: float = 0.0) -> Risk | None:
    """Why the pod of this lease is likely to fail; None where nothing says so. `trouble`: of its host, 0 to 1."""
    if lease.reclaim_at is not None:
        return Risk.RECLAIMED
    if host.status not in _LIVES:
        return Risk.AWAY
    if any(place < len(host.devices) and not host.devices[place].healthy for place in lease.devices):
        return Risk.DEVICE
    return risk_on(host, trouble)


def risk_on(host: Host, trouble: float) -> Risk | None:
    """Why whatever runs on this host is likely to fail."""
    if host.status not in _LIVES:
        return Risk.AWAY
    if trouble >= WORN:
        return Risk.TROUBLE
    return Risk.REPUTATION if host.score_ppm < POOR_PPM else None


def at_risk(task: Task, hosts: Iterable[Host]) -> tuple[AtRisk, ...]:
    """The task's pods that are, as far as the chain's records tell. `hosts`: those of its leases, and maybe others."""
    known = {host.id: host for host in hosts}
    return tuple(
        AtRisk(lease.id, lease.host, risk)
        for lease in task.leases
        if lease.host in known and (risk := risk_of(lease, known[lease.host])) is not None
    )
