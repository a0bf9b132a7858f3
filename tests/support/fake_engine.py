"""The engine of the fake driver. It outlives its driver, as a real one does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from types import MappingProxyType

from node_agent.core.values import ContainerSpec, Ending, EndKind, PodSpec, Usage
from node_agent.drivers.port import DriverError, PullProgress
from offchain.schema.protocol.snapshots import RentalSnapshot


@dataclass(frozen=True, slots=True)
class FakeProgram:
    """Behaviour of a container.

    `runs`: until it is stopped; else it ends at once. `healthy`: result of its health check.
    """

    output: bytes = b""
    errors: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    exit_code: int = 0
    runs: bool = False
    out_of_memory: bool = False
    fails_to_start: DriverError | None = None
    healthy: bool | None = None
    exits_on_signal: int | None = None
    """Exit code after a signal; None: signals are ignored."""
    runs_until_told: bool = False
    """It ends when it finds the termination notice, whose content becomes its result."""
    disk_mib: int = 0
    no_space: bool = False
    """The engine's disk is full when it ends."""


@dataclass(slots=True)
class FakeContainer:
    spec: PodSpec
    service: str
    start: int
    program: FakeProgram
    reference: str
    changed: asyncio.Event
    healthy: bool | None = None
    ending: Ending | None = None
    removed: bool = False
    signals: tuple[str, ...] = ()
    files: dict[str, bytes] = field(default_factory=dict)
    """Content by path."""


@dataclass(slots=True)
class FakeVolume:
    created: str
    files: dict[str, bytes] = field(default_factory=dict)


def _no_program(_spec: PodSpec, _container: ContainerSpec) -> FakeProgram:
    return FakeProgram()


class FakeEngine:
    """Holds the pods of any number of hosts."""

    def __init__(self, programs: Callable[[PodSpec, ContainerSpec], FakeProgram] = _no_program) -> None:
        self.programs = programs
        self.containers: dict[tuple[str, int, str], FakeContainer] = {}
        self.networks: set[tuple[str, int]] = set()
        self.data: dict[tuple[str, int], dict[str, FakeVolume]] = {}
        self.snapshots: dict[tuple[str, int], dict[str, RentalSnapshot]] = {}
        self.notices: dict[tuple[str, int], bytes] = {}
        self.pulls: tuple[PullProgress, ...] = ()
        """Images that are not on the host: pods that need one of them wait for `pulled`."""
        self.pulled = asyncio.Event()
        self.starts = 0
        self._ids = count(1)

    def new_id(self, kind: str) -> str:
        """Return an id that was never used on this engine."""
        return f"{kind}-{next(self._ids)}"

    def of(self, host: str, lease: int) -> list[FakeContainer]:
        """Return the containers of a lease in the order of their services."""
        found = [one for (owner, number, _), one in self.containers.items() if (owner, number) == (host, lease)]
        return sorted(found, key=lambda one: one.spec.index(one.service))

    def main(self, host: str, lease: int) -> FakeContainer:
        for one in self.of(host, lease):
            if one.spec.index(one.service) == 0:
                return one
        raise KeyError(lease)

    def run(
        self, spec: PodSpec, service: str, start: int, files: Mapping[str, bytes] = MappingProxyType({})
    ) -> FakeContainer:
        """Create and run a container. A second one for the same service is an error, as on a real engine."""
        key = (spec.host, spec.lease, service)
        if key in self.containers:
            raise DriverError(f"lease {spec.lease} has a container {service} already")
        container = FakeContainer(spec, service, start, FakeProgram(), self.new_id("fake"), asyncio.Event())
        container.files.update(files)
        self.start_run(container)
        self.containers[key] = container
        return container

    def start_run(self, container: FakeContainer) -> None:
        """Run a container once more."""
        program = self.programs(container.spec, container.spec.container(container.service))
        if program.fails_to_start is not None:
            raise program.fails_to_start
        self.starts += 1
        container.program, container.healthy, container.ending = program, program.healthy, None
        container.files.update(program.files)
        if program.out_of_memory:
            self.end(container, EndKind.SELF, 137, oom_killed=True)
        elif program.runs_until_told:
            self.look_for_notice(container)
        elif not program.runs:
            self.end(container, EndKind.SELF, program.exit_code)

    def look_for_notice(self, container: FakeContainer) -> None:
        """End a program that waits for a termination notice if there is one."""
        found = self.notices.get((container.spec.host, container.spec.lease))
        if container.program.runs_until_told and container.ending is None and found is not None:
            container.program = replace(container.program, output=found)
            self.end(container, EndKind.SELF, 0)

    def end(self, container: FakeContainer, kind: EndKind, exit_code: int, *, oom_killed: bool = False) -> None:
        if container.ending is None:
            used = Usage(wall_ms=1000, cpu_ms=10, memory_peak_mib=1)
            full = container.program.no_space
            container.ending = Ending(kind, exit_code, oom_killed, used, mark=self.new_id("run"), no_space=full)
            _tell(container)

    def health(self, host: str, lease: int, service: str, *, healthy: bool) -> None:
        """Set the result of the container's health check."""
        container = self.containers[host, lease, service]
        container.healthy = healthy
        _tell(container)

    def finish(self, host: str, lease: int, exit_code: int = 0) -> None:
        """End the main program by itself."""
        self.end(self.main(host, lease), EndKind.SELF, exit_code)

    def kill(self, host: str, lease: int) -> None:
        """Kill the main container, as somebody on the host might."""
        self.end(self.main(host, lease), EndKind.KILLED, 137)

    def remove(self, host: str, lease: int, service: str | None = None) -> None:
        """Remove one container, or all, as the driver or somebody on the host might."""
        for one in self.of(host, lease):
            if service in (None, one.service):
                del self.containers[host, lease, one.service]
                one.removed = True
                _tell(one)


def _tell(container: FakeContainer) -> None:
    """Wake all watchers of a container."""
    changed, container.changed = container.changed, asyncio.Event()
    changed.set()
