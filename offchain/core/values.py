"""What decisions are made of: the parts of the chain's records that the scheduler and the settler look at.

Names, fields and units are those of docs/protocol.md section 2. Accounts are SS58 strings, byte vectors `bytes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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


class BillingUnit(StrEnum):
    """What is billed whole."""

    SECOND = "Second"
    HOUR = "Hour"
    DAY = "Day"


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a host has, or has free, besides devices."""

    cpu_milli: int
    memory_mib: int
    disk_gib: int


@dataclass(frozen=True, slots=True)
class Ask:
    """A host's price list, base units per hour."""

    gpu_per_hour: int
    cpu_core_per_hour: int
    memory_gib_per_hour: int
    disk_gib_per_hour: int


@dataclass(frozen=True, slots=True)
class Device:
    """One device of a host. `milli_free`: thousandths of it that nobody leases."""

    model: bytes
    vram_mib: int
    simulated: bool
    milli_free: int


@dataclass(frozen=True, slots=True)
class GpuRequest:
    """`count` devices, `milli` thousandths of each. `models` empty: any."""

    count: int
    milli: int
    min_vram_mib: int
    models: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Resources:
    """What one pod needs."""

    cpu_milli: int
    memory_mib: int
    disk_gib: int
    gpus: GpuRequest


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a pod may run. Empty: anywhere."""

    regions: tuple[bytes, ...]
    hosts: tuple[str, ...]
    allow_simulated: bool


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


@dataclass(frozen=True, slots=True)
class PodPlacement:
    """Pod `pod` of a task goes to `host` on the devices with these indices."""

    pod: int
    host: str
    devices: tuple[int, ...]
