"""A pod's phases, and the table of every move there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

from node_agent.core import events
from node_agent.core.containers import Container
from node_agent.core.values import Ending, HostFailure, HostLease, LeaseStatus, LocalHost, PodSpec


class Phase(StrEnum):
    """Where a pod is. ABSENT stands for a lease the agent holds nothing of."""

    ABSENT = "Absent"
    ASSIGNED = "Assigned"
    AWAITING = "Awaiting"
    """For files that the tenant delivers."""
    PREPARING = "Preparing"
    STARTING = "Starting"
    """The first of its containers are being started."""
    RUNNING = "Running"
    """One of its containers runs, or ran: from then on it is paid for."""
    SUSPENDING = "Suspending"
    SUSPENDED = "Suspended"
    """Stopped with all it has, by the tenant's wish or because what was paid for is used up."""
    EXITED = "Exited"
    REPORTING = "Reporting"
    DONE = "Done"
    REFUSING = "Refusing"
    REFUSED = "Refused"
    DEPLETED = "Depleted"
    RETIRING = "Retiring"
    RETAINED = "Retained"
    """The containers are gone, the data is kept for the tenant."""
    PURGING = "Purging"
    PURGED = "Purged"
    ENDING = "Ending"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """One pod. Survives a restart of the agent as a whole (the shell keeps it before it runs a command)."""

    lease: HostLease
    phase: Phase
    spec: PodSpec | None = None
    containers: tuple[Container, ...] = ()
    delivered: tuple[str, ...] = ()
    renew: bool = False
    """Its main container is made anew at the next start, of what its spec says."""
    has_data: bool = False
    """Its volumes were made; from then on they have to be there."""
    tries: int = 0
    """Failed tries of the present step of the pod as a whole."""
    retry_at_ms: int | None = None
    stop_at_ms: int | None = None
    began_at_ms: int | None = None
    """When the first of its containers ran. What a job lost by its host's faults is added."""
    cut: str = ""
    """Why it is ended before its main container ends by itself: its tenant's doing, and so a result."""
    ending: Ending | None = None
    """How it ended, with what the whole pod used."""
    digest: bytes | None = None
    started_sent: bool = False
    started_known: bool = False
    """The chain has the started report; only then does it take a result."""
    result_sent: bool = False
    failure: HostFailure | None = None
    failure_message: str = ""
    receipt: bytes | None = None
    """SHA-256 of the record of the data that is deleted; None where it was lost."""
    story: tuple[str, ...] = ()
    """The last moves, oldest first."""

    def to(self, phase: Phase) -> Pod:
        """The same pod in another phase."""
        return replace(self, phase=phase)

    @property
    def awaited(self) -> tuple[str, ...]:
        """Files that are still to be delivered."""
        return () if self.spec is None else tuple(sorted(self.spec.files - set(self.delivered)))

    @property
    def start_due_ms(self) -> int | None:
        """Chain time by which the pod must have started, or be given back; None where it has started before."""
        return None if self.started_sent or self.started_known else self.lease.start_by_ms

    def may_run(self, now_ms: int) -> bool:
        """Whether the lease is for running containers now, and paid."""
        paid = self.stop_at_ms is None or now_ms < self.stop_at_ms
        return paid and self.lease.status in (LeaseStatus.PENDING, LeaseStatus.ACTIVE)


@dataclass(frozen=True, slots=True)
class AgentState:
    """Everything the agent holds."""

    host: LocalHost
    pods: Mapping[int, Pod] = field(default_factory=lambda: MappingProxyType({}))

    def phase(self, number: int) -> Phase:
        """The phase of a lease's pod."""
        pod = self.pods.get(number)
        return Phase.ABSENT if pod is None else pod.phase


class IllegalMove(Exception):  # noqa: N818  (a fact, named as the chain names its errors)
    """An event came that this phase has no place for: a fault of the agent itself. Nothing was changed."""


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
"""Answers to commands, and news from containers, that may arrive when the pod has moved on."""
_COLLECTED = (_E.ResultStored, _E.CollectFailed)


def _row(
    phase: Phase, moves: Mapping[type, set[Phase]], late: tuple[type, ...] = _LATE
) -> Mapping[type, frozenset[Phase]]:
    # In every phase a lease may be read again, may turn out to be another one, to be over but for its data, or to end.
    common: dict[type, frozenset[Phase]] = {
        _E.LeaseAssigned: frozenset({phase, _P.RETIRING, _P.ENDING}),
        _E.LeaseEnded: frozenset({_P.ENDING}),
        _E.ReportOutcome: frozenset({phase}),
        _E.Tick: frozenset({phase}),
        _E.DevicesFailed: frozenset({phase}),
    }
    stays = {event: frozenset({phase}) for event in late}
    return stays | common | {event: frozenset(targets) for event, targets in moves.items()}


_BEGINS = {_P.AWAITING, _P.PREPARING, _P.REFUSING, _P.SUSPENDING}
"""Where a lease whose manifest is known goes."""

