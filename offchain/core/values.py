"""The parts of the chain's records that the scheduler and the settler need.

`Host`, `Task` and `Lease` contain a part of their records and the identifier; all other types are the chain's own.
Units are those of docs/protocol.md section 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from offchain.schema.chain_types._generated_chain import (
    Ask,
    BillingUnit,
    Capabilities,
    Capacity,
    Device,
    DeviceSpec,
    Escrow,
    GpuRequest,
    Layout,
    Placement,
    PodPlacement,
    Preemption,
    Resources,
    SlaTerms,
    StandbyPlace,
    Survival,
    TaskKind,
    Tier,
    Vendor,
)

__all__ = [
    "NO_TERMS",
    "Ask",
    "BillingUnit",
    "Capabilities",
    "Capacity",
    "Device",
    "DeviceSpec",
    "Escrow",
    "GpuRequest",
    "Host",
    "HostStatus",
    "Layout",
    "Lease",
    "LeaseState",
    "Periods",
    "Placement",
    "PodPlacement",
    "Preemption",
    "Resources",
    "RetainedData",
    "SlaTerms",
    "StandbyPlace",
    "Survival",
    "Task",
    "TaskKind",
    "TaskState",
    "Tier",
    "Vendor",
]

NO_TERMS: Final = SlaTerms(0, 0, 0, 0)
"""Terms that promise nothing, or demand nothing."""

UNKNOWN_PPM: Final = 500_000
"""Score of a host without evidence on the chain."""


class HostStatus(StrEnum):
    """Status of a host, without the reason of a suspension."""

    UNVERIFIED = "Unverified"
    VERIFIED = "Verified"
    ONLINE = "Online"
    OFFLINE = "Offline"
    DRAINING = "Draining"
    SUSPENDED = "Suspended"
    RETIRING = "Retiring"
    RETIRED = "Retired"


class TaskState(StrEnum):
    """State of a task that is not final."""

    QUEUED = "Queued"
    ASSIGNED = "Assigned"
    RUNNING = "Running"
    REPORTED = "Reported"
    VERIFIED = "Verified"
    DISPUTED = "Disputed"


class LeaseState(StrEnum):
    """State of a lease that has not ended."""

    PENDING = "Pending"
    ACTIVE = "Active"
    SUSPENDED = "Suspended"


@dataclass(frozen=True, slots=True)
class Host:
    """A registered host."""

    id: str
    provider: str
    status: HostStatus
    total: Capacity
    free: Capacity
    devices: tuple[Device, ...]
    ask: Ask
    region: bytes
    tier: Tier
    capabilities: Capabilities
    network_mbps_down: int
    network_mbps_up: int
    latency_ms: int
    """Round trip as measured by the host; 0: not measured."""
    last_heartbeat: int
    downtime_ms: int
    live_leases: int
    score_ppm: int = UNKNOWN_PPM
    """Reputation, from the evidence on the chain."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease that has not ended. The rules of its escrow are in :mod:`offchain.schema.chain_types.escrow`."""

    id: int
    host: str
    devices: tuple[int, ...]
    state: LeaseState
    created_at: int
    escrow: Escrow
    reclaim_at: int | None
    standby: StandbyPlace | None = None
    """Where its pod continues if its host fails."""
    assigned_by: str | None = None
    """The bonded scheduler that opened it; None: the tenant."""


@dataclass(frozen=True, slots=True)
class RetainedData:
    """Data of an ended rental that another takes over. It occupies disk of one host until then."""

    host: str
    disk_gib: int


@dataclass(frozen=True, slots=True)
class Task:
    """A task that is not final, with its leases that have not ended.

    `changed_at`: when it entered its state. `generation`: increases whenever a lease is replaced. `open_pods`: the
    numbers of the pods that schedulers may place now, ascending; at least `pods_min` of them at once while the task
    waits, any of them if others of its pods run. Also empty if no scheduler places the task, because its compared
    results may differ between honest hosts.
    """

    id: int
    tenant: str
    state: TaskState
    kind: TaskKind
    resources: Resources
    placement: Placement
    unit: BillingUnit
    pods_min: int
    max_rate_per_hour: int
    max_duration_ms: int
    deadline: int | None
    priority: int
    queue: bytes
    generation: int
    submitted_at: int
    changed_at: int
    open_pods: tuple[int, ...]
    takes_over: RetainedData | None = None
    refused_by: tuple[str, ...] = ()
    """Hosts that refused or did not start a pod of the task, ascending. The chain assigns no other pod to them."""
    leases: tuple[Lease, ...] = ()
    spot: bool = False
    preemption: Preemption | None = None
    """The announced preemption of the task. While it runs, it will end; while it waits, it has ended, and it preempts
    no other."""
    notice_ends_at: int | None = None
    """While it waits: the chain time at which its victims end and it is assigned in their place."""
    asks_from: int = 0
    """Chain time before which it preempts no task, because an earlier preemption for it failed."""
    manifest: bytes = b""
    """Digest of the manifest."""
    layout: Layout = Layout.ANY
    """Affinity of its pods; replicas whose results are compared are on hosts of different providers."""
    survival: Survival = Survival.RESTART
    replicas: int = 0
    """How many of its results are compared first; 0: they are not compared."""
    ended_on: tuple[str, ...] = ()
    """Hosts of its replicas that have ended, whose providers get no other one."""

    @property
    def hosts(self) -> frozenset[str]:
        """The hosts that count for its layout."""
        return frozenset((*(lease.host for lease in self.leases), *self.ended_on))

    @property
    def least(self) -> int:
        """The minimum number of pods of an assignment."""
        return self.pods_min if self.state is TaskState.QUEUED else 1


@dataclass(frozen=True, slots=True)
class Periods:
    """The chain's parameters that decide when something is due, milliseconds, and which hosts deteriorate."""

    start_timeout_ms: int
    dispute_window_ms: int
    report_grace_ms: int
    """A job's result is accepted this long after the end of its lease."""
    absence_limit_ms: int
    archive_after_ms: int
    late_ms: int
    """A host whose last heartbeat is older is overdue."""
    poor_ppm: int
    """A host with a lower score deteriorates."""
    notice_ms: int
    """Grace period of a preemption."""
