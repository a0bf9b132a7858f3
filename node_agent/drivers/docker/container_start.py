"""Creation, start and adoption of containers."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from pathlib import Path
from typing import Any

from node_agent.core.values import SSH_KEYS, Handle, PodSpec
from node_agent.drivers.docker.container_files import ContainerFolders, check_links
from node_agent.drivers.docker.container_paths import command_refusal, image_refusal
from node_agent.drivers.docker.data_volumes import DockerVolumes
from node_agent.drivers.docker.engine import Engine
from node_agent.drivers.docker.engine_features import EngineFeatures
from node_agent.drivers.docker.mount_checks import MountChecker, hidden_path_options
from node_agent.drivers.docker.orphan_processes import end_orphan_processes
from node_agent.drivers.docker.pod_network import PodNetworks
from node_agent.drivers.docker.snapshots import DockerSnapshots
from node_agent.drivers.docker.spec import (
    LABEL_ATTEMPT,
    LABEL_START,
    LABEL_TASK,
    DeviceFiles,
    PodContext,
    amd_gpus,
    container_arguments,
    is_image_fault,
    is_quota_fault,
    is_resource_fault,
    user_id,
)
from node_agent.drivers.port import (
    DriverError,
    EngineBusy,
    EngineUnreachable,
    FolderRefused,
    ImageCannotRun,
    ImageInvalid,
    ImageUnavailable,
    PodFiles,
    ResourcesUnavailable,
    Seed,
)
from node_agent.images.logins import MAX_LOGIN_BYTES, ImageAccess, parse_login
from node_agent.images.ports import Images
from node_agent.telemetry.amd import device_files

NAME = "docker"
HANDLE_VERSION = 2


class ContainerStarter:
    def __init__(
        self,
        engine: Engine,
        images: Images,
        networks: PodNetworks,
        data: DockerVolumes,
        snapshots: DockerSnapshots,
        folders: ContainerFolders,
        files: PodFiles | None,
        checks: MountChecker,
    ) -> None:
        self._engine = engine
        self._images = images
        self._networks = networks
        self._data = data
        self._snapshots = snapshots
        self._folders = folders
        self._files = files
        self._checks = checks
        self.features = EngineFeatures()

    async def make(self, spec: PodSpec, service: str, start: int, seed: Seed | None) -> Handle:
        """Create and start a new container for a service."""
        identity = await self._create(spec, service, start)
        return await self._run(spec, service, start, identity, seed)

    async def image(self, spec: PodSpec, service: str) -> tuple[str, dict[str, Any]]:
        """Return the engine's image for a service's container, and the image's configuration.

        Raises :class:`ImageInvalid` if a volume or a program of the image is in a protected folder, and
        :class:`ImageCannotRun` if the program that the manifest names is.
        """
        if spec.base is not None and service == spec.main.service.name:
            image = await self._snapshots.image(spec.lease, spec.base)
        else:
            image = await self._images.ensure(spec.container(service).service.image, await self.access(spec))
        config, says = await self._config(image), spec.container(service).service
        trouble = image_refusal(config)
        if trouble is not None:
            raise ImageInvalid(f"the image of the service {service} is refused: {trouble}")
        trouble = command_refusal(says.entrypoint, says.command, says.working_dir, config)
        if trouble is not None:
            raise ImageCannotRun(f"the service {service} is refused: {trouble}")
        return image, config

    async def access(self, spec: PodSpec) -> ImageAccess:
        """Return the account and the login for pulls of the pod's images.

        The secret may be missing after a restart of the machine: images that were pulled before need the account only.
        Raises :class:`ImageUnavailable` if the secret is not a login.
        """
        login = spec.registry_login
        if login is None or self._files is None:
            return ImageAccess(spec.account)
        path = self._files.path(spec.lease, login.secret)
        try:
            data = await asyncio.to_thread(_read, path, MAX_LOGIN_BYTES + 1)
        except FileNotFoundError:
            return ImageAccess(spec.account)
        try:
            return ImageAccess(spec.account, parse_login(data, login.registry))
        except ValueError as error:
            raise ImageUnavailable(f'the secret "{login.secret}" cannot be used at {login.registry}: {error}') from None

    async def _create(self, spec: PodSpec, service: str, start: int) -> str:
        image, config = await self.image(spec, service)
        runtime = self.features.runtime
        if runtime is not None and not runtime.gpus and spec.container(service).gpu_uuids:
            raise ResourcesUnavailable(f"containers under the runtime {runtime.name!r} of this host can have no GPU")
        while True:
            context = PodContext(
                network=await self._networks.ensure(spec),
                files=self._paths(spec),
                notices=self._files.notice_folder(spec.lease)
                if self._files is not None and spec.receives_notices
                else None,
                volumes=await self._data.ensure(spec),
                cdi=self.features.cdi,
                runc=self.features.runc,
                runtime=runtime,
                amd=await _amd(spec, service),
                quota=self.features.quota,
            )
            arguments = container_arguments(spec, service, start, image=image, context=context)
            # The engine stores this for every `docker stop`.
            arguments["stop_timeout"] = -(-spec.container(service).service.stop_grace_ms // 1000)
            await self._checks.put_gate(arguments, config)
            api = self._engine.api
            host_config = api.create_host_config(**arguments.pop("host_config"))
            host_config |= hidden_path_options()
            try:
                created = await self._engine.call(
                    functools.partial(api.create_container, **arguments, host_config=host_config)
                )
            except DriverError as error:
                if not self.features.quota or not is_quota_fault(str(error)):
                    raise _start_fault(error) from None
                self.features.quota = False
            else:
                return str(created["Id"])

    async def adopt(
        self,
        spec: PodSpec,
        service: str,
        found: dict[str, Any],
        start: int,
        seed: Seed | None,
        *,
        continues: bool | None,
    ) -> Handle | None:
        """Return a handle of an existing container that belongs to this start or may continue for it; None: remove it.

        `continues`: the result of :meth:`continues`.
        """
        labels = found["Labels"]
        if labels.get(LABEL_TASK) != str(spec.task) or labels.get(LABEL_ATTEMPT) != str(spec.attempt):
            return None
        identity, state = str(found["Id"]), found.get("State")
        made_for = int(labels.get(LABEL_START, 0))
        if continues is None and made_for < start:
            return None
        if state == "created" or continues:
            if await asyncio.to_thread(end_orphan_processes, identity) and not continues:
                return None  # Its program started unknown to the engine, and may have left partial work.
            await self._networks.ensure(spec)
            await self._networks.rejoin(spec, identity)
            return await self._run(spec, service, max(start, made_for), identity, None if continues else seed)
        if state == "running":
            await self._checks.let_through_or_remove(identity)
        return Handle(NAME, HANDLE_VERSION, spec.lease, service, max(start, made_for), identity)

    async def continues(self, found: dict[str, Any], follows: str) -> bool | None:
        """Return whether a container ended with the run of this mark; None if `follows` is empty."""
        if not follows:
            return None
        return found.get("State") == "exited" and await self.mark(str(found["Id"])) == follows

    async def mark(self, identity: str) -> str:
        """Return the time of the last run's end, which is unique for each run of a container."""
        inspection = await self._engine.call(lambda: self._engine.api.inspect_container(identity))
        return str(inspection["State"].get("FinishedAt", ""))

    async def _run(self, spec: PodSpec, service: str, start: int, identity: str, seed: Seed | None) -> Handle:
        try:
            await self._data.release_spare(spec, identity)
            # Also before a further run: an earlier run may have made links in the container's file system.
            found = await self._engine.call(lambda: check_links(self._engine.api, identity))
            await self._data.confine(spec, identity)
            if seed is not None:
                await self._folders.put(identity, seed)
            await self._checks.close_gate(found)
            await self._engine.call(lambda: self._engine.api.start(identity))
            await self._checks.let_through(identity)
            await self._data.started(spec, identity)
        except FolderRefused:
            with contextlib.suppress(DriverError):
                await self._data.remove_container(identity)
            raise
        except DriverError as error:
            fault = await self._fault(spec, error)
            keeps = isinstance(error, (EngineUnreachable, EngineBusy)) and not is_image_fault(str(error))
            if not keeps or isinstance(fault, (ImageCannotRun, ImageInvalid)):
                with contextlib.suppress(DriverError):
                    await self._data.remove_container(identity)
            raise fault from None
        return Handle(NAME, HANDLE_VERSION, spec.lease, service, start, identity)

    async def _fault(self, spec: PodSpec, error: DriverError) -> DriverError:
        """Return the cause of a failed start. A disk that the tenant has filled is no fault of the host."""
        if isinstance(error, (ImageInvalid, ImageCannotRun)):
            return error
        if is_resource_fault(str(error)) and await self._data.is_full(spec):
            return ImageCannotRun(f"the lease's disk of {spec.disk_gib} GiB is full: {error}")
        return _start_fault(error)

    async def own_files(self, spec: PodSpec) -> None:
        """Make each delivered file readable for the user that its containers run as."""
        if self._files is None:
            return
        readers: dict[str, set[int | None]] = {}
        for one in spec.containers:
            user = one.service.user
            if user is None and one.service.files:
                _, config = await self.image(spec, one.service.name)
                user = str(config.get("User") or "") or None  # None: root
            for file in one.service.files:
                readers.setdefault(file.name, set()).add(user_id(user))
        for name, users in readers.items():
            self._files.allow_reading(spec.lease, name, users.pop() if len(users) == 1 else None)

    async def _config(self, image: str) -> dict[str, Any]:
        found: dict[str, Any] = await self._engine.call(lambda: self._engine.api.inspect_image(image))
        return found.get("Config") or {}

    def _paths(self, spec: PodSpec) -> dict[str, Path]:
        names = set(spec.files) | ({SSH_KEYS} if spec.ssh is not None else set())
        if names and self._files is None:
            raise ResourcesUnavailable("this agent keeps no folder for delivered files")
        return {name: self._files.path(spec.lease, name) for name in names} if self._files is not None else {}


def _read(path: Path, most: int) -> bytes:
    with path.open("rb") as file:
        return file.read(most)


def _start_fault(error: DriverError) -> DriverError:
    message = str(error)
    if is_resource_fault(message):
        return ResourcesUnavailable(message)
    if is_image_fault(message):
        return ImageCannotRun(message)
    return error


async def _amd(spec: PodSpec, service: str) -> DeviceFiles:
    """Return the device files of a container's AMD GPUs."""
    wanted = amd_gpus(spec.container(service).gpu_uuids)
    if not wanted:
        return DeviceFiles()
    try:
        return DeviceFiles(*await asyncio.to_thread(device_files, wanted))
    except (LookupError, OSError) as error:
        raise ResourcesUnavailable(f"an AMD GPU of this lease cannot be used: {error}") from None