TABLE: Mapping[Phase, Mapping[type, frozenset[Phase]]] = MappingProxyType(
    {
        _P.ABSENT: {event: frozenset({_P.ABSENT}) for event in (*_LATE, *_COLLECTED)}
        | {
            _E.LeaseAssigned: frozenset({_P.ASSIGNED, _P.RETIRING} | _BEGINS),
            _E.OrphanFound: frozenset({_P.ABSENT}),
            _E.LeaseEnded: frozenset({_P.ABSENT}),
            _E.ReportOutcome: frozenset({_P.ABSENT}),
        },
        _P.ASSIGNED: _row(
            _P.ASSIGNED,
            {
                _E.LeaseAssigned: {_P.ASSIGNED, _P.RETIRING, _P.ENDING} | _BEGINS,
                _E.ManifestFetched: {_P.ASSIGNED} | _BEGINS,
                _E.Tick: {_P.ASSIGNED, _P.PREPARING, _P.AWAITING, _P.DEPLETED, _P.SUSPENDING, _P.REFUSING},
                _E.DevicesFailed: {_P.ASSIGNED, _P.REFUSING},
            },
        ),
        _P.AWAITING: _row(
            _P.AWAITING,
            {
                _E.LeaseAssigned: {_P.AWAITING, _P.SUSPENDING, _P.RETIRING, _P.ENDING},
                _E.FileDelivered: {_P.AWAITING, _P.PREPARING},
                _E.Tick: {_P.AWAITING, _P.DEPLETED, _P.SUSPENDING, _P.REFUSING},
                _E.DevicesFailed: {_P.AWAITING, _P.REFUSING},
            },
        ),
        _P.PREPARING: _row(
            _P.PREPARING,
            {
                _E.LeaseAssigned: {_P.PREPARING, _P.SUSPENDING, _P.RETIRING, _P.ENDING},
                _E.PodPrepared: {_P.STARTING},
                _E.DriverFailed: {_P.PREPARING, _P.ASSIGNED, _P.REFUSING},
                _E.Tick: {_P.PREPARING, _P.DEPLETED, _P.SUSPENDING},
                _E.DevicesFailed: {_P.PREPARING, _P.REFUSING},
            },
        ),
        _P.STARTING: _row(
            _P.STARTING,
            {
                _E.LeaseAssigned: {_P.STARTING, _P.SUSPENDING, _P.RETIRING, _P.ENDING},
                _E.RestoreRequested: {_P.STARTING, _P.SUSPENDING},
                _E.ContainerStarted: {_P.STARTING, _P.RUNNING},
                _E.DriverFailed: {_P.STARTING, _P.REFUSING},
                _E.Tick: {_P.STARTING, _P.DEPLETED, _P.SUSPENDING},
                _E.DevicesFailed: {_P.STARTING, _P.REFUSING},
            },
        ),
        _P.RUNNING: _row(
            _P.RUNNING,
            {
                _E.LeaseAssigned: {_P.RUNNING, _P.SUSPENDING, _P.RETIRING, _P.ENDING},
                _E.RestoreRequested: {_P.RUNNING, _P.SUSPENDING},
                _E.HealthChanged: {_P.RUNNING, _P.EXITED},
                _E.DriverFailed: {_P.RUNNING, _P.EXITED, _P.REFUSING},
                _E.ContainerExited: {_P.RUNNING, _P.EXITED, _P.REFUSING},
                _E.LimitExceeded: {_P.RUNNING, _P.EXITED},
                _E.Tick: {_P.RUNNING, _P.EXITED, _P.SUSPENDING},
                _E.DevicesFailed: {_P.RUNNING, _P.REFUSING},
            },
        ),
        _P.SUSPENDING: _row(
            _P.SUSPENDING,
            {_E.PodPaused: {_P.SUSPENDED, _P.PREPARING, _P.AWAITING, _P.ASSIGNED}},
        ),
        _P.SUSPENDED: _row(
            _P.SUSPENDED,
            {_E.LeaseAssigned: {_P.SUSPENDED, _P.PREPARING, _P.AWAITING, _P.ASSIGNED, _P.RETIRING, _P.ENDING}},
        ),
        _P.EXITED: _row(
            _P.EXITED,
            {_E.ResultStored: {_P.REPORTING}, _E.CollectFailed: {_P.EXITED, _P.REFUSING}},
        ),
        _P.REPORTING: _row(_P.REPORTING, {_E.ReportOutcome: {_P.REPORTING, _P.DONE}}),
        _P.DONE: _row(_P.DONE, {}),
        _P.REFUSING: _row(_P.REFUSING, {_E.ReportOutcome: {_P.REFUSING, _P.REFUSED}}),
        _P.REFUSED: _row(_P.REFUSED, {}),
        _P.DEPLETED: _row(_P.DEPLETED, {}),
        _P.RETIRING: _row(_P.RETIRING, {_E.PodDestroyed: {_P.RETAINED}}, (*_LATE, *_COLLECTED)),
        _P.RETAINED: _row(_P.RETAINED, {_E.DataFound: {_P.RETAINED, _P.PURGING, _P.PURGED}}),
        _P.PURGING: _row(_P.PURGING, {_E.DataPurged: {_P.PURGED}}),
        _P.PURGED: _row(_P.PURGED, {}),
        _P.ENDING: _row(
            _P.ENDING, {_E.LeaseAssigned: {_P.ENDING}, _E.PodDestroyed: {_P.ABSENT}}, (*_LATE, *_COLLECTED)
        ),
    }
)
"""phase -> event -> the phases it may lead to."""


def diagram() -> str:
    """The table as a Mermaid state diagram. Left out: moves that stay, and those that lead out of every phase."""
    everywhere = {(_E.LeaseEnded, _P.ENDING), (_E.LeaseAssigned, _P.ENDING), (_E.LeaseAssigned, _P.RETIRING)}
    arrows: dict[tuple[Phase, Phase], list[str]] = {}
    for source, row in TABLE.items():
        for event, targets in row.items():
            for target in sorted(targets - {source}):
                if (event, target) not in everywhere:
                    arrows.setdefault((source, target), []).append(event.__name__)
    lines = [f"    {source} --> {target}: {', '.join(names)}" for (source, target), names in arrows.items()]
    return "\n".join(["stateDiagram-v2", *lines]) + "\n"
