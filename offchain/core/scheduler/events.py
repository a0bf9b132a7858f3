"""Events that the scheduler state handles, and the commands that it returns.

`SchedulerState.handle(event, now_ms) -> commands`: the shell turns changes of the chain and outcomes of calls into
events, and carries the commands out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from offchain.core.scheduler.explain import WaitReason
from offchain.core.scheduler.host_observations import HostObservation
from offchain.core.scheduler.host_risk import HealthLimits, Risk
from offchain.core.scheduler.plan import PlanResult
from offchain.core.values import Host, PodPlacement, Task


@dataclass(frozen=True, slots=True)
class HostsChanged:
    """New records of hosts."""

    hosts: Sequence[Host]


@dataclass(frozen=True, slots=True)
class HostsRemoved:
    hosts: Sequence[str]


@dataclass(frozen=True, slots=True)
class HostsObserved:
    """Successes and failures of pods, and faults of hosts."""

    observations: Sequence[HostObservation]


@dataclass(frozen=True, slots=True)
class TasksChanged:
    """New records of tasks that are not final."""

    tasks: Sequence[Task]


@dataclass(frozen=True, slots=True)
class TasksRemoved:
    """Tasks that are final."""

    tasks: Sequence[int]


@dataclass(frozen=True, slots=True)
class TasksFinalized:
    """Records in the last finalized block. None: the task is not there."""

    tasks: Mapping[int, Task | None]


@dataclass(frozen=True, slots=True)
class SchedulersChanged:
    """The accounts of all bonded schedulers."""

    accounts: frozenset[str]
    seed: bytes = b""
    """The random seed of the chain's session."""


@dataclass(frozen=True, slots=True)
class LimitsChanged:
    """The chain's limits for hosts. No pod is moved before they are known."""

    limits: HealthLimits


@dataclass(frozen=True, slots=True)
class CycleDue:
    """Run a scheduling cycle.

    `explain`: maximum number of waiting tasks whose reason is computed. `preempt`: search for victims too.
    """

    explain: int = 0
    preempt: bool = True


@dataclass(frozen=True, slots=True)
class AssignmentSubmitted:
    """A placement is on its way to the chain, for this generation of the task."""

    task: int
    generation: int


@dataclass(frozen=True, slots=True)
class AssignmentOvertaken:
    """A placement was not submitted, because the task no longer waits in the best block."""

    task: int


@dataclass(frozen=True, slots=True)
class AssignmentRefused:
    """The chain refused a placement. `error`: pallet and name of its error, if it is one."""

    task: Task
    hosts: frozenset[str]
    error: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class PreemptionFinished:
    """The chain has executed or refused the preemption for this task."""

    task: int
    accepted: bool


@dataclass(frozen=True, slots=True)
class MoveFinished:
    """The chain has executed or refused the move of a pod."""

    task: int
    lease: int


@dataclass(frozen=True, slots=True)
class StandbyFinished:
    """The chain has executed or refused naming the standby of a lease."""

    lease: int


Event = (
    HostsChanged
    | HostsRemoved
    | HostsObserved
    | TasksChanged
    | TasksRemoved
    | TasksFinalized
    | SchedulersChanged
    | LimitsChanged
    | CycleDue
    | AssignmentSubmitted
    | AssignmentOvertaken
    | AssignmentRefused
    | PreemptionFinished
    | MoveFinished
    | StandbyFinished
)


@dataclass(frozen=True, slots=True)
class ApplyPlan:
    """Assign the tasks that still wait in the best block; answer `AssignmentSubmitted` or `AssignmentOvertaken`."""

    plan: PlanResult


@dataclass(frozen=True, slots=True)
class PreemptTasks:
    """Announce to the victims that they end for `preemptor`, whose pods take their places."""

    preemptor: Task
    victims: tuple[Task, ...]
    pods: tuple[PodPlacement, ...]


@dataclass(frozen=True, slots=True)
class MovePod:
    """Move a pod. Its new place is reserved until `MoveFinished`."""

    task: int
    lease: int
    host: str
    devices: bytes
    rate_per_hour: int
    risk: Risk


@dataclass(frozen=True, slots=True)
class NameStandby:
    """Name the place of a lease's standby."""

    task: int
    lease: int
    host: str
    devices: bytes
    rate_per_hour: int


@dataclass(frozen=True, slots=True)
class ReadHeartbeats:
    """Read these hosts again, whose heartbeats seem overdue, because heartbeats deposit no event."""

    hosts: frozenset[str]


@dataclass(frozen=True, slots=True)
class ReportRisk:
    """Report a pod on a host that has begun to deteriorate. `failures`: what failed there lately."""

    task: int
    lease: int
    host: str
    risk: Risk
    failures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReportReservation:
    """Report a new or changed reservation. `start_ms`: chain time."""

    task: int
    start_ms: int


@dataclass(frozen=True, slots=True)
class ReportWaiting:
    """Report why a task waits, for all of its equivalence class. `is_new`: the text differs from the last one."""

    task: Task
    reason: str
    why: WaitReason
    is_new: bool


Command = (
    ApplyPlan | PreemptTasks | MovePod | NameStandby | ReadHeartbeats | ReportRisk | ReportReservation | ReportWaiting
)


def plan_of(commands: Iterable[Command]) -> PlanResult:
    """Return the plan of a cycle: each leads to one `ApplyPlan`."""
    (plan,) = (command.plan for command in commands if isinstance(command, ApplyPlan))
    return plan
