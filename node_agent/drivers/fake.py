"""A driver without containers, for trials and tests. Its engine outlives its driver, as a real one does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from node_agent.core.values import Ending, EndKind, Found, Handle, PodSpec, Usage
from node_agent.ports import Collected, DriverError, Fingerprint, Inspection, PodGone
from offchain.schema.manifest_types import ResultSpec

HANDLE_VERSION = 1


@dataclass(frozen=True, slots=True)
class FakeProgram:
    """What a container does. `runs`: until it is stopped; else it ends at once."""

    output: bytes = b""
    errors: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    exit_code: int = 0
    runs: bool = False
    out_of_memory: bool = False
    fails_to_start: DriverError | None = None


@dataclass(slots=True)
class _Container:
    spec: PodSpec
    program: FakeProgram
    reference: str
    ended: asyncio.Event
    ending: Ending | None = None
    removed: bool = False


def _no_program(_spec: PodSpec) -> FakeProgram:
    return FakeProgram()


class FakeEngine:
    """Holds the pods of any number of hosts."""

    def __init__(self, programs: Callable[[PodSpec], FakeProgram] = _no_program) -> None:
        self.programs = programs
        self.containers: dict[tuple[str, int], _Container] = {}
        self.starts = 0
        self._ids = count(1)

    def run(self, spec: PodSpec) -> _Container:
        """A new container. One more for the same lease is the error it would be for a real engine."""
        key = (spec.host, spec.lease)
        if key in self.containers:
            raise DriverError(f"lease {spec.lease} has a container already")
        program = self.programs(spec)
        if program.fails_to_start is not None:
            raise program.fails_to_start
        self.starts += 1
        container = _Container(spec, program, f"fake-{next(self._ids)}", asyncio.Event())
        self.containers[key] = container
        if program.out_of_memory:
            self.end(container, EndKind.SELF, 137, oom_killed=True)
        elif not program.runs:
            self.end(container, EndKind.SELF, program.exit_code)
        return container

    def end(self, container: _Container, kind: EndKind, exit_code: int, *, oom_killed: bool = False) -> None:
        """The container is over."""
        if container.ending is None:
            container.ending = Ending(kind, exit_code, oom_killed, Usage(wall_ms=1000, cpu_ms=10, memory_peak_mib=1))
            container.ended.set()

    def finish(self, host: str, lease: int, exit_code: int = 0) -> None:
        """The program ends by itself."""
        self.end(self.containers[(host, lease)], EndKind.SELF, exit_code)

    def kill(self, host: str, lease: int) -> None:
        """Somebody on the host kills the container."""
        self.end(self.containers[(host, lease)], EndKind.KILLED, 137)

    def remove(self, host: str, lease: int) -> None:
        """Somebody on the host, or the driver, removes the container."""
        container = self.containers.pop((host, lease), None)
        if container is not None:
            container.removed = True
            container.ended.set()


class FakeDriver:
    """A host's view of a :class:`FakeEngine`."""

    name = "fake"

    def __init__(self, engine: FakeEngine, host: str) -> None:
        self._engine = engine
        self._host = host

    async def fingerprint(self) -> Fingerprint:
        """See :class:`node_agent.ports.Driver`."""
        return Fingerprint(self.name, "1", cgroup_version=2, cdi=False)

    async def start(self, spec: PodSpec) -> Handle:
        """See :class:`node_agent.ports.Driver`."""
        await asyncio.sleep(0)
        found = self._engine.containers.get((self._host, spec.lease))
        if found is not None:
            if _same_pod(found.spec, spec) and found.spec.start >= spec.start:
                return _handle(found)
            self._engine.remove(self._host, spec.lease)
        return _handle(self._engine.run(spec))

    async def wait(self, handle: Handle) -> Ending:
        """See :class:`node_agent.ports.Driver`."""
        container = self._find(handle)
        await container.ended.wait()
        inspection = await self.inspect(handle)
        if inspection.ending is None:
            raise PodGone(f"{handle.reference} is gone")
        return inspection.ending

    async def stop(self, lease: int, grace_s: float) -> None:
        """See :class:`node_agent.ports.Driver`. A fake program ends at once, so the grace time is never used."""
        del grace_s
        await asyncio.sleep(0)
        container = self._engine.containers.get((self._host, lease))
        if container is not None:
            self._engine.end(container, EndKind.KILLED, 137)

    async def destroy(self, lease: int) -> None:
        """See :class:`node_agent.ports.Driver`."""
        await asyncio.sleep(0)
        self._engine.remove(self._host, lease)

    async def inspect(self, handle: Handle) -> Inspection:
        """See :class:`node_agent.ports.Driver`."""
        container = self._find(handle)
        return Inspection(container.ending is None, container.ending)

    async def stats(self, handle: Handle) -> Usage:
        """See :class:`node_agent.ports.Driver`."""
        self._find(handle)
        return Usage(wall_ms=0, cpu_ms=10, memory_peak_mib=1)

    async def logs(self, lease: int, *, follow: bool) -> AsyncGenerator[bytes, None]:
        """See :class:`node_agent.ports.Driver`."""
        container = self._engine.containers.get((self._host, lease))
        if container is None:
            raise PodGone(f"there is no container for lease {lease}")
        for line in (container.program.output + container.program.errors).splitlines(keepends=True):
            yield b"1970-01-01T00:00:00.000000000Z " + line
        if follow:
            await container.ended.wait()

    async def collect(self, handle: Handle, result: ResultSpec) -> Collected:
        """See :class:`node_agent.ports.Driver`."""
        container = self._find(handle)
        if result.path is None:
            return Collected(container.program.output)
        data = container.program.files.get(result.path)
        return Collected(b"", f"the program left no file {result.path}") if data is None else Collected(data)

    async def recover(self) -> tuple[Found, ...]:
        """See :class:`node_agent.ports.Driver`."""
        return tuple(
            Found(_handle(container), container.ending is None)
            for (host, _), container in self._engine.containers.items()
            if host == self._host
        )

    async def close(self) -> None:
        """See :class:`node_agent.ports.Driver`."""

    def _find(self, handle: Handle) -> _Container:
        container = self._engine.containers.get((self._host, handle.lease))
        if container is None or container.reference != handle.reference:
            raise PodGone(f"{handle.reference} is gone")
        return container


def _same_pod(old: PodSpec, new: PodSpec) -> bool:
    return replace(old, start=0) == replace(new, start=0)


def _handle(container: _Container) -> Handle:
    return Handle("fake", HANDLE_VERSION, container.spec.lease, container.spec.start, container.reference)
