"""The driver for Docker engines."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from node_agent.core.values import FoundContainer, Handle, PodSpec, Usage
from node_agent.drivers.docker.container_files import ContainerFolders, read_file, read_output
from node_agent.drivers.docker.container_start import HANDLE_VERSION, NAME, ContainerStarter
from node_agent.drivers.docker.container_watch import ContainerWatcher
from node_agent.drivers.docker.data_volumes import DockerVolumes
from node_agent.drivers.docker.disk_usage import layers_bytes
from node_agent.drivers.docker.disks import DockerDisks
from node_agent.drivers.docker.engine import Engine
from node_agent.drivers.docker.engine_features import RUNTIME_OPTION, Isolation, checked_runtime
from node_agent.drivers.docker.logs import ContainerLogs
from node_agent.drivers.docker.mount_checks import MountChecker
from node_agent.drivers.docker.orphan_processes import DeadContainerDetector
from node_agent.drivers.docker.pod_network import PodNetworks
from node_agent.drivers.docker.snapshots import DockerSnapshots
from node_agent.drivers.docker.spec import (
    LABEL_HOST,
    LABEL_INDEX,
    LABEL_LEASE,
    LABEL_SERVICE,
    LABEL_START,
    MIB,
    is_pod_sandbox,
    pod_name,
)
from node_agent.drivers.docker.start_gate import StartGates
from node_agent.drivers.port import (
    CollectedResult,
    DriverError,
    Fingerprint,
    Inspection,
    PodFiles,
    PodGone,
    PullProgress,
    Seed,
    SnapshotRefused,
    Volume,
)
from node_agent.images.logins import ImageAccess
from node_agent.images.policy import delay_cause
from node_agent.images.ports import Images
from offchain.schema.manifest.types import ResultSpec
from offchain.schema.protocol.snapshots import RentalSnapshot

log = logging.getLogger(__name__)

MAIN = "0"
"""Label of a pod's main container; containers of older agents have none, and are alone."""
_QUOTA_DRIVERS = frozenset({"btrfs", "zfs"})


