"""Events of the agent. The shell makes them; :func:`node_agent.core.machine.handle` takes them."""

from __future__ import annotations

from dataclasses import dataclass

from node_agent.core.admission import FetchedManifest
from node_agent.core.values import Ending, FoundContainer, Handle, HostFailure, HostLease, LeaseReport, ReportStatus


@dataclass(frozen=True, slots=True)
class LeaseAssigned:
    """The chain has this lease for us. Repeated whenever it is read. `manifest` is None if it is not read yet."""

    lease: HostLease
    manifest: FetchedManifest | None = None


@dataclass(frozen=True, slots=True)
class ManifestFetched:
    """The manifest of the task; None if the chain has none."""

    number: int
    manifest: FetchedManifest | None


@dataclass(frozen=True, slots=True)
class LeaseEnded:
    """The lease holds nothing of this host any more, or its block was reverted."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class OrphanFound:
    """The driver has a pod of this host for a lease that is neither live nor known."""

    number: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FileDelivered:
    """A file for which the pod waits is in the agent's folder."""

    number: int
    name: str


@dataclass(frozen=True, slots=True)
class RestoreRequested:
    """The tenant asks to replace the main container by one of its snapshots."""

    number: int
    snapshot: str


@dataclass(frozen=True, slots=True)
class PodPrepared:
    """Images, network and volumes of the pod are ready."""

    number: int


@dataclass(frozen=True, slots=True)
class ContainerStarted:
    """The container runs, or ran: an adopted one may have ended already."""

    number: int
    handle: Handle


@dataclass(frozen=True, slots=True)
class DriverFailed:
    """The pod could not be prepared, or a container of `service` not be started. `transient`: a retry may succeed."""

    number: int
    service: str | None
    reason: HostFailure
    message: str
    transient: bool


@dataclass(frozen=True, slots=True)
class HealthChanged:
    """Start number `start` of the service's container became healthy, or unhealthy for good."""

    number: int
    service: str
    start: int
    healthy: bool


@dataclass(frozen=True, slots=True)
class ContainerExited:
    """Start number `start` of the service's container ended. `ending` is None if the container vanished."""

    number: int
    service: str
    start: int
    ending: Ending | None


@dataclass(frozen=True, slots=True)
class LimitExceeded:
    """The pod exceeded a limit of its lease that no engine enforces."""

    number: int
    message: str


@dataclass(frozen=True, slots=True)
class PodPaused:
    """No container of the pod runs any more. `marks`: service and mark of each remaining run."""

    number: int
    marks: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ResultStored:
    """The result is stored under its SHA-256. `too_large`: the tenant left more than is kept."""

    number: int
    digest: bytes
    too_large: bool = False


@dataclass(frozen=True, slots=True)
class CollectFailed:
    """The result could not be read or stored, for a reason of the host."""

    number: int
    message: str


@dataclass(frozen=True, slots=True)
class DataFound:
    """The retained data of a lease. `receipt`: SHA-256 of its record; `missing`: expected volumes that are lost."""

    number: int
    receipt: bytes
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DataPurged:
    """All data of the lease is deleted."""

    number: int


@dataclass(frozen=True, slots=True)
class ReportOutcome:
    """The chain included or refused a report, or the outbox gave it up."""

    number: int
    report: LeaseReport
    outcome: ReportStatus
    detail: str = ""


@dataclass(frozen=True, slots=True)
class PodDestroyed:
    """The pod is removed from the driver, except for retained data."""

    number: int


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


PodEvent = (
    LeaseAssigned
    | ManifestFetched
    | LeaseEnded
    | OrphanFound
    | FileDelivered
    | RestoreRequested
    | PodPrepared
    | ContainerStarted
    | DriverFailed
    | HealthChanged
    | ContainerExited
    | LimitExceeded
    | PodPaused
    | ResultStored
    | CollectFailed
    | DataFound
    | DataPurged
    | ReportOutcome
    | PodDestroyed
)
HostEvent = Tick | DevicesFailed
"""Events for all pods."""
Event = PodEvent | HostEvent | Recovered


def lease_number(event: PodEvent) -> int:
    """Return the lease of an event."""
    return event.lease.number if isinstance(event, LeaseAssigned) else event.number
