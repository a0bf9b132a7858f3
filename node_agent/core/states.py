"""Phases of a pod, and the table of all transitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

from node_agent.core import events
from node_agent.core.containers import Container
from node_agent.core.values import Ending, HostFailure, HostLease, LeaseStatus, LocalHost, PodSpec


class Phase(StrEnum):
    """Phase of a pod. ABSENT: the agent holds nothing of the lease."""

    ABSENT = "Absent"
    ASSIGNED = "Assigned"
    AWAITING = "Awaiting"
    """Waiting for files that the tenant delivers."""
    PREPARING = "Preparing"
    STARTING = "Starting"
    """The first containers are starting."""
    RUNNING = "Running"
    """A container runs or ran: from then on the pod is paid."""
    SUSPENDING = "Suspending"
    SUSPENDED = "Suspended"
    """Stopped with all data, by the tenant or because the paid time is over."""
    EXITED = "Exited"
    REPORTING = "Reporting"
    DONE = "Done"
    REFUSING = "Refusing"
    REFUSED = "Refused"
    DEPLETED = "Depleted"
    RETIRING = "Retiring"
    RETAINED = "Retained"
    """The containers are removed, the data is kept for the tenant."""
    PURGING = "Purging"
    PURGED = "Purged"
    ENDING = "Ending"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """State of one pod. Stored before any of its commands runs, so that it survives a restart of the agent."""

    lease: HostLease
    phase: Phase
    spec: PodSpec | None = None
    containers: tuple[Container, ...] = ()
    delivered: tuple[str, ...] = ()
    renew: bool = False
    """The next start replaces the main container by a new one."""
    has_data: bool = False
    """Its volumes were created; from then on they must exist."""
    tries: int = 0
    """Failed attempts of the current step."""
    retry_at_ms: int | None = None
    stop_at_ms: int | None = None
    began_at_ms: int | None = None
    """Start of the first container, plus the runs of a job that its host ended."""
    cut: str = ""
    """Why the pod is stopped before its main container ends by itself, for a reason of the tenant: this is a result."""
    ending: Ending | None = None
    """How it ended, with the usage of the whole pod."""
    digest: bytes | None = None
    started_sent: bool = False
    started_known: bool = False
    """The chain has the started report; only then it accepts a result."""
    result_sent: bool = False
    failure: HostFailure | None = None
    failure_message: str = ""
    receipt: bytes | None = None
    """SHA-256 of the record of the deleted data; None if it was lost."""
    story: tuple[str, ...] = ()
    """The last transitions, oldest first."""

    def to(self, phase: Phase) -> Pod:
        """Return the pod in another phase."""
        return replace(self, phase=phase)

    @property
    def awaited(self) -> tuple[str, ...]:
        """Files that are not delivered yet."""
        return () if self.spec is None else tuple(sorted(self.spec.files - set(self.delivered)))

    @property
    def start_due_ms(self) -> int | None:
        """Chain time by which the pod must have started or is given back; None if it has started before."""
        return None if self.started_sent or self.started_known else self.lease.start_by_ms

    def may_run(self, now_ms: int) -> bool:
        """Whether the lease is active and paid."""
        paid = self.stop_at_ms is None or now_ms < self.stop_at_ms
        return paid and self.lease.status in (LeaseStatus.PENDING, LeaseStatus.ACTIVE)


@dataclass(frozen=True, slots=True)
class AgentState:
    """The state of the agent."""

    host: LocalHost
    pods: Mapping[int, Pod] = field(default_factory=lambda: MappingProxyType({}))

    def phase(self, number: int) -> Phase:
        """Return the phase of a lease's pod."""
        pod = self.pods.get(number)
        return Phase.ABSENT if pod is None else pod.phase


class IllegalMove(Exception):  # noqa: N818  (a fact, named as the chain names its errors)
    """The event is not allowed in this phase: a fault of the agent. Nothing was changed."""


_P = Phase
_E = events
_LATE = (
    _E.ManifestFetched,
    _E.FileDelivered,
    _E.RestoreRequested,
    _E.PodPrepared,
    _E.ContainerStarted,
    _E.DriverFailed,
    _E.HealthChanged,
    _E.ContainerExited,
    _E.LimitExceeded,
    _E.PodPaused,
    _E.DataFound,
    _E.DataPurged,
    _E.PodDestroyed,
)
"""Answers to commands, and events of containers, that may arrive when the pod has moved on."""
_COLLECTED = (_E.ResultStored, _E.CollectFailed)


def _row(phase: Phase, moves: Mapping[type, set[Phase]]) -> Mapping[type, frozenset[Phase]]:
    # In every phase a lease may be read again, be replaced by another one, keep only its data, or end.
    common: dict[type, frozenset[Phase]] = {
        _E.LeaseAssigned: frozenset({phase, _P.RETIRING, _P.ENDING}),
        _E.LeaseEnded: frozenset({_P.ENDING}),
        _E.ReportOutcome: frozenset({phase}),
        _E.Tick: frozenset({phase}),
        _E.DevicesFailed: frozenset({phase}),
    }
    late = (*_LATE, *_COLLECTED) if phase in (_P.RETIRING, _P.ENDING) else _LATE
    stays = {event: frozenset({phase}) for event in late}
    return stays | common | {event: frozenset(targets) for event, targets in moves.items()}


_BEGINS = {_P.AWAITING, _P.PREPARING, _P.REFUSING, _P.SUSPENDING}
"""Phases that follow once the manifest is known."""

