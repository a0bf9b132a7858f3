"""Containers of one pod: dependencies, the meaning of an exit, and restarts. Pure.

The meaning of an exit depends on who caused it and on the kind of the task:

* a job's container without a restart policy starts anew after a fault of the host, because its files may be incomplete;
  an exit of its own is final, with any exit code. After the exit code of a kill without a record of a kill it starts
  once more; a second such exit counts as its own;
* any other container follows its restart policy, in place: its files are still there. The delay doubles from one second
  to one minute, and a run of one minute resets the counter.

If the pod cannot go on, a failure caused by the host gives the lease back, and one caused by the tenant is the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from node_agent.core.values import NO_USAGE, Ending, EndKind, Handle, HostFailure, PodSpec, TaskKind, Usage
from offchain.backoff import backoff
from offchain.schema.manifest.types import Dependency, ServiceSpec

MAX_KILL_RESTARTS = 2
MAX_UNEXPLAINED_RESTARTS = 1
FIRST_PAUSE_MS = 1_000
LONGEST_PAUSE_MS = 60_000
STABLE_MS = 60_000
"""A run of this length resets the restart counter."""


class Stage(StrEnum):
    """Stage of a container. WAITING: for its dependencies. PAUSING: before its next start."""

    WAITING = "waiting"
    STARTING = "starting"
    RUNNING = "running"
    PAUSING = "pausing"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """State of one container of a pod."""

    name: str
    stage: Stage = Stage.WAITING
    start: int = 0
    """Number of starts."""
    handle: Handle | None = None
    ran: bool = False
    """Whether it has run since the pod was last started."""
    healthy: bool | None = None
    unwell: bool = False
    """Whether it is being stopped because it is unhealthy."""
    began_at_ms: int = 0
    restarts: int = 0
    killed: int = 0
    unexplained: int = 0
    tries: int = 0
    retry_at_ms: int | None = None
    mark: str = ""
    """The ended run that the next start follows in place; "" for a start in a new container."""
    ending: Ending | None = None
    used: Usage = NO_USAGE
    """Usage of its ended runs."""


@dataclass(frozen=True, slots=True)
class StaysEnded:
    """The container ended by itself and is not restarted."""


@dataclass(frozen=True, slots=True)
class RestartContainer:
    """The container restarts after a delay. `lost`: the host ended the run, and nobody pays for it."""

    container: Container
    delay_ms: int
    lost: bool = False


@dataclass(frozen=True, slots=True)
class HostFault:
    """The pod cannot go on, for a reason of the host."""

    reason: HostFailure
    message: str


@dataclass(frozen=True, slots=True)
class TenantFault:
    """The pod cannot go on because of this container of the tenant."""

    container: Container
    message: str

    @property
    def exit_code(self) -> int:
        """Exit code of the container; 1 if it has none or 0."""
        ending = self.container.ending if self.container.stage is Stage.ENDED else None
        return (ending.exit_code if ending is not None else 0) or 1


def initial_containers(spec: PodSpec) -> tuple[Container, ...]:
    """Return the containers of a pod before any start."""
    return tuple(Container(name=one.service.name) for one in spec.containers)


def replace_container(containers: tuple[Container, ...], changed: Container) -> tuple[Container, ...]:
    """Replace the container of the same name."""
    return tuple(changed if one.name == changed.name else one for one in containers)


def find_container(containers: tuple[Container, ...], name: str) -> Container | None:
    """Return the container of a service."""
    return next((one for one in containers if one.name == name), None)


def stopped_containers(containers: tuple[Container, ...], marks: tuple[tuple[str, str], ...]) -> tuple[Container, ...]:
    """Return the containers after a deliberate stop, to be started again in place.

    `marks`: their ended runs by service.
    """
    known = dict(marks)
    return tuple(
        Container(name=one.name, start=one.start, mark=known.get(one.name, one.mark), used=one.used)
        for one in containers
    )


def startable(spec: PodSpec, containers: tuple[Container, ...]) -> tuple[Container, ...]:
    """Return the waiting containers whose dependencies are met, in the order of the manifest."""
    return tuple(
        one
        for one in containers
        if one.stage is Stage.WAITING
        and all(_is_met(spec, containers, dependency) for dependency in spec.container(one.name).service.depends_on)
    )


def unmet_dependency(spec: PodSpec, containers: tuple[Container, ...]) -> TenantFault | None:
    """Return the failed container for which another one can never start, with the reason; None if there is none."""
    for one in containers:
        if one.stage is not Stage.WAITING:
            continue
        for dependency in spec.container(one.name).service.depends_on:
            before = find_container(containers, dependency.service)
            if before is not None and _cannot_be_met(before, dependency):
                what = f"{one.name} waits until {dependency.service} is {dependency.until}"
                return TenantFault(before, f"{what}, but that {_state_text(before)}.")
    return None


def judge_exit(
    kind: TaskKind, service: ServiceSpec, container: Container, ending: Ending | None, now_ms: int
) -> StaysEnded | RestartContainer | HostFault | TenantFault:
    """Decide what the end of a run means. `ending` is None if the container vanished."""
    one = after_run(container, ending)
    full = ending is not None and ending.no_space
    if kind is TaskKind.JOB and (full or service.restart.when == "no"):
        return _judge_job(one, ending)
    if now_ms - container.began_at_ms >= STABLE_MS:
        one = replace(one, restarts=0, killed=0)
    if container.unwell:
        return _restart_by_policy(service, one, "was not healthy")
    if ending is None or ending.kind is EndKind.KILLED:
        if one.killed >= MAX_KILL_RESTARTS:
            return HostFault(HostFailure.DRIVER_ERROR, _killed_too_often(one))
        return RestartContainer(replace(one, killed=one.killed + 1), 0)
    code = ending.exit_code
    if service.restart.when == "no" or (service.restart.when == "on-failure" and code == 0):
        return StaysEnded()
    return _restart_by_policy(service, one, f"ended with exit code {code}")


def after_run(container: Container, ending: Ending | None) -> Container:
    """Return the container after a run, before the decision on a restart."""
    used = container.used if ending is None else add_usage(container.used, ending.usage)
    mark = "" if ending is None else ending.mark
    return replace(container, healthy=None, unwell=False, mark=mark, ending=ending, used=used, retry_at_ms=None)


def add_usage(one: Usage, other: Usage) -> Usage:
    """Add two runs of one container: times add up, memory is the higher peak."""
    return Usage(
        wall_ms=one.wall_ms + other.wall_ms,
        cpu_ms=one.cpu_ms + other.cpu_ms,
        memory_peak_mib=max(one.memory_peak_mib, other.memory_peak_mib),
    )


def pod_usage(containers: tuple[Container, ...], wall_ms: int) -> Usage:
    """Return the usage of a pod whose containers ran in parallel."""
    return Usage(
        wall_ms=wall_ms,
        cpu_ms=sum(one.used.cpu_ms for one in containers),
        memory_peak_mib=sum(one.used.memory_peak_mib for one in containers),
    )


def restart_delay_ms(restarts: int) -> int:
    """Return the delay before a restart after this number of consecutive restarts."""
    return int(backoff(restarts, FIRST_PAUSE_MS, LONGEST_PAUSE_MS))


def _judge_job(one: Container, ending: Ending | None) -> StaysEnded | RestartContainer | HostFault:
    if ending is not None and ending.no_space:
        what = f"The disk of this host was full when {one.name} ended; what it wrote cannot be relied on."
        return HostFault(HostFailure.RESOURCES_UNAVAILABLE, what)
    if ending is None or ending.kind is EndKind.KILLED:
        if one.killed >= MAX_KILL_RESTARTS:
            return HostFault(HostFailure.DRIVER_ERROR, _killed_too_often(one))
        return RestartContainer(replace(one, killed=one.killed + 1, mark="", used=NO_USAGE), 0, lost=True)
    if ending.kind is EndKind.UNEXPLAINED and one.unexplained < MAX_UNEXPLAINED_RESTARTS:
        # The tenant may have ended it, and must not compute for nothing by that; so the run counts.
        return RestartContainer(replace(one, unexplained=one.unexplained + 1, mark=""), 0)
    return StaysEnded()


def _restart_by_policy(service: ServiceSpec, one: Container, what: str) -> RestartContainer | TenantFault:
    policy = service.restart
    limit = 0 if policy.when == "no" else policy.attempts
    if limit is not None and one.restarts >= limit:
        times = f" {one.restarts + 1} times" if one.restarts else ""
        return TenantFault(
            replace(one, stage=Stage.ENDED), f"{one.name} {what}{times}; its restart policy allows no more."
        )
    return RestartContainer(replace(one, restarts=one.restarts + 1), restart_delay_ms(one.restarts))


def _killed_too_often(one: Container) -> str:
    return f"The container {one.name} was ended from outside {one.killed + 1} times."


def _is_met(spec: PodSpec, containers: tuple[Container, ...], dependency: Dependency) -> bool:
    before = find_container(containers, dependency.service)
    if before is None:
        return False
    if dependency.until == "completed":
        return before.stage is Stage.ENDED and before.ending is not None and before.ending.exit_code == 0
    if dependency.until == "healthy" and spec.container(before.name).service.healthcheck is not None:
        return before.healthy is True
    return before.ran


def _cannot_be_met(before: Container, dependency: Dependency) -> bool:
    if dependency.until == "started":
        return False
    if dependency.until == "healthy":
        return before.stage is Stage.ENDED or (before.healthy is False and not before.unwell)
    return before.stage is Stage.ENDED and (before.ending is None or before.ending.exit_code != 0)


def _state_text(container: Container) -> str:
    if container.ending is not None and container.stage is Stage.ENDED:
        return f"ended with exit code {container.ending.exit_code}"
    return "is not healthy" if container.healthy is False else "is gone"
