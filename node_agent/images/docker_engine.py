"""The images of a Docker engine."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import socket
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import docker
import urllib3.exceptions

from node_agent.drivers.docker.engine import SDK_ERRORS, connect, unreachable
from node_agent.drivers.port import EngineBusy, EngineUnreachable
from node_agent.images.logins import NOBODY, ImageAccess
from node_agent.images.policy import Disk, Platform, PulledImage, PullFault, engine_platform
from node_agent.images.ports import SNAPSHOT_MARK, LocalImage, MayContinue, OnProgress, PullRefused, PullResult
from node_agent.images.pull_through import OfferedImage, PullThrough, is_pull_through_name
from node_agent.images.registries import RegistryRules
from node_agent.images.registry_client import RegistryClient
from node_agent.images.store import MAX_PULLS
from node_agent.runtime.loop_thread import LoopThread
from offchain.schema.manifest.types import ImageRef

CALL_TIMEOUT_S = 60
SILENCE_S = 300
"""Time without progress after which a pull is abandoned."""
LOOK_S = 0.5
"""Interval at which a pull checks the disk."""
CLOSE_S = 10
"""Time in which the registry for the engine has to end."""
THREADS = MAX_PULLS + 4
_MOVES = frozenset({"Downloading", "Download complete", "Extracting", "Pull complete"})
"""The engine's states of a layer of which data was received or unpacked."""

T = TypeVar("T")
log = logging.getLogger(__name__)


