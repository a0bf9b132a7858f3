"""What decisions are made of: the parts of the chain's records that the scheduler and the settler look at.

What they have whole is of the chain's own types; a `Host`, `Task` or `Lease` here keeps of its record what decisions
need, and its number. Units are those of docs/protocol.md section 1.
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
    StandbyPlace,
    Survival,
    TaskKind,
    Tier,
    Vendor,
)

__all__ = [
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
    "StandbyPlace",
    "Survival",
    "Task",
    "TaskKind",
    "TaskState",
    "Tier",
    "Vendor",
]

UNKNOWN_PPM: Final = 500_000
"""The score of a host of which the chain has no evidence."""


class HostStatus(StrEnum):
    """A host's status; the reason of a suspension decides nothing here."""

    UNVERIFIED = "Unverified"
    VERIFIED = "Verified"
    ONLINE = "Online"
    OFFLINE = "Offline"
    DRAINING = "Draining"
    SUSPENDED = "Suspended"
    RETIRING = "Retiring"
    RETIRED = "Retired"


class TaskState(StrEnum):
    """The states in which somebody still has to do something. A final task is not kept."""

    QUEUED = "Queued"
    ASSIGNED = "Assigned"
    RUNNING = "Running"
    REPORTED = "Reported"
    VERIFIED = "Verified"
    DISPUTED = "Disputed"


class LeaseState(StrEnum):
    """The states of a lease that has not ended."""

    PENDING = "Pending"
    ACTIVE = "Active"
    SUSPENDED = "Suspended"


@dataclass(frozen=True, slots=True)
class Host:
    """A registered host as the chain has it now."""

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
    """Of a round trip, as it measured it; 0: not measured."""
    last_heartbeat: int
    downtime_ms: int
    live_leases: int
    score_ppm: int = UNKNOWN_PPM
    """Its reputation, by the evidence that the chain has of it."""


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
    """Where its pod goes on if its host fails."""


@dataclass(frozen=True, slots=True)
class RetainedData:
    """Data of an ended rental that another takes over: it lies on one host, whose disk it holds until then."""

    host: str
    disk_gib: int


@dataclass(frozen=True, slots=True)
class Task:
    """A task that is not final, with its leases that have not ended.

    `changed_at`: when it came to its state. `generation`: grows whenever a lease is given up for another. `open_pods`:
    the numbers of the pods that schedulers may place now, ascending; at least `pods_min` of them at once while the task
    waits, any of them where others of its pods run. Empty also where it needs what no agent can do yet.
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
    """Hosts that refused a pod of it or did not start it, ascending. The chain assigns none of its pods to them."""
    leases: tuple[Lease, ...] = ()
    spot: bool = False
    preemption: Preemption | None = None
    """It was told to leave: while it runs, it still may; while it waits, it has left and makes nobody leave."""
    notice_ends_at: int | None = None
    """While it waits: others leave for it at this chain time, and it is assigned in their place."""
    asks_from: int = 0
    """Chain time before which it makes nobody leave: it could not be assigned when others were to leave for it."""
    manifest: bytes = b""
    """Its digest."""
    layout: Layout = Layout.ANY
    survival: Survival = Survival.RESTART

    @property
    def least(self) -> int:
        """How many pods an assignment must place."""
        return self.pods_min if self.state is TaskState.QUEUED else 1


@dataclass(frozen=True, slots=True)
class Periods:
    """The chain's parameters that decide when something is due, milliseconds, and which hosts deteriorate."""

    start_timeout_ms: int
    dispute_window_ms: int
    report_grace_ms: int
    """A job's result is accepted for so long after its time was over."""
    absence_limit_ms: int
    archive_after_ms: int
    late_ms: int
    """A host whose last heartbeat is older is overdue."""
    poor_ppm: int
    """A host with a lower score deteriorates."""
    notice_ms: int
    """Who has to leave is told so long before."""
