"""Execution of a job of another host on this machine, without network and devices: jurors compare the results."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from node_agent.chain.records import executed_lease
from node_agent.core.admission import LeaseRejected, admit_parsed
from node_agent.core.values import Ending, EndKind, Handle, LocalHost, PodSpec
from node_agent.drivers.docker.driver import DockerDriver
from node_agent.drivers.port import Driver, DriverError
from node_agent.images.docker_engine import DockerImages
from node_agent.images.registries import Endpoint, RegistryRules
from node_agent.images.registry_client import RegistryClient
from node_agent.images.store import ImageInventory, ImageStore
from offchain.adapters.chain.typed import LeaseOfTask
from offchain.clock import unix_ms
from offchain.errors import ExecutionFailed
from offchain.ports import ExecutedResult
from offchain.schema.manifest.types import Manifest

IMAGES_BYTES: Final = 20 << 30
"""Disk for images of disputed jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionSettings:
    """Settings of a juror's driver. `folder`: for its files; `account`: the juror's, which names its containers.

    `runtime`: the engine's runtime for containers; None: runc. `allow_registries`: registries from which images may be
    pulled although their addresses are not public.
    """

    folder: Path
    account: str
    docker_host: str | None = None
    runtime: str | None = None
    allow_registries: tuple[Endpoint, ...] = ()


class PodExecutor:
    """Executes jobs with a driver. `name`: identifies the executor's containers; `sandboxed`: they have a sandbox."""

    def __init__(self, driver: Driver, name: str, *, sandboxed: bool = False) -> None:
        self._driver = driver
        self._host = LocalHost(name, (), sandboxed)

    async def remove_leftovers(self) -> None:
        """Remove what executions of a killed process have left. Raises DriverError."""
        for lease in await self._driver.leases():
            await self._driver.destroy(lease, keep_data=False)

    async def execute(self, lease: LeaseOfTask, manifest: Manifest) -> ExecutedResult:
        """Execute the pod of a lease, whose manifest has one service and no GPU. Raises ExecutionFailed."""
        spec = admit_parsed(self._host, executed_lease(lease), manifest)
        if isinstance(spec, LeaseRejected):
            raise ExecutionFailed(spec.message, transient=False)
        try:
            # What an execution that was interrupted has left.
            await self._driver.destroy(lease.id, keep_data=False)
            try:
                return await self._run(spec)
            finally:
                await self._driver.destroy(lease.id, keep_data=False)
        except DriverError as error:
            raise ExecutionFailed(f"{error}.", transient=error.transient) from None

    async def _run(self, spec: PodSpec) -> ExecutedResult:
        await self._driver.prepare(spec)
        handle = await self._started(spec)
        ending = await self._ending(handle)
        if ending.kind is not EndKind.SELF or ending.no_space:
            why = "the disk was full" if ending.no_space else f"its container was ended from outside ({ending.kind})"
            raise ExecutionFailed(f"The job did not end by itself: {why}.", transient=True)
        found = await self._driver.collect(handle, spec.result)
        if found.too_large:
            raise ExecutionFailed("The output is larger than hosts keep.", transient=False)
        return ExecutedResult(hashlib.sha256(found.data).digest(), ending.exit_code)

    async def _started(self, spec: PodSpec) -> Handle:
        """Start the container. A cancellation waits until it is started, so that it can be removed."""
        starting = asyncio.ensure_future(self._driver.start(spec, spec.main.service.name, 1))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            await asyncio.gather(starting, return_exceptions=True)
            raise

    async def _ending(self, handle: Handle) -> Ending:
        async with aclosing(self._driver.watch(handle)) as seen:
            async for now in seen:
                if now.ending is not None:
                    return now.ending
        raise ExecutionFailed("The container was removed while it ran.", transient=True)


@contextlib.asynccontextmanager
async def docker_executor(settings: ExecutionSettings) -> AsyncIterator[PodExecutor]:
    """Yield an executor on a Docker engine. Raises ExecutionFailed if the engine cannot be used."""
    async with contextlib.AsyncExitStack() as stack:
        images = ImageStore(
            DockerImages(settings.docker_host, RegistryClient(RegistryRules(frozenset(settings.allow_registries)))),
            ImageInventory(settings.folder / "images.json"),
            mirror=None,
            quota_bytes=IMAGES_BYTES,
            now_ms=unix_ms,
        )
        stack.push_async_callback(images.close)
        try:
            driver = await DockerDriver.connect(
                settings.docker_host,
                settings.account,
                images,
                network=False,
                runtime=settings.runtime,
                gates=settings.folder / "gates",
            )
        except DriverError as error:
            raise ExecutionFailed(
                f"Disputed jobs cannot be executed: {error}.",
                "Start the Docker engine, name it with --docker-host, or use --driver none: then you decide yourself.",
                transient=False,
            ) from None
        stack.push_async_callback(driver.close)
        executor = PodExecutor(driver, settings.account, sandboxed=driver.sandboxed)
        with contextlib.suppress(DriverError):  # the next execution of the same lease tries again
            await executor.remove_leftovers()
        yield executor