_MOVES: Mapping[Phase, Mapping[type, set[Phase]]] = {
    _P.ASSIGNED: {
        _E.LeaseAssigned: {_P.ASSIGNED, _P.RETIRING, _P.ENDING} | _BEGINS,
        _E.ManifestFetched: {_P.ASSIGNED} | _BEGINS,
        _E.Tick: {_P.ASSIGNED, _P.PREPARING, _P.AWAITING, _P.DEPLETED, _P.SUSPENDING, _P.REFUSING},
        _E.DevicesFailed: {_P.ASSIGNED, _P.REFUSING},
    },
    _P.AWAITING: {
        _E.LeaseAssigned: {_P.AWAITING, _P.SUSPENDING, _P.RETIRING, _P.ENDING},
        _E.FileDelivered: {_P.AWAITING, _P.PREPARING},
        _E.Tick: {_P.AWAITING, _P.DEPLETED, _P.SUSPENDING, _P.REFUSING},
        _E.DevicesFailed: {_P.AWAITING, _P.REFUSING},
    },
    _P.PREPARING: {
        _E.LeaseAssigned: {_P.PREPARING, _P.SUSPENDING, _P.RETIRING, _P.ENDING},
        _E.PodPrepared: {_P.STARTING},
        _E.DriverFailed: {_P.PREPARING, _P.ASSIGNED, _P.REFUSING},
        _E.Tick: {_P.PREPARING, _P.DEPLETED, _P.SUSPENDING},
        _E.DevicesFailed: {_P.PREPARING, _P.REFUSING},
    },
    _P.STARTING: {
        _E.LeaseAssigned: {_P.STARTING, _P.SUSPENDING, _P.RETIRING, _P.ENDING},
        _E.RestoreRequested: {_P.STARTING, _P.SUSPENDING},
        _E.ContainerStarted: {_P.STARTING, _P.RUNNING},
        _E.DriverFailed: {_P.STARTING, _P.REFUSING},
        _E.Tick: {_P.STARTING, _P.DEPLETED, _P.SUSPENDING},
        _E.DevicesFailed: {_P.STARTING, _P.REFUSING},
    },
    _P.RUNNING: {
        _E.LeaseAssigned: {_P.RUNNING, _P.SUSPENDING, _P.RETIRING, _P.ENDING},
        _E.RestoreRequested: {_P.RUNNING, _P.SUSPENDING},
        _E.HealthChanged: {_P.RUNNING, _P.EXITED},
        _E.DriverFailed: {_P.RUNNING, _P.EXITED, _P.REFUSING},
        _E.ContainerExited: {_P.RUNNING, _P.EXITED, _P.REFUSING},
        _E.LimitExceeded: {_P.RUNNING, _P.EXITED},
        _E.Tick: {_P.RUNNING, _P.EXITED, _P.SUSPENDING},
        _E.DevicesFailed: {_P.RUNNING, _P.REFUSING},
    },
    _P.SUSPENDING: {_E.PodPaused: {_P.SUSPENDED, _P.PREPARING, _P.AWAITING, _P.ASSIGNED}},
    _P.SUSPENDED: {_E.LeaseAssigned: {_P.SUSPENDED, _P.PREPARING, _P.AWAITING, _P.ASSIGNED, _P.RETIRING, _P.ENDING}},
    _P.EXITED: {_E.ResultStored: {_P.REPORTING}, _E.CollectFailed: {_P.EXITED, _P.REFUSING}},
    _P.REPORTING: {_E.ReportOutcome: {_P.REPORTING, _P.DONE}},
    _P.DONE: {},
    _P.REFUSING: {_E.ReportOutcome: {_P.REFUSING, _P.REFUSED}},
    _P.REFUSED: {},
    _P.DEPLETED: {},
    _P.RETIRING: {_E.PodDestroyed: {_P.RETAINED}},
    _P.RETAINED: {_E.DataFound: {_P.RETAINED, _P.PURGING, _P.PURGED}},
    _P.PURGING: {_E.DataPurged: {_P.PURGED}},
    _P.PURGED: {},
    _P.ENDING: {_E.LeaseAssigned: {_P.ENDING}, _E.PodDestroyed: {_P.ABSENT}},
}

"""Next phases by phase and event, besides those of :func:`_row`."""

TABLE: Mapping[Phase, Mapping[type, frozenset[Phase]]] = MappingProxyType(
    {
        _P.ABSENT: {event: frozenset({_P.ABSENT}) for event in (*_LATE, *_COLLECTED)}
        | {
            _E.LeaseAssigned: frozenset({_P.ASSIGNED, _P.RETIRING} | _BEGINS),
            _E.OrphanFound: frozenset({_P.ABSENT}),
            _E.LeaseEnded: frozenset({_P.ABSENT}),
            _E.ReportOutcome: frozenset({_P.ABSENT}),
        },
    }
    | {phase: _row(phase, moves) for phase, moves in _MOVES.items()}
)
"""Allowed next phases by phase and event."""


def diagram() -> str:
    """Return the table as a Mermaid state diagram, without transitions that stay or that lead out of every phase."""
    everywhere = {(_E.LeaseEnded, _P.ENDING), (_E.LeaseAssigned, _P.ENDING), (_E.LeaseAssigned, _P.RETIRING)}
    arrows: dict[tuple[Phase, Phase], list[str]] = {}
    for source, row in TABLE.items():
        for event, targets in row.items():
            for target in sorted(targets - {source}):
                if (event, target) not in everywhere:
                    arrows.setdefault((source, target), []).append(event.__name__)
    lines = [f"    {source} --> {target}: {', '.join(names)}" for (source, target), names in arrows.items()]
    return "\n".join(["stateDiagram-v2", *lines]) + "\n"
