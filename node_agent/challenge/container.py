"""The challenge program as a container without network, of an image that the provider chose by its digest.

The image has Python, numpy and, for real GPUs, cupy; the program itself comes from the agent by standard input, so that
an image serves every release of the agent, and an agent in a container of its own needs no common folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
from collections.abc import Callable, Iterator
from typing import Any, Final

from node_agent.challenge.bundle import bundle
from node_agent.challenge.container_options import (
    CHALLENGE,
    ContainerSite,
    program_arguments,
    program_labels,
    program_name,
)
from node_agent.challenge.program_port import ProofComputationError, ProofProgram
from node_agent.drivers.docker.engine import Engine
from node_agent.drivers.docker.http import DockerHttp, HijackedStream
from node_agent.drivers.docker.mount_checks import hidden_path_options
from node_agent.drivers.docker.spec import MIB, DeviceFiles, amd_gpus
from node_agent.drivers.port import DriverError, PodGone
from node_agent.telemetry.amd import device_files
from node_agent.telemetry.hardware import HostDevice
from offchain.schema.challenge.order import ChallengeWork

log = logging.getLogger(__name__)

PIECE: Final = 1 << 17
STANDARD_ERROR: Final = 2
MOST_ERRORS: Final = 2000
"""Most bytes that are kept of the end of the program's standard error."""
END_S: Final = 10
"""Time between the end of the output and the end of the container."""


class ContainerProgram(ProofProgram):
    """A running container with the program, to whose input and output the agent is attached."""

    def __init__(self, engine: Engine, identity: str, stream: HijackedStream) -> None:
        super().__init__()
        self._engine = engine
        self.identity = identity
        """The engine's id of the container."""
        self._stream = stream
        self._errors = b""
        self._is_over = False

    @property
    def is_running(self) -> bool:
        return not self._is_over

    async def write(self, data: bytes) -> None:
        self._stream.writer.write(data)
        await self._stream.writer.drain()

    async def read(self) -> bytes:
        while True:
            try:
                found = await self._stream.read_output(PIECE)
            except DriverError as error:
                raise OSError(str(error)) from None
            if found is None:
                self._is_over = True
                return b""
            channel, data = found
            if channel != STANDARD_ERROR:
                return data
            self._errors = (self._errors + data)[-MOST_ERRORS:]

    async def cause_of_end(self) -> str:
        api = self._engine.api
        try:
            await self._engine.call(lambda: api.wait(self.identity, timeout=END_S))
            found: dict[str, Any] = await self._engine.call(lambda: api.inspect_container(self.identity))
        except PodGone:
            return "its container was removed"
        except DriverError:
            return "it closed its output, or the engine does not answer"
        state, limit = found.get("State") or {}, int((found.get("HostConfig") or {}).get("Memory") or 0)
        if state.get("OOMKilled"):
            return f"it reached its memory limit of {limit // MIB} MiB"
        said = self._errors.decode(errors="replace").strip().splitlines()
        return f"exit status {state.get('ExitCode')}{f', {said[-1]}' if said else ''}"

    async def close(self) -> None:
        self._is_over = True
        await self._stream.close()
        try:
            await self._engine.remove(self.identity)
        except DriverError as error:
            log.warning("the container of the challenge program is removed later: %s", error)


@contextlib.contextmanager
def _engine_errors() -> Iterator[None]:
    """Raise errors of the engine as :class:`ProofComputationError`, with their cause."""
    try:
        yield
    except DriverError as error:
        raise ProofComputationError(str(error).rstrip(".")) from None