class DockerImages:
    """The images of the engine at `url` (None: at DOCKER_HOST or the default socket).

    The engine pulls from a registry of the agent on loopback, which fetches images by the rules of `client` in `thread`
    (None: one of its own); :meth:`close` ends both.
    """

    def __init__(
        self, url: str | None, client: RegistryClient | None = None, *, thread: LoopThread | None = None
    ) -> None:
        self._url = url
        self._through = PullThrough(client or RegistryClient(RegistryRules()))
        self._thread = thread
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="images")
        self._api: Any = None
        self._info: dict[str, Any] = {}
        self._closing = False
        self._pulls: set[socket.socket] = set()
        """Connections to the engine on which it reports the progress of a pull."""

    async def platform(self) -> Platform:
        info = await self._call(self._about)
        return engine_platform(str(info.get("OSType", "")), str(info.get("Architecture", "")))

    async def find(self, image: ImageRef) -> LocalImage | None:
        return await self._call(lambda: self._find(image))

    async def pull(
        self,
        reference: str,
        may_continue: MayContinue,
        on_progress: OnProgress,
        access: ImageAccess = NOBODY,
        pulled: tuple[PulledImage, ...] = (),
    ) -> PullResult:
        if self._closing:
            raise PullRefused("the agent is stopping", PullFault.PASSING)
        if self._thread is None:
            # A loop of its own: the transfer of images must not delay the heartbeat.
            self._thread = LoopThread.start("registry")
        thread = self._thread
        offer = await thread.run(
            self._through.offer(reference, lambda size_bytes: may_continue(size_bytes, None), access)
        )
        try:
            await self._call(lambda: self._pull(offer, reference, may_continue, on_progress))
            try:
                await self._call(lambda: self._check(offer))
                await thread.run(self._through.prove(offer, reference, access, pulled))
            except PullRefused:
                await self.remove(offer.name)
                raise
        finally:
            thread.post(lambda: self._through.withdraw(offer))
        return PullResult(offer.name, offer.blobs)

    async def remove(self, reference: str) -> bool:
        return await self._call(lambda: self._remove(reference))

    async def in_use(self) -> frozenset[str]:
        containers = await self._call(lambda: self._client().containers(all=True))
        return frozenset(str(container["ImageID"]) for container in containers)

    async def disk(self) -> Disk | None:
        return await self._call(self._disk)

    async def close(self) -> None:
        self._closing = True
        for pull in tuple(self._pulls):
            with contextlib.suppress(OSError):  # it has ended meanwhile
                pull.shutdown(socket.SHUT_RDWR)
        self._pool.shutdown(wait=False, cancel_futures=True)
        if self._api is not None:
            self._api.close()
        thread, self._thread = self._thread, None
        if thread is not None:
            try:
                async with asyncio.timeout(CLOSE_S):
                    await thread.run(self._through.close())
            except TimeoutError:
                log.warning("the registry for the engine has not ended in %g s", CLOSE_S)
            await thread.close()

    async def _call(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except docker.errors.APIError as error:
            raise EngineBusy(f"the Docker engine refused: {error.explanation or error}") from None
        except SDK_ERRORS as error:
            raise unreachable(self._url, error) from None

    def _client(self) -> Any:
        if self._api is None:
            self._api = connect(self._url, CALL_TIMEOUT_S)
        return self._api

    def _about(self) -> dict[str, Any]:
        if not self._info:
            self._info = dict(self._client().info())
        return self._info

    def _disk(self) -> Disk | None:
        root = str(self._about().get("DockerRootDir", ""))
        try:
            usage = shutil.disk_usage(root)
        except OSError:
            return None  # the engine is on another machine, or in another mount namespace
        return Disk(usage.total, usage.free)

    def _find(self, image: ImageRef) -> LocalImage | None:
        for name in (image.digest, image.reference):
            with contextlib.suppress(docker.errors.NotFound, docker.errors.APIError):
                inspection = self._client().inspect_image(name)
                # A tenant's snapshot is private: to know its digest is no permission to run it.
                return None if is_snapshot(inspection) else _local(inspection)
        for candidate in self._client().images(all=False):
            digests = candidate.get("RepoDigests") or []
            if any(digest.rpartition("@")[2] == image.digest for digest in digests):
                inspection = self._client().inspect_image(candidate["Id"])
                return None if is_snapshot(inspection) else _local(inspection)
        return None

    def _pull(self, offer: OfferedImage, reference: str, may_continue: MayContinue, on_progress: OnProgress) -> None:
        try:
            self._follow(offer, may_continue, on_progress)
        except PullRefused as error:
            if offer.refused is not None:
                raise offer.refused from None
            if error.fault is None and not offer.requests:
                raise EngineUnreachable(
                    f"the Docker engine cannot pull from this agent, which offers it images at "
                    f"{offer.repository.partition('/')[0]} ({error}). Run the agent on the engine's machine and in its "
                    "network namespace."
                ) from None
            raise PullRefused(str(error).replace(offer.repository, reference.partition("@")[0]), error.fault) from None

    def _check(self, offer: OfferedImage) -> None:
        """Raise PullRefused if the engine built the image from a manifest that it had, without a request for it."""
        if not offer.has_served(str(self._client().inspect_image(offer.name)["Id"])):
            raise PullRefused("the engine has another image than its registry gives", PullFault.CORRUPT)

    def _follow(self, offer: OfferedImage, may_continue: MayContinue, on_progress: OnProgress) -> None:
        """Pull an offered image into the engine."""
        # A connection of its own: closing it is how a pull is stopped.
        api = connect(self._url, SILENCE_S)
        try:
            with contextlib.closing(self._steps(api, offer)) as steps:
                self._watch(steps, offer, may_continue, on_progress)
        except docker.errors.APIError as error:
            raise PullRefused(str(error.explanation or error)) from None
        except urllib3.exceptions.HTTPError as error:  # what requests does not translate while it reads a stream
            if not self._closing:
                raise PullRefused(f"the engine went silent: {error}", PullFault.PASSING) from None
        finally:
            api.close()
        if self._closing:
            raise PullRefused("the agent is stopping", PullFault.PASSING)

    def _watch(
        self, steps: Iterable[dict[str, Any]], offer: OfferedImage, may_continue: MayContinue, on_progress: OnProgress
    ) -> None:
        """Follow the engine's messages about a pull. Raises PullRefused if it fails or has to stop."""
        layers = _LayerProgress()
        disk, seen_s = self._disk(), time.monotonic()
        for step in steps:
            if self._closing:
                return
            if offer.refused is not None:
                # The engine would retry for some time.
                raise offer.refused
            if "error" in step:
                raise PullRefused(str(step["error"]))
            if layers.update(step):
                on_progress(layers.done_bytes, layers.total_bytes)
            if time.monotonic() - seen_s >= LOOK_S:
                disk, seen_s = self._disk(), time.monotonic()
            if not may_continue(layers.total_bytes, disk):
                raise PullRefused(f"stopped at {layers.total_bytes >> 20} MiB for want of room", PullFault.FULL)

    def _steps(self, api: Any, offer: OfferedImage) -> Generator[dict[str, Any], None, None]:
        """Begin a pull and yield the engine's messages about it, none later than `SILENCE_S` after the one before.

        The SDK's `pull` waits for the next message without a limit.
        """
        name, _, digest = offer.name.partition("@")
        with api._post(  # noqa: SLF001
            api._url("/images/create"),  # noqa: SLF001
            params={"fromImage": name, "tag": digest},
            stream=True,
            timeout=SILENCE_S,
        ) as response:
            raw = api._get_raw_response_socket(response)  # noqa: SLF001
            connection: socket.socket = getattr(raw, "_sock", raw)
            self._pulls.add(connection)
            try:
                if not self._closing:
                    yield from api._stream_helper(response, decode=True)  # noqa: SLF001
            finally:
                self._pulls.discard(connection)

    def _remove(self, reference: str) -> bool:
        try:
            self._client().remove_image(reference, noprune=False)
        except docker.errors.NotFound:
            return True
        except docker.errors.APIError as error:
            if error.is_server_error():
                raise
            return False  # a container uses it now
        return True


class _LayerProgress:
    """Progress of an image's layers by the engine's messages."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self._here: dict[str, int] = {}

    def update(self, step: dict[str, Any]) -> bool:
        """Process one message of the engine; return whether data was received or unpacked."""
        detail = step.get("progressDetail") or {}
        total, layer = detail.get("total"), str(step.get("id", ""))
        if isinstance(total, int) and layer:
            self._sizes[layer] = max(total, self._sizes.get(layer, 0))
        if not layer or step.get("status") not in _MOVES:
            return False
        # A layer that is unpacked was received; the engine counts unpacked bytes from zero.
        is_here = step["status"] != "Downloading"
        self._here[layer] = self._sizes.get(layer, 0) if is_here else int(detail.get("current") or 0)
        return True

    @property
    def done_bytes(self) -> int:
        return sum(self._here.values())

    @property
    def total_bytes(self) -> int:
        """Bytes of the layers whose sizes are known."""
        return sum(self._sizes.values())


def is_snapshot(inspection: dict[str, Any]) -> bool:
    return str(inspection.get("Comment", "")).startswith(SNAPSHOT_MARK)


def _local(inspection: dict[str, Any]) -> LocalImage:
    platform = Platform(str(inspection.get("Os", "")), str(inspection.get("Architecture", "")))
    names = [*(inspection.get("RepoTags") or ()), *(inspection.get("RepoDigests") or ())]
    return LocalImage(
        str(inspection["Id"]), platform, int(inspection.get("Size") or 0), all(map(is_pull_through_name, names))
    )
