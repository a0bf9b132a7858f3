"""What happens to the agent. The shell makes these; :func:`node_agent.core.machine.handle` takes them."""

from __future__ import annotations

from dataclasses import dataclass

from node_agent.core.admission import FetchedManifest
from node_agent.core.values import Ending, FoundContainer, Handle, HostFailure, HostLease, LeaseReport, ReportStatus


@dataclass(frozen=True, slots=True)
class LeaseAssigned:
    """The chain has this lease for us. Told again whenever it is read again. `manifest` None: not read yet."""

    lease: HostLease
    manifest: FetchedManifest | None = None


@dataclass(frozen=True, slots=True)
class ManifestFetched:
    """The manifest as the chain keeps it; None where it does not."""

    number: int
    manifest: FetchedManifest | None


@dataclass(frozen=True, slots=True)
class LeaseEnded:
    """The lease holds nothing of this host any more, or its block was reverted."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class OrphanFound:
    """A pod of ours was found for a lease that is not live and that we know nothing of."""

    number: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FileDelivered:
    """A file the pod waits for lies in the agent's folder."""

    number: int
    name: str


@dataclass(frozen=True, slots=True)
class RestoreRequested:
    """The tenant wants the main container made anew from one of its snapshots."""

    number: int
    snapshot: str


@dataclass(frozen=True, slots=True)
class PodPrepared:
    """Images, network, volumes: all that the pod's containers need is there."""

    number: int


@dataclass(frozen=True, slots=True)
class ContainerStarted:
    """The container runs, or ran: an adopted one may have ended already."""

    number: int
    handle: Handle


@dataclass(frozen=True, slots=True)
class DriverFailed:
    """The pod could not be prepared, or the container of a service not be started. `transient`: it may work later."""

    number: int
    service: str | None
    reason: HostFailure
    message: str
    transient: bool


@dataclass(frozen=True, slots=True)
class HealthChanged:
    """The container of a service, started as number `start`, passes its check, or fails it for good."""

    number: int
    service: str
    start: int
    healthy: bool


@dataclass(frozen=True, slots=True)
class ContainerExited:
    """The container of a service, started as number `start`, ended. `ending` None: it is gone without a trace."""

    number: int
    service: str
    start: int
    ending: Ending | None


@dataclass(frozen=True, slots=True)
class LimitExceeded:
    """The pod took more than its lease gives it, in a way that no engine prevents."""

    number: int
    message: str


@dataclass(frozen=True, slots=True)
class PodPaused:
    """No container of the pod runs any more. `marks`: service and mark of the run of each that is still there."""

    number: int
    marks: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ResultStored:
    """The result lies in the agent's store under its SHA-256. `too_large`: what was left was more than is kept."""

    number: int
    digest: bytes
    too_large: bool = False


@dataclass(frozen=True, slots=True)
class CollectFailed:
    """The result could not be read or stored for a reason of the host's."""

    number: int
    message: str


@dataclass(frozen=True, slots=True)
class DataFound:
    """What is retained for a lease. `receipt`: SHA-256 of the record of it; `missing`: volumes that should be there."""

    number: int
    receipt: bytes
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DataPurged:
    """Nothing of the lease's data is left."""

    number: int


@dataclass(frozen=True, slots=True)
class ReportOutcome:
    """What became of a report."""

    number: int
    report: LeaseReport
    outcome: ReportStatus
    detail: str = ""


@dataclass(frozen=True, slots=True)
class PodDestroyed:
    """Nothing of the pod is left on the driver, but for data that is kept."""

    number: int


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passed: pods past their escrow stop, retries that are due run."""


@dataclass(frozen=True, slots=True)
class DevicesFailed:
    """These devices of the host do not work. May be told again and again; pods that need one are given back."""

    devices: frozenset[int]
    message: str


@dataclass(frozen=True, slots=True)
class Recovered:
    """The agent started: what the driver and the disk have, and what the chain says. Comes once, before all else."""

    found: tuple[FoundContainer, ...]
    """Containers."""
    live: tuple[HostLease, ...]
    leftovers: tuple[int, ...] = ()
    """Leases of which the driver has anything at all."""
    ended: tuple[tuple[int, str], ...] = ()
    """Why leases that are not live any more are over."""
    files: tuple[tuple[int, tuple[str, ...]], ...] = ()
    """Delivered files that are there, by lease."""


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
"""About all pods."""
Event = PodEvent | HostEvent | Recovered


def lease_number(event: PodEvent) -> int:
    """Whose event it is."""
    return event.lease.number if isinstance(event, LeaseAssigned) else event.number
