"""A pod's phases, and the table of every move there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

from node_agent.core import events
from node_agent.core.values import Ending, Handle, Host, HostFailure, Lease, PodSpec


class Phase(StrEnum):
    """Where a pod is. ABSENT stands for a lease the agent holds nothing of."""

    ABSENT = "Absent"
    ASSIGNED = "Assigned"
    PREPARING = "Preparing"
    RUNNING = "Running"
    EXITED = "Exited"
    REPORTING = "Reporting"
    DONE = "Done"
    REFUSING = "Refusing"
    REFUSED = "Refused"
    DEPLETED = "Depleted"
    ENDING = "Ending"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """One pod. Survives a restart of the agent as a whole (the shell keeps it before it runs a command)."""

    lease: Lease
    phase: Phase
    spec: PodSpec | None = None
    handle: Handle | None = None
    killed: int = 0
    """How often somebody else ended the container."""
    unexplained: int = 0
    tries: int = 0
    """Failed tries of the present step."""
    retry_at_ms: int | None = None
    stop_at_ms: int | None = None
    ending: Ending | None = None
    digest: bytes | None = None
    started_sent: bool = False
    started_known: bool = False
    """The chain has the started report; only then does it take a result."""
    result_sent: bool = False
    failure: HostFailure | None = None
    failure_message: str = ""
    story: tuple[str, ...] = ()
    """The last moves, oldest first."""

    def to(self, phase: Phase) -> Pod:
        """The same pod in another phase."""
        return replace(self, phase=phase)


@dataclass(frozen=True, slots=True)
class AgentState:
    """Everything the agent holds."""

    host: Host
    pods: Mapping[int, Pod] = field(default_factory=lambda: MappingProxyType({}))

    def phase(self, number: int) -> Phase:
        """The phase of a lease's pod."""
        pod = self.pods.get(number)
        return Phase.ABSENT if pod is None else pod.phase


class IllegalMove(Exception):  # noqa: N818  (a fact, named as the chain names its errors)
    """An event came that this phase has no place for: a fault of the agent itself. Nothing was changed."""


_P = Phase
_E = events
_SAME: Mapping[Phase, frozenset[Phase]] = {phase: frozenset({phase}) for phase in Phase}


_BEFORE_ITS_END = frozenset({Phase.ASSIGNED, Phase.PREPARING, Phase.RUNNING})


def _row(phase: Phase, moves: Mapping[type, set[Phase]]) -> Mapping[type, frozenset[Phase]]:
    # In every phase a lease may be read again, may turn out to be another one, or may end.
    common: dict[type, frozenset[Phase]] = {
        _E.LeaseAssigned: frozenset({phase, _P.ENDING}),
        _E.LeaseEnded: frozenset({_P.ENDING}),
        _E.ReportOutcome: _SAME[phase],
        _E.Tick: _SAME[phase],
        _E.DevicesFailed: frozenset({phase, _P.REFUSING}) if phase in _BEFORE_ITS_END else _SAME[phase],
    }
    return common | {event: frozenset(targets) for event, targets in moves.items()}


TABLE: Mapping[Phase, Mapping[type, frozenset[Phase]]] = MappingProxyType(
    {
        _P.ABSENT: {
            _E.LeaseAssigned: frozenset({_P.ASSIGNED, _P.PREPARING, _P.REFUSING}),
            _E.ChainLeaseMissing: _SAME[_P.ABSENT],
            _E.LeaseEnded: _SAME[_P.ABSENT],
            # Answers that were on their way when the pod was removed.
            _E.ReportOutcome: _SAME[_P.ABSENT],
            _E.Exited: _SAME[_P.ABSENT],
            _E.Destroyed: _SAME[_P.ABSENT],
        },
        _P.ASSIGNED: _row(
            _P.ASSIGNED,
            {
                _E.LeaseAssigned: {_P.ASSIGNED, _P.PREPARING, _P.REFUSING, _P.ENDING},
                _E.ManifestFetched: {_P.ASSIGNED, _P.PREPARING, _P.REFUSING},
                _E.Exited: {_P.ASSIGNED},
                _E.Tick: {_P.ASSIGNED, _P.PREPARING, _P.DEPLETED},
            },
        ),
        _P.PREPARING: _row(
            _P.PREPARING,
            {
                _E.ManifestFetched: {_P.PREPARING},
                _E.DriverStarted: {_P.RUNNING},
                _E.DriverFailed: {_P.ASSIGNED, _P.REFUSING},
                _E.Exited: {_P.PREPARING},
                _E.Tick: {_P.PREPARING, _P.DEPLETED},
            },
        ),
        _P.RUNNING: _row(
            _P.RUNNING,
            {
                _E.Exited: {_P.RUNNING, _P.EXITED, _P.PREPARING, _P.REFUSING},
                _E.Tick: {_P.RUNNING, _P.DEPLETED},
            },
        ),
        _P.EXITED: _row(
            _P.EXITED,
            {
                _E.ResultStored: {_P.REPORTING},
                _E.CollectFailed: {_P.EXITED, _P.REFUSING},
                _E.Exited: {_P.EXITED},
            },
        ),
        _P.REPORTING: _row(_P.REPORTING, {_E.ReportOutcome: {_P.REPORTING, _P.DONE}}),
        _P.DONE: _row(_P.DONE, {_E.Destroyed: {_P.DONE}}),
        _P.REFUSING: _row(
            _P.REFUSING,
            {
                _E.ReportOutcome: {_P.REFUSING, _P.REFUSED},
                _E.ManifestFetched: {_P.REFUSING},
                # What was on its way when the pod was given back.
                _E.DriverStarted: {_P.REFUSING},
                _E.DriverFailed: {_P.REFUSING},
                _E.Exited: {_P.REFUSING},
                _E.Destroyed: {_P.REFUSING},
            },
        ),
        _P.REFUSED: _row(
            _P.REFUSED,
            {
                _E.ManifestFetched: {_P.REFUSED},
                _E.DriverStarted: {_P.REFUSED},
                _E.DriverFailed: {_P.REFUSED},
                _E.Exited: {_P.REFUSED},
                _E.Destroyed: {_P.REFUSED},
            },
        ),
        _P.DEPLETED: _row(
            _P.DEPLETED,
            {
                _E.ManifestFetched: {_P.DEPLETED},
                _E.DriverStarted: {_P.DEPLETED},
                _E.DriverFailed: {_P.DEPLETED},
                _E.Exited: {_P.DEPLETED},
                _E.Destroyed: {_P.DEPLETED},
            },
        ),
        _P.ENDING: _row(
            _P.ENDING,
            {
                _E.ManifestFetched: {_P.ENDING},
                _E.DriverStarted: {_P.ENDING},
                _E.DriverFailed: {_P.ENDING},
                _E.Exited: {_P.ENDING},
                _E.ResultStored: {_P.ENDING},
                _E.CollectFailed: {_P.ENDING},
                _E.Destroyed: {_P.ABSENT},
            },
        ),
    }
)
"""phase -> event -> the phases it may lead to."""


def diagram() -> str:
    """The table as a Mermaid state diagram, moves that stay left out."""
    arrows: dict[tuple[Phase, Phase], list[str]] = {}
    for source, row in TABLE.items():
        for event, targets in row.items():
            for target in sorted(targets - {source}):
                arrows.setdefault((source, target), []).append(event.__name__)
    lines = [f"    {source} --> {target}: {', '.join(names)}" for (source, target), names in arrows.items()]
    return "\n".join(["stateDiagram-v2", *lines]) + "\n"
