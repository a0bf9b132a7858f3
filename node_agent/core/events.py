"""What happens to the agent. The shell makes these; :func:`node_agent.core.machine.handle` takes them."""

from __future__ import annotations

from dataclasses import dataclass

from node_agent.core.values import Ending, Found, Handle, HostFailure, Lease, Outcome, Report


@dataclass(frozen=True, slots=True)
class LeaseAssigned:
    """The chain has this live lease for us. Told again whenever it is read again. `manifest` None: not read yet."""

    lease: Lease
    manifest: bytes | None = None


@dataclass(frozen=True, slots=True)
class ManifestFetched:
    """The manifest as the chain keeps it; None where it does not."""

    number: int
    manifest: bytes | None


@dataclass(frozen=True, slots=True)
class LeaseEnded:
    """The lease is not live any more, or its block was reverted."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class ChainLeaseMissing:
    """A pod of ours was found for a lease that is not live and that we know nothing of."""

    number: int


@dataclass(frozen=True, slots=True)
class DriverStarted:
    """The container runs, or ran: an adopted one may have ended already."""

    number: int
    handle: Handle


@dataclass(frozen=True, slots=True)
class DriverFailed:
    """The container could not be started. `transient`: the same may work later."""

    number: int
    reason: HostFailure
    message: str
    transient: bool


@dataclass(frozen=True, slots=True)
class Exited:
    """The container started as number `start` ended. `ending` None: it is gone without a trace."""

    number: int
    start: int
    ending: Ending | None


@dataclass(frozen=True, slots=True)
class ResultStored:
    """The result lies in the agent's store under its SHA-256."""

    number: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class CollectFailed:
    """The result could not be read or stored for a reason of the host's."""

    number: int
    message: str


@dataclass(frozen=True, slots=True)
class ReportOutcome:
    """What became of a report."""

    number: int
    report: Report
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Destroyed:
    """Nothing of the pod is left on the driver."""

    number: int


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passed: pods past their escrow stop, retries that are due run."""


@dataclass(frozen=True, slots=True)
class DevicesFailed:
    """These devices of the host are out of order: pods on them are given back. Told again and again while it is so."""

    devices: frozenset[int]
    message: str


@dataclass(frozen=True, slots=True)
class Recovered:
    """The agent started: what the driver has, and what is live on chain. Comes once, before all else."""

    found: tuple[Found, ...]
    live: tuple[Lease, ...]


PodEvent = (
    LeaseAssigned
    | ManifestFetched
    | LeaseEnded
    | ChainLeaseMissing
    | DriverStarted
    | DriverFailed
    | Exited
    | ResultStored
    | CollectFailed
    | ReportOutcome
    | Destroyed
)
Event = PodEvent | Tick | DevicesFailed | Recovered


def lease_number(event: PodEvent) -> int:
    """Whose event it is."""
    return event.lease.number if isinstance(event, LeaseAssigned) else event.number