class DockerDriver:
    """Pods as containers of one Docker engine. Create one with :meth:`connect`."""

    name = NAME

    def __init__(
        self,
        url: str | None,
        host: str,
        images: Images,
        *,
        network: bool = True,
        files: PodFiles | None = None,
        runtime: str | None = None,
        gates: Path | None = None,
    ) -> None:
        self._host = host
        self._runtime = runtime
        self.sandboxed = False
        """Whether pods run in a sandbox; known after the connection."""
        self._files = files
        self._engine = Engine(url)
        self._gates = StartGates(gates)
        self._images = images
        self._disks = DockerDisks(self._engine, host)
        self._data = DockerVolumes(self._engine, host, self._disks)
        self._networks = PodNetworks(self._engine, host, self._data, network=network)
        self._logs = ContainerLogs(self._engine)
        self._watcher = ContainerWatcher(self._engine, f"{LABEL_HOST}={host}")
        self._dead_containers = DeadContainerDetector()
        self._snapshots = DockerSnapshots(self._engine, host, self._data)
        self._folders = ContainerFolders(self._engine)
        self._checks = MountChecker(self._engine, self._data, self._gates)
        self._starts = ContainerStarter(
            self._engine, images, self._networks, self._data, self._snapshots, self._folders, files, self._checks
        )

    @property
    def disk_trouble(self) -> str:
        """Why leases have no file systems of their own here; empty if they have."""
        return self._disks.trouble

    @classmethod
    async def connect(
        cls,
        url: str | None,
        host: str,
        images: Images,
        *,
        network: bool = True,
        files: PodFiles | None = None,
        runtime: str | None = None,
        gates: Path | None = None,
    ) -> DockerDriver:
        """Connect to the engine at `url` (None: at DOCKER_HOST or the default socket).

        `host`: the host key's address; `network` False: pods have no network. If pods cannot be isolated from this
        machine, they have none either, and the log says so. `files`: delivered files. `runtime`: the engine's runtime
        for tenants' containers; None: runc. `gates`: folder for the gates that hold containers until their mounts were
        checked; None: mounts are checked just after the start. Raises :class:`DriverError` if the runtime cannot be
        used.
        """
        driver = cls(url, host, images, network=network, files=files, runtime=runtime, gates=gates)
        try:
            await driver.fingerprint()
        except DriverError:
            await driver.close()
            raise
        return driver

    async def fingerprint(self) -> Fingerprint:
        info = await self._engine.info()
        features = self._starts.features
        features.cdi = bool(info.get("CDISpecDirs"))
        runtimes = info.get("Runtimes") or {}
        features.runc = "runc" in runtimes
        if self._runtime is not None:
            try:
                features.runtime = await self._engine.call(
                    functools.partial(checked_runtime, self._engine.api, info, self._runtime)
                )
            except ValueError as error:
                raise DriverError(f"{error}. Change {RUNTIME_OPTION}, or the runtimes of the engine.") from None
        self._networks.architecture = str(info.get("Architecture"))
        self._watcher.root = str(info.get("DockerRootDir") or "")
        status = dict(info.get("DriverStatus") or ())
        await self._gates.connect(self._engine.url, self._networks.architecture)
        if self._gates.trouble:
            log.warning("programs of pods start before their mounts were checked: %s", self._gates.trouble)
        await self._disks.connect(info)
        if self._disks.trouble:
            log.warning("disk limits of pods are checked now and then, not enforced: %s", self._disks.trouble)
        # On other file systems the engine supports no size limit; there, upkeep measures the disk usage.
        quota = info.get("Driver") in _QUOTA_DRIVERS or status.get("Backing Filesystem") == "xfs"
        features.quota = quota and not self._disks.holds_layers
        if self._networks.network:
            try:
                await self._networks.guard()
            except DriverError as error:
                self._networks.network = False
                log.warning("pods get no network, since they could not be kept away from this machine: %s", error)
        cgroup = int(info.get("CgroupVersion") or 1)
        isolation = features.runtime.isolation if features.runtime else Isolation.KERNEL
        self.sandboxed = features.runtime is not None and features.runtime.sandboxed
        return Fingerprint(
            self.name,
            str(info.get("ServerVersion")),
            cgroup,
            features.cdi,
            self._networks.network,
            isolation.value,
            self.sandboxed,
        )

    def prefetch(self, spec: PodSpec) -> None:
        images = (one.service.image for one in spec.containers)
        login = spec.registry_login
        # Images that need a login are pulled when the pod is prepared, after the login was delivered.
        open_to_all = (image for image in images if login is None or image.registry != login.registry)
        self._images.prefetch(open_to_all, ImageAccess(spec.account))

    async def prepare(self, spec: PodSpec) -> None:
        images = {one.service.image for one in spec.containers if spec.base is None or one is not spec.main}
        access = await self._starts.access(spec)
        await asyncio.gather(*(self._images.ensure(image, access) for image in images), self._disk(spec))
        for one in spec.containers:
            await self._starts.image(spec, one.service.name)
        await self._data.ensure(spec)
        await self._networks.ensure(spec)
        # Only after the pod's bridge exists: before, another agent that leaves may remove the rules.
        await self._networks.guard()
        await self._starts.own_files(spec)

    def explain_delay(self, spec: PodSpec) -> DriverError:
        return delay_cause(self.progress(spec))

    def progress(self, spec: PodSpec) -> tuple[PullProgress, ...]:
        images = dict.fromkeys(one.service.image for one in spec.containers)
        return tuple(pull for image in images if (pull := self._images.progress(image, spec.account)) is not None)

    async def _disk(self, spec: PodSpec) -> None:
        """Mount the lease's own file system, if leases have any; its snapshots count against it."""
        kept_mib = 0
        if await self._data.number(spec) in self._disks.numbers():
            kept_mib = (await self._snapshots.used_mib()).get(spec.lease, 0)
        await self._data.disk(spec, kept_mib)

    async def start(
        self, spec: PodSpec, service: str, start: int, follows: str = "", seed: Seed | None = None
    ) -> Handle:
        for found in await self._containers(spec.lease):
            if not _is_of(found, spec, service):
                continue
            continues = await self._starts.continues(found, follows)
            if continues:
                self._watcher.forget(found["Id"])
            handle = await self._starts.adopt(spec, service, found, start, seed, continues=continues)
            if handle is not None:
                return handle
            await self._remove(found["Id"])
        return await self._starts.make(spec, service, start, seed)

    def watch(self, handle: Handle) -> AsyncGenerator[Inspection, None]:
        return self._watcher.watch(handle)

    async def inspect(self, handle: Handle) -> Inspection:
        return await self._watcher.inspect(handle)

    async def stats(self, handle: Handle) -> Usage:
        return await self._watcher.stats(handle)

    async def logs(
        self, lease: int, *, follow: bool, service: str | None = None, tail: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        found = await self._containers(lease)
        several = service is None and len(found) > 1
        chosen = [(_service(one), str(one["Id"])) for one in found if service in (None, _service(one))]
        if not chosen:
            raise PodGone(f"there is no container for lease {lease}")
        reading = self._logs.read(lease, chosen, follow=follow, several=several, tail=tail)
        async with contextlib.aclosing(reading) as pieces:
            async for piece in pieces:
                yield piece

    async def upkeep(self) -> Mapping[int, int]:
        await self._networks.guard()
        await self._networks.sweep()
        await self._disks.restore()
        wanted = {"label": [f"{LABEL_HOST}={self._host}"], "status": ["running"]}
        running = await self._engine.call(functools.partial(self._engine.api.containers, filters=wanted))
        await asyncio.to_thread(self._dead_containers.end_shims, [str(one["Id"]) for one in running])
        return await self._used(layers=not (self._starts.features.quota or self._disks.holds_layers))

    async def _used(self, *, layers: bool) -> Mapping[int, int]:
        """Return the disk usage of each lease in MiB; with `layers` including its containers' own layers."""
        used = dict(await self._data.used_mib())
        for lease, mib in (await self._snapshots.used_mib()).items():
            used[lease] = used.get(lease, 0) + mib
        if layers:
            for lease, size in (await self._engine.call(lambda: layers_bytes(self._engine.api, self._host))).items():
                used[lease] = used.get(lease, 0) + -(-size // MIB)
        return used

    async def tidy(self) -> None:
        await self._images.tidy()

    def save_path(self, handle: Handle, path: str) -> AsyncGenerator[bytes, None]:
        return self._folders.save(handle.reference, path)

    async def stop(self, lease: int) -> None:
        running = [one for one in await self._containers(lease) if one.get("State") != "created"]
        await asyncio.gather(*(self._unless_gone(self._engine.api.stop, str(one["Id"])) for one in running))

    async def set_notice(self, lease: int, notice: bytes | None) -> None:
        if self._files is not None:
            await asyncio.to_thread(self._files.set_notice, lease, notice)

    async def signal(self, lease: int, name: str) -> None:
        running = [str(one["Id"]) for one in await self._containers(lease) if one.get("State") == "running"]
        await asyncio.gather(*(self._unless_gone(self._engine.api.kill, identity, name) for identity in running))

    async def stop_container(self, handle: Handle) -> None:
        await self._unless_gone(self._engine.api.stop, handle.reference)

    async def destroy(self, lease: int, *, keep_data: bool) -> None:
        for found in await self._containers(lease, everything=True):
            await self._remove(str(found["Id"]))
        await asyncio.to_thread(self._gates.forget, pod_name(self._host, lease))
        await self._networks.remove_networks(lease)
        if keep_data:
            await self._data.tidy(lease)
        else:
            await self.purge(lease)

    async def collect(self, handle: Handle, result: ResultSpec) -> CollectedResult:
        await self._disks.restore()
        path, api = result.path, self._engine.api
        collected = await self._engine.call(
            lambda: read_output(api, handle.reference) if path is None else read_file(api, handle.reference, path)
        )
        full_mib = await self._data.full_mib(handle.lease)
        if full_mib is None:
            return collected
        # A program without disk space may end in any way, without an error message.
        return replace(collected, note="; ".join(filter(None, (f"its disk of {full_mib} MiB is full", collected.note))))

    async def volumes(self, lease: int) -> tuple[Volume, ...]:
        return await self._data.list(lease)

    async def purge(self, lease: int) -> None:
        await self._snapshots.purge(lease)
        await self._data.purge(lease)

    async def snapshot(self, lease: int, name: str, most_mib: int) -> RentalSnapshot:
        await self._disks.restore()
        room_mib = most_mib - (await self._used(layers=not self._disks.holds_layers)).get(lease, 0)
        for found in await self._containers(lease):
            if found["Labels"].get(LABEL_INDEX, MAIN) == MAIN:
                taken = await self._snapshots.take(lease, str(found["Id"]), name, room_mib * MIB)
                if not await self._data.set_kept(lease, (await self._snapshots.used_mib()).get(lease, 0)):
                    await self.remove_snapshot(lease, name)
                    raise SnapshotRefused(
                        "files that were written meanwhile leave no room for the snapshot on the lease's disk; "
                        "delete files in the machine, and try again"
                    )
                return taken
        raise PodGone(f"there is no container for lease {lease}")

    async def snapshots(self, lease: int) -> tuple[RentalSnapshot, ...]:
        return await self._snapshots.list(lease)

    async def remove_snapshot(self, lease: int, name: str) -> None:
        await self._snapshots.remove(lease, name)
        await self._data.set_kept(lease, (await self._snapshots.used_mib()).get(lease, 0))

    def archive(self, lease: int, name: str) -> AsyncGenerator[bytes, None]:
        return self._snapshots.archive(lease, name)

    async def recover(self, lease: int | None = None) -> tuple[FoundContainer, ...]:
        found = []
        for one in await self._containers(lease):
            if LABEL_LEASE in one["Labels"]:
                runs = one.get("State") == "running"
                with contextlib.suppress(PodGone):
                    if runs and not await self._checks.is_let_through(one):
                        continue
                    mark = await self._starts.mark(str(one["Id"])) if one.get("State") == "exited" else ""
                    found.append(FoundContainer(_handle(one), runs, mark))
        return tuple(found)

    async def leases(self) -> frozenset[int]:
        containers = await self._containers(None, everything=True)
        own = frozenset(int(one["Labels"][LABEL_LEASE]) for one in containers if LABEL_LEASE in one["Labels"])
        return own | await self._networks.leases() | await self._data.leases() | await self._snapshots.leases()

    async def close(self) -> None:
        await self._watcher.close()
        self._logs.close()
        self._snapshots.close()
        self._folders.close()
        self._engine.close()

    async def _containers(self, lease: int | None, *, everything: bool = False) -> list[dict[str, Any]]:
        """Return the pods' containers in the order of their services; with `everything` also pod sandboxes."""
        wanted = [f"{LABEL_HOST}={self._host}"]
        if lease is not None:
            wanted.append(f"{LABEL_LEASE}={lease}")
        found: list[dict[str, Any]] = await self._engine.call(
            lambda: self._engine.api.containers(all=True, filters={"label": wanted})
        )
        sandboxes = [one for one in found if is_pod_sandbox(one["Labels"])]
        own = [one for one in found if not is_pod_sandbox(one["Labels"])]
        own.sort(key=lambda one: int(one["Labels"].get(LABEL_INDEX, MAIN)))
        return own + sandboxes if everything else own

    async def _unless_gone(self, act: Callable[..., Any], *arguments: str) -> None:
        with contextlib.suppress(PodGone):
            await self._engine.call(functools.partial(act, *arguments))

    async def _remove(self, identity: str) -> None:
        self._watcher.forget(identity)
        await self._data.remove_container(identity)


def _service(found: dict[str, Any]) -> str:
    """Return the service of a container; those of older agents were all called main."""
    return str(found["Labels"].get(LABEL_SERVICE, "main"))


def _is_of(found: dict[str, Any], spec: PodSpec, service: str) -> bool:
    labels = found["Labels"]
    if LABEL_SERVICE not in labels:
        return service == spec.main.service.name
    return bool(labels[LABEL_SERVICE] == service)


def _handle(found: dict[str, Any]) -> Handle:
    labels = found["Labels"]
    start = int(labels.get(LABEL_START, 1))
    return Handle(NAME, HANDLE_VERSION, int(labels[LABEL_LEASE]), _service(found), start, str(found["Id"]))
