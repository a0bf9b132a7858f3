"""What decisions are made of: the parts of the chain's records that the scheduler and the settler look at.

What they have whole is of the chain's own types; a `Host`, `Task` or `Lease` here keeps of its record what decisions
need, and its number. Units are those of docs/protocol.md section 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from offchain.schema._generated_chain import (
    Ask,
    BillingUnit,
    Capacity,
    Device,
    DeviceSpec,
    GpuRequest,
    Placement,
    PodPlacement,
    Resources,
    Vendor,
)

__all__ = [
    "Ask",
    "BillingUnit",
    "Capacity",
    "Device",
    "DeviceSpec",
    "GpuRequest",
    "Host",
    "HostStatus",
    "Lease",
    "LeaseState",
    "Periods",
    "Placement",
    "PodPlacement",
    "Resources",
    "Task",
    "TaskState",
    "Vendor",
]


class HostStatus(StrEnum):
    """A host's status; the reason of a suspension decides nothing here."""

    UNVERIFIED = "Unverified"
    VERIFIED = "Verified"
    ONLINE = "Online"
    OFFLINE = "Offline"
    DRAINING = "Draining"
    SUSPENDED = "Suspended"
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
    """The states of a lease that still holds resources."""

    PENDING = "Pending"
    ACTIVE = "Active"
    SUSPENDED = "Suspended"


@dataclass(frozen=True, slots=True)
class Host:
    """A registered host as the chain has it now."""

    id: str
    provider: str
    status: HostStatus
    free: Capacity
    devices: tuple[Device, ...]
    ask: Ask
    region: bytes
    last_heartbeat: int
    live_leases: int


@dataclass(frozen=True, slots=True)
class Task:
    """A task that is not final."""

    id: int
    tenant: str
    state: TaskState
    resources: Resources
    placement: Placement
    pods_min: int
    max_rate_per_hour: int
    max_duration_ms: int
    deadline: int | None
    priority: int
    attempts: int
    submitted_at: int
    reported_at: int | None


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease that holds resources. `depletes_at`: when its escrow is used up; None before it starts."""

    id: int
    task: int
    host: str
    state: LeaseState
    created_at: int
    depletes_at: int | None


@dataclass(frozen=True, slots=True)
class Periods:
    """The chain's parameters that decide when something is due, milliseconds."""

    start_timeout_ms: int
    dispute_window_ms: int
    absence_limit_ms: int
