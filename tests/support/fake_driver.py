"""A driver without containers, for tests."""

from __future__ import annotations

import asyncio
import hashlib
import io
import posixpath
import tarfile
from collections.abc import AsyncGenerator, Mapping

from node_agent.core.values import EndKind, FoundContainer, Handle, PodSpec, Usage
from node_agent.drivers.port import (
    CollectedResult,
    DriverError,
    Fingerprint,
    FolderMissing,
    ImageUnavailable,
    Inspection,
    PodGone,
    PullProgress,
    ResourcesUnavailable,
    Seed,
    SnapshotRefused,
    Volume,
)
from node_agent.images.policy import delay_cause
from node_agent.logs.lines import merge_logs, with_service
from offchain.schema.manifest.types import ResultSpec
from offchain.schema.protocol.snapshots import MAX_SNAPSHOTS, RentalSnapshot
from tests.support.fake_engine import FakeContainer, FakeEngine, FakeVolume

HANDLE_VERSION = 2
_STAMP = b"1970-01-01T00:00:00.000000000Z "


class FakeDriver:
    name = "fake"

    def __init__(self, engine: FakeEngine, host: str) -> None:
        self._engine = engine
        self._host = host

    async def fingerprint(self) -> Fingerprint:
        return Fingerprint(self.name, "1", cgroup_version=2, cdi=False)

    def prefetch(self, spec: PodSpec) -> None:
        """Do nothing."""

    def explain_delay(self, spec: PodSpec) -> DriverError:
        return delay_cause(self.progress(spec))

    def progress(self, spec: PodSpec) -> tuple[PullProgress, ...]:
        wanted = {one.service.image.reference for one in spec.containers}
        return tuple(pull for pull in self._engine.pulls if pull.reference in wanted)

    async def prepare(self, spec: PodSpec) -> None:
        await asyncio.sleep(0)
        if self.progress(spec):
            await self._engine.pulled.wait()
        engine, key = self._engine, (self._host, spec.lease)
        if spec.data_from is not None and key not in engine.data and key not in engine.snapshots:
            source = (self._host, spec.data_from)
            if source not in engine.data and source not in engine.snapshots:
                raise ResourcesUnavailable(f"the data of lease {spec.data_from} is not on this host any more")
            engine.data[key] = engine.data.pop(source, {})
            engine.snapshots[key] = engine.snapshots.pop(source, {})
        if spec.base is not None and spec.base not in engine.snapshots.get(key, {}):
            raise ImageUnavailable(f"there is no snapshot {spec.base!r} among the data of lease {spec.lease}")
        engine.networks.add(key)
        for name in spec.volumes:
            engine.data.setdefault(key, {}).setdefault(name, FakeVolume(engine.new_id("volume")))

    async def start(
        self, spec: PodSpec, service: str, start: int, follows: str = "", seed: Seed | None = None
    ) -> Handle:
        await asyncio.sleep(0)
        found = self._engine.containers.get((self._host, spec.lease, service))
        if found is not None:
            if found.spec == spec and self._is_adopted(found, start, follows):
                return _handle(found, max(start, found.start))
            self._engine.remove(self._host, spec.lease, service)
        files = {} if seed is None else unpacked(seed)
        return _handle(self._engine.run(spec, service, start, files), start)

    def _is_adopted(self, found: FakeContainer, start: int, follows: str) -> bool:
        if not follows:
            return found.start >= start
        if found.ending is not None and found.ending.mark == follows:
            self._engine.start_run(found)
            found.start = start
        return True

    async def save_path(self, handle: Handle, path: str) -> AsyncGenerator[bytes, None]:
        yield packed(self._find(handle).files, path)

    async def watch(self, handle: Handle) -> AsyncGenerator[Inspection, None]:
        container = self._find(handle)
        last: Inspection | None = None
        while True:
            changed = container.changed
            now = await self.inspect(handle)
            if now != last:
                last = now
                yield now
            if now.ending is not None:
                return
            await changed.wait()

    async def stop(self, lease: int) -> None:
        """Stop the pod. A fake program ends at once, so the grace time is never used."""
        await asyncio.sleep(0)
        for container in self._engine.of(self._host, lease):
            self._engine.end(container, EndKind.KILLED, 137)

    async def set_notice(self, lease: int, notice: bytes | None) -> None:
        await asyncio.sleep(0)
        self._engine.notices.pop((self._host, lease), None)
        if notice is not None:
            self._engine.notices[self._host, lease] = notice
            for container in self._engine.of(self._host, lease):
                self._engine.look_for_notice(container)

    async def signal(self, lease: int, name: str) -> None:
        await asyncio.sleep(0)
        for container in self._engine.of(self._host, lease):
            if container.ending is None:
                container.signals += (name,)
                if container.program.exits_on_signal is not None:
                    self._engine.end(container, EndKind.SELF, container.program.exits_on_signal)

    async def stop_container(self, handle: Handle) -> None:
        await asyncio.sleep(0)
        for container in self._engine.of(self._host, handle.lease):
            if container.reference == handle.reference:
                self._engine.end(container, EndKind.KILLED, 137)

    async def destroy(self, lease: int, *, keep_data: bool) -> None:
        await asyncio.sleep(0)
        self._engine.remove(self._host, lease)
        self._engine.networks.discard((self._host, lease))
        self._engine.notices.pop((self._host, lease), None)
        if not keep_data:
            await self.purge(lease)

    async def inspect(self, handle: Handle) -> Inspection:
        container = self._find(handle)
        healthy = container.healthy if container.ending is None else None
        return Inspection(container.ending is None, container.ending, healthy)

    async def stats(self, handle: Handle) -> Usage:
        self._find(handle)
        return Usage(wall_ms=0, cpu_ms=10, memory_peak_mib=1)

    async def logs(
        self, lease: int, *, follow: bool, service: str | None = None, tail: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        containers = self._engine.of(self._host, lease)
        chosen = [one for one in containers if service in (None, one.service)]
        if not chosen:
            raise PodGone(f"there is no container for lease {lease}")
        several = service is None and len(chosen[0].spec.containers) > 1
        for line in merge_logs([_lines(one, several=several, tail=tail) for one in chosen]):
            yield line
        if follow:
            for one in chosen:
                while one.ending is None and not one.removed:
                    await one.changed.wait()

    async def collect(self, handle: Handle, result: ResultSpec) -> CollectedResult:
        container = self._find(handle)
        if result.path is None:
            return CollectedResult(container.program.output)
        data = container.program.files.get(result.path)
        return (
            CollectedResult(b"", f"the program left no file {result.path}") if data is None else CollectedResult(data)
        )

    async def volumes(self, lease: int) -> tuple[Volume, ...]:
        held = self._engine.data.get((self._host, lease), {})
        return tuple(Volume(name, one.created, sum(map(len, one.files.values()))) for name, one in sorted(held.items()))

    async def purge(self, lease: int) -> None:
        await asyncio.sleep(0)
        self._engine.data.pop((self._host, lease), None)
        self._engine.snapshots.pop((self._host, lease), None)

    async def snapshot(self, lease: int, name: str, most_mib: int) -> RentalSnapshot:
        try:
            size_mib = self._engine.main(self._host, lease).program.disk_mib
        except KeyError:
            raise PodGone(f"there is no container for lease {lease}") from None
        stored = self._engine.snapshots.setdefault((self._host, lease), {})
        if name in stored:
            raise SnapshotRefused(f"there is a snapshot {name!r} already")
        if len(stored) >= MAX_SNAPSHOTS:
            raise SnapshotRefused(f"there are {len(stored)} snapshots, and no more are kept")
        if (await self.upkeep()).get(lease, 0) + size_mib > most_mib:
            raise SnapshotRefused(f"the snapshot takes {size_mib} MiB, and not as much is left of the lease's disk")
        identity = self._engine.new_id("snapshot")
        digest = "sha256:" + hashlib.sha256(identity.encode()).hexdigest()
        stored[name] = RentalSnapshot(name, int(identity.rpartition("-")[2]), size_mib << 20, digest)
        return stored[name]

    async def snapshots(self, lease: int) -> tuple[RentalSnapshot, ...]:
        return tuple(self._engine.snapshots.get((self._host, lease), {}).values())

    async def remove_snapshot(self, lease: int, name: str) -> None:
        stored = self._engine.snapshots.get((self._host, lease), {})
        used = any(one.spec.base == name for one in self._engine.of(self._host, lease))
        if name in stored and used:
            raise SnapshotRefused(f"the machine is made of {name!r}")
        stored.pop(name, None)

    async def archive(self, lease: int, name: str) -> AsyncGenerator[bytes, None]:
        stored = self._engine.snapshots.get((self._host, lease), {})
        if name not in stored:
            raise SnapshotRefused(f"there is no snapshot {name!r}")
        yield stored[name].digest.encode()

    async def recover(self, lease: int | None = None) -> tuple[FoundContainer, ...]:
        return tuple(
            FoundContainer(_handle(one, one.start), one.ending is None, "" if one.ending is None else one.ending.mark)
            for (host, number, _), one in self._engine.containers.items()
            if host == self._host and lease in (None, number)
        )

    async def leases(self) -> frozenset[int]:
        engine = self._engine
        keys = [key[:2] for key in engine.containers] + list(engine.networks)
        keys += [key for stored in (engine.data, engine.snapshots) for key, found in stored.items() if found]
        return frozenset(lease for host, lease in keys if host == self._host)

    async def upkeep(self) -> Mapping[int, int]:
        used: dict[int, int] = {}
        for (host, lease, _), one in self._engine.containers.items():
            if host == self._host:
                used[lease] = used.get(lease, 0) + one.program.disk_mib
        for (host, lease), stored in self._engine.snapshots.items():
            if host == self._host:
                used[lease] = used.get(lease, 0) + sum(one.size_bytes >> 20 for one in stored.values())
        return used

    async def tidy(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""

    def _find(self, handle: Handle) -> FakeContainer:
        container = self._engine.containers.get((self._host, handle.lease, handle.service))
        if container is None or container.reference != handle.reference:
            raise PodGone(f"{handle.reference} is gone")
        return container


def _lines(container: FakeContainer, *, several: bool, tail: int | None) -> list[bytes]:
    text = container.program.output + container.program.errors
    lines = [_STAMP + line for line in text.splitlines(keepends=True)]
    lines = lines if tail is None else lines[max(0, len(lines) - tail) :]
    return [with_service(line, container.service) for line in lines] if several else lines


def _handle(container: FakeContainer, start: int) -> Handle:
    return Handle("fake", HANDLE_VERSION, container.spec.lease, container.service, start, container.reference)


def packed(files: Mapping[str, bytes], path: str) -> bytes:
    """Return the files below a path as an engine does: names begin with the last part of the path."""
    below = {name: data for name, data in sorted(files.items()) if name.startswith(f"{path}/")}
    if not below:
        raise FolderMissing(f"there is no {path} in the container")
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        root = tarfile.TarInfo(posixpath.basename(path))
        root.type, root.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(root)
        for name, data in below.items():
            member = tarfile.TarInfo(posixpath.relpath(name, posixpath.dirname(path)))
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return made.getvalue()


def unpacked(seed: Seed) -> dict[str, bytes]:
    """Return the files of an archive by their paths in the container."""
    found = {}
    with tarfile.open(seed.archive) as tar:
        for member in tar:
            content = tar.extractfile(member)
            if content is not None:
                found[posixpath.join(posixpath.dirname(seed.path), member.name)] = content.read()
    return found
