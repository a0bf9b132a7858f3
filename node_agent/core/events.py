"""Events of the agent. The shell makes them; :func:`node_agent.core.machine.handle` takes them."""

from __future__ import annotations

from dataclasses import dataclass

from node_agent.core.admission import FetchedManifest
from node_agent.core.values import Ending, FoundContainer, Handle, HostFailure, HostLease, LeaseReport, ReportStatus


@dataclass(frozen=True, slots=True)
class LeaseEvent:
    """An event of the lease with this number."""

    number: int


@dataclass(frozen=True, slots=True)
class LeaseAssigned:
    """The chain has this lease for us. Repeated whenever it is read. `manifest` is None if it is not read yet."""

    lease: HostLease
    manifest: FetchedManifest | None = None


@dataclass(frozen=True, slots=True)
class ManifestFetched(LeaseEvent):
    """The manifest of the task; None if the chain has none."""

    manifest: FetchedManifest | None


@dataclass(frozen=True, slots=True)
class LeaseEnded(LeaseEvent):
    """The lease holds nothing of this host any more, or its block was reverted."""

    reason: str


@dataclass(frozen=True, slots=True)
class OrphanFound(LeaseEvent):
    """The driver has a pod of this host for a lease that is neither live nor known."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class FileDelivered(LeaseEvent):
    """A file for which the pod waits is in the agent's folder."""

    name: str


@dataclass(frozen=True, slots=True)
class RestoreRequested(LeaseEvent):
    """The tenant asks to replace the main container by one of its snapshots."""

    snapshot: str


@dataclass(frozen=True, slots=True)
class PodPrepared(LeaseEvent):
    """Images, network and volumes of the pod are ready."""


@dataclass(frozen=True, slots=True)
class ContainerStarted(LeaseEvent):
    """The container runs, or ran: an adopted one may have ended already."""

    handle: Handle


@dataclass(frozen=True, slots=True)
class DriverFailed(LeaseEvent):
    """The pod could not be prepared, or a container of `service` not be started. `transient`: a retry may succeed."""

    service: str | None
    reason: HostFailure
    message: str
    transient: bool


@dataclass(frozen=True, slots=True)
class HealthChanged(LeaseEvent):
    """Start number `start` of the service's container became healthy, or unhealthy for good."""

    service: str
    start: int
    healthy: bool


@dataclass(frozen=True, slots=True)
class ContainerExited(LeaseEvent):
    """Start number `start` of the service's container ended. `ending` is None if the container vanished."""

    service: str
    start: int
    ending: Ending | None


@dataclass(frozen=True, slots=True)
class LimitExceeded(LeaseEvent):
    """The pod exceeded a limit of its lease that no engine enforces."""

    message: str


@dataclass(frozen=True, slots=True)
class PodPaused(LeaseEvent):
    """No container of the pod runs any more. `marks`: service and mark of each remaining run."""

    marks: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ResultStored(LeaseEvent):
    """The result is stored under its SHA-256. `too_large`: the tenant left more than is kept."""

    digest: bytes
    too_large: bool = False


@dataclass(frozen=True, slots=True)
class CollectFailed(LeaseEvent):
    """The result could not be read or stored, for a reason of the host."""

    message: str


@dataclass(frozen=True, slots=True)
class DataFound(LeaseEvent):
    """The retained data of a lease. `receipt`: SHA-256 of its record; `missing`: expected volumes that are lost."""

    receipt: bytes
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DataPurged(LeaseEvent):
    """All data of the lease is deleted."""


@dataclass(frozen=True, slots=True)
class ReportOutcome(LeaseEvent):
    """The chain included or refused a report, or the outbox gave it up."""

    report: LeaseReport
    outcome: ReportStatus
    detail: str = ""


@dataclass(frozen=True, slots=True)
class PodDestroyed(LeaseEvent):
    """The pod is removed from the driver, except for retained data."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passed: paid time may be over, and retries may be due."""


@dataclass(frozen=True, slots=True)
class DevicesFailed:
    """Devices of the host that do not work. May be repeated; pods that need one of them are given back."""

    devices: frozenset[int]
    message: str


@dataclass(frozen=True, slots=True)
class Recovered:
    """The agent started: the state of driver, disk and chain. Comes once, before all other events."""

    found: tuple[FoundContainer, ...]
    """Containers of the driver."""
    live: tuple[HostLease, ...]
    leftovers: tuple[int, ...] = ()
    """Leases of which the driver has anything."""
    ended: tuple[tuple[int, str], ...] = ()
    """Reasons why leases that are not live have ended."""
    files: tuple[tuple[int, tuple[str, ...]], ...] = ()
    """Delivered files on disk, by lease."""


PodEvent = LeaseAssigned | LeaseEvent
HostEvent = Tick | DevicesFailed
"""Events for all pods."""
Event = PodEvent | HostEvent | Recovered


def lease_number(event: PodEvent) -> int:
    """Return the lease of an event."""
    return event.lease.number if isinstance(event, LeaseAssigned) else event.number