class ContainerPrograms:
    """Starts the program in containers of one engine.

    `url`: the engine; None: at DOCKER_HOST or the default socket. `host`: the host key's address; `image`: a reference
    with a digest, or the engine's id; `role`: :data:`CHALLENGE`, or that of a self-test; `archive` makes the program.
    """

    def __init__(
        self,
        url: str | None,
        host: str,
        image: str,
        role: str = CHALLENGE,
        archive: Callable[[], bytes] = bundle,
    ) -> None:
        self._engine = Engine(url)
        self._http = DockerHttp(url or os.environ.get("DOCKER_HOST"))
        self._host = host
        self._image = image
        self._role = role
        self._archive = archive

    async def check(self) -> None:
        with _engine_errors():
            await self._engine.info()
            await self._image_id()

    async def start(self, device: HostDevice, work: ChallengeWork) -> ContainerProgram:
        with _engine_errors():
            await self._clear()
            return await self._start(device, work)

    async def clear(self) -> None:
        with _engine_errors():
            await self._clear()

    async def close(self) -> None:
        await self._http.close()
        self._engine.close()

    async def _clear(self) -> None:
        await self._engine.info()
        wanted = [f"{name}={value}" for name, value in program_labels(self._host, self._role).items()]
        found: list[dict[str, Any]] = await self._engine.call(
            lambda: self._engine.api.containers(all=True, filters={"label": wanted})
        )
        for one in found:
            log.info("container %.12s: removing the program of an earlier challenge", one["Id"])
            await self._engine.remove(str(one["Id"]))

    async def _image_id(self) -> str:
        """Return the engine's id of the image. Raises :class:`ProofComputationError` if it has none of this digest."""
        digest = self._image.rpartition("@")[2]
        try:
            found: dict[str, Any] = await self._engine.call(lambda: self._engine.api.inspect_image(self._image))
        except PodGone:
            raise ProofComputationError(f"the engine has no image {self._image}") from None
        known = {str(one).rpartition("@")[2] for one in found.get("RepoDigests") or ()}
        if digest not in {found["Id"], *known}:
            raise ProofComputationError(f"the engine has no image {self._image}, but one with the id {found['Id']}")
        return str(found["Id"])

    async def _start(self, device: HostDevice, work: ChallengeWork) -> ContainerProgram:
        archive = await asyncio.to_thread(self._archive)
        name, image, api = program_name(self._host, self._role), await self._image_id(), self._engine.api
        labels, site = program_labels(self._host, self._role), await self._site(device)
        arguments = program_arguments(name, labels, image, device, work, len(archive), site)
        host_config = api.create_host_config(**arguments.pop("host_config")) | hidden_path_options()
        stream: HijackedStream | None = None
        try:
            created = await self._engine.call(
                functools.partial(api.create_container, **arguments, host_config=host_config)
            )
            identity = str(created["Id"])
            # Before the start, so that no output is lost.
            query = "stream=1&stdin=1&stdout=1&stderr=1"
            stream = await self._http.hijack(f"/containers/{identity}/attach?{query}", {})
            await self._engine.call(lambda: api.start(identity))
            program = ContainerProgram(self._engine, identity, stream)
            await program.write(archive)
        except OSError as error:
            await self._discard(name, stream)
            raise ProofComputationError(f"the program does not take its code: {error}") from None
        except BaseException:
            await self._discard(name, stream)
            raise
        log.info("container %.12s: the challenge program runs, with GPU %s", identity, device.uuid or "simulated")
        return program

    async def _discard(self, name: str, stream: HijackedStream | None) -> None:
        """Remove what a failed start left."""
        if stream is not None:
            await stream.close()
        with contextlib.suppress(DriverError):
            await self._engine.remove(name)

    async def _site(self, device: HostDevice) -> ContainerSite:
        info = await self._engine.info()
        amd = DeviceFiles()
        if device.uuid is not None and (uuids := amd_gpus((device.uuid,))):
            try:
                amd = DeviceFiles(*await asyncio.to_thread(device_files, uuids))
            except (LookupError, OSError) as error:
                raise ProofComputationError(f"the GPU {device.uuid} is not there: {error}") from None
        return ContainerSite(
            cdi=bool(info.get("CDISpecDirs")),
            runc="runc" in (info.get("Runtimes") or {}),
            processors=int(info.get("NCPU") or 1),
            amd=amd,
        )
