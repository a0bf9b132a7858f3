"""The driver for Docker engines."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import docker
import requests.exceptions
from docker.utils import kwargs_from_env

from node_agent.core.values import Ending, Found, Handle, PodSpec, Usage
from node_agent.drivers import docker_spec as make
from node_agent.drivers.docker_end import (
    KILL_EXIT_CODES,
    KILL_WINDOW_S,
    Sample,
    parse_ending,
    parse_sample,
    parse_time_ms,
)
from node_agent.drivers.docker_result import read_file, read_output
from node_agent.drivers.docker_watch import EndWatch
from node_agent.ports import (
    Collected,
    DriverError,
    EngineBusy,
    EngineUnreachable,
    Fingerprint,
    ImageInvalid,
    ImageUnavailable,
    Inspection,
    PodGone,
    ResourcesUnavailable,
)
from offchain.schema.manifest_types import ImageRef, ResultSpec

HANDLE_VERSION = 1
THREADS = 8
CALL_TIMEOUT_S = 60
FIRST_POLL_S = 0.1
END_NOTICE_S = 0.05
OOM_NOTICE_S = 1.0
POLL_SHARE = 0.25
LONGEST_POLL_S = 5.0
MAX_LOG_READERS = 16
NO_NETWORK = "none"

T = TypeVar("T")


class DockerDriver:
    """Pods as containers of one Docker engine. Make one with :meth:`connect`."""

    name = "docker"

    def __init__(self, url: str | None, host: str, *, network: bool = True) -> None:
        self._url = url
        self._host = host
        self._network = network
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="docker")
        self._log_pool = ThreadPoolExecutor(MAX_LOG_READERS, thread_name_prefix="docker-logs")
        self._watch = EndWatch(lambda: _client(url, timeout=None), f"{make.LABEL_HOST}={host}")
        self._samples: dict[str, Sample] = {}
        self._log_readers = 0
        self._api: Any = None
        self._cdi = False
        self._runc = False

    @classmethod
    async def connect(cls, url: str | None, host: str, *, network: bool = True) -> DockerDriver:
        """Connect to the engine at `url` (None: where DOCKER_HOST or the usual socket says).

        `host` is the host key's address; `network` False gives containers no network at all.
        """
        driver = cls(url, host, network=network)
        try:
            await driver.fingerprint()
        except DriverError:
            await driver.close()
            raise
        return driver

    async def fingerprint(self) -> Fingerprint:
        """See :class:`node_agent.ports.Driver`."""
        if self._api is None:
            self._api = await self._call(lambda: _client(self._url, timeout=CALL_TIMEOUT_S))
        info = await self._call(self._api.info)
        self._cdi = bool(info.get("CDISpecDirs"))
        self._runc = "runc" in (info.get("Runtimes") or {})
        return Fingerprint(self.name, str(info.get("ServerVersion")), int(info.get("CgroupVersion") or 1), self._cdi)

    async def start(self, spec: PodSpec) -> Handle:
        """See :class:`node_agent.ports.Driver`."""
        for found in await self._containers(spec.lease):
            handle = await self._adopt(spec, found)
            if handle is not None:
                return handle
            await self._remove(found["Id"])
        image = await self._image(spec.service.image)
        network = await self._call(lambda: self._ensure_network(spec)) if self._network else NO_NETWORK
        arguments = make.container_arguments(spec, image=image, network=network, cdi=self._cdi, runc=self._runc)
        host_config = await self._call(lambda: self._api.create_host_config(**arguments.pop("host_config")))
        try:
            created = await self._call(lambda: self._api.create_container(**arguments, host_config=host_config))
        except DriverError as error:
            raise _start_fault(error) from None
        return await self._run(spec, created["Id"])

    async def wait(self, handle: Handle) -> Ending:
        """See :class:`node_agent.ports.Driver`."""
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        with self._watch.subscribe(handle.reference) as ended:
            while True:
                try:
                    inspection = await self.inspect(handle)
                    if inspection.ending is not None:
                        return inspection.ending
                    await self.stats(handle)
                except (EngineUnreachable, EngineBusy):
                    pass  # The engine may be restarting; what it says afterwards counts.
                # What is used after the last reading is not seen: a quarter of the time at most.
                pause_s = (loop.time() - began_s) * POLL_SHARE
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(ended.wait(), min(max(pause_s, FIRST_POLL_S), LONGEST_POLL_S))
                ended.clear()

    async def stop(self, lease: int, grace_s: float) -> None:
        """See :class:`node_agent.ports.Driver`."""
        for found in await self._containers(lease):
            with contextlib.suppress(PodGone):
                await self._call(functools.partial(self._api.stop, found["Id"], timeout=int(grace_s)))

    async def destroy(self, lease: int) -> None:
        """See :class:`node_agent.ports.Driver`."""
        for found in await self._containers(lease):
            await self._remove(found["Id"])
        await self._call(lambda: self._remove_networks(lease))

    async def inspect(self, handle: Handle) -> Inspection:
        """See :class:`node_agent.ports.Driver`."""
        return await self._call(lambda: self._inspect(handle.reference))

    async def stats(self, handle: Handle) -> Usage:
        """See :class:`node_agent.ports.Driver`."""
        one = functools.partial(self._api.stats, handle.reference, stream=False, one_shot=True)
        sample = parse_sample(await self._call(one)).joined(self._samples.get(handle.reference, Sample()))
        self._samples[handle.reference] = sample
        return Usage(0, sample.cpu_ms, sample.memory_mib)

    async def logs(self, lease: int, *, follow: bool) -> AsyncGenerator[bytes, None]:
        """See :class:`node_agent.ports.Driver`."""
        containers = await self._containers(lease)
        if not containers:
            raise PodGone(f"there is no container for lease {lease}")
        if self._log_readers >= MAX_LOG_READERS:
            raise EngineBusy(f"{MAX_LOG_READERS} readers follow logs already")
        arguments = {"stdout": True, "stderr": True, "timestamps": True, "stream": True, "follow": follow}
        stream = await self._call(lambda: self._api.logs(containers[0]["Id"], **arguments))
        self._log_readers += 1
        loop = asyncio.get_running_loop()
        try:
            # A follower blocks its thread until the next line: not one of the pool's.
            while (chunk := await loop.run_in_executor(self._log_pool, next, stream, None)) is not None:
                yield chunk
        finally:
            self._log_readers -= 1
            with contextlib.suppress(OSError, AttributeError):
                stream.close()

    async def collect(self, handle: Handle, result: ResultSpec) -> Collected:
        """See :class:`node_agent.ports.Driver`."""
        path = result.path
        if path is None:
            return await self._call(lambda: read_output(self._api, handle.reference))
        return await self._call(lambda: read_file(self._api, handle.reference, path))

    async def recover(self) -> tuple[Found, ...]:
        """See :class:`node_agent.ports.Driver`."""
        return tuple(
            Found(_handle(found), found.get("State") == "running")
            for found in await self._containers(None)
            if make.LABEL_LEASE in found["Labels"]
        )

    async def close(self) -> None:
        """See :class:`node_agent.ports.Driver`."""
        await self._watch.close()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._log_pool.shutdown(wait=False, cancel_futures=True)
        if self._api is not None:
            self._api.close()

    async def _call(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except docker.errors.NotFound as error:
            raise PodGone(_text(error)) from None
        except docker.errors.APIError as error:
            kind = EngineBusy if error.is_server_error() else DriverError
            raise kind(f"the Docker engine refused: {_text(error)}") from None
        except (docker.errors.DockerException, requests.exceptions.RequestException, OSError) as error:
            where = self._url or "its usual socket"
            raise EngineUnreachable(
                f"no Docker engine answers at {where} ({_text(error)}). "
                "Start it, or give its address with --docker-host."
            ) from None

    async def _containers(self, lease: int | None) -> list[dict[str, Any]]:
        wanted = [f"{make.LABEL_HOST}={self._host}"]
        if lease is not None:
            wanted.append(f"{make.LABEL_LEASE}={lease}")
        found: list[dict[str, Any]] = await self._call(
            lambda: self._api.containers(all=True, filters={"label": wanted})
        )
        return found

    async def _adopt(self, spec: PodSpec, found: dict[str, Any]) -> Handle | None:
        labels = found["Labels"]
        same = labels.get(make.LABEL_TASK) == str(spec.task) and labels.get(make.LABEL_ATTEMPT) == str(spec.attempt)
        if not same or int(labels.get(make.LABEL_START, 0)) < spec.start:
            return None
        if found.get("State") != "created":
            return _handle(found)
        return await self._run(spec, found["Id"])

    async def _run(self, spec: PodSpec, container: str) -> Handle:
        try:
            await self._call(lambda: self._api.start(container))
        except DriverError as error:
            with contextlib.suppress(DriverError):
                await self._remove(container)
            raise _start_fault(error) from None
        return Handle(self.name, HANDLE_VERSION, spec.lease, spec.start, container)

    async def _remove(self, container: str) -> None:
        self._samples.pop(container, None)
        try:
            await self._call(lambda: self._api.remove_container(container, v=True, force=True))
        except PodGone:
            return
        except DriverError as error:
            if "already in progress" not in str(error):
                raise
            with contextlib.suppress(PodGone):
                await self._call(lambda: self._api.wait(container, condition="removed"))

    async def _image(self, image: ImageRef) -> str:
        """The engine's own id of the image with this digest; pulled where it is not here."""
        found = await self._call(lambda: self._find_image(image))
        if found is not None:
            return found
        try:
            await self._call(lambda: self._pull(image))
            found = await self._call(lambda: self._find_image(image))
        except EngineUnreachable:
            raise
        except DriverError as error:
            raise ImageUnavailable(f"the image {image.reference} cannot be pulled: {error}") from None
        if found is None:
            raise ImageUnavailable(f"the image {image.reference} was pulled, but the engine does not have that digest")
        return found

    def _find_image(self, image: ImageRef) -> str | None:
        with contextlib.suppress(docker.errors.NotFound):
            found: str = self._api.inspect_image(image.digest)["Id"]
            return found
        for candidate in self._api.images(all=False):
            digests = candidate.get("RepoDigests") or []
            if any(digest.rpartition("@")[2] == image.digest for digest in digests):
                return str(candidate["Id"])
        return None

    def _pull(self, image: ImageRef) -> None:
        for step in self._api.pull(image.reference, stream=True, decode=True):
            if "error" in step:
                raise DriverError(str(step["error"]))

    def _ensure_network(self, spec: PodSpec) -> str:
        name = make.pod_name(spec.host, spec.lease)
        if not any(network["Name"] == name for network in self._api.networks(names=[name])):
            self._api.create_network(
                name,
                driver="bridge",
                check_duplicate=True,
                labels=make.labels(spec),
                options={"com.docker.network.bridge.enable_icc": "false"},
            )
        return name

    def _remove_networks(self, lease: int) -> None:
        wanted = [f"{make.LABEL_HOST}={self._host}", f"{make.LABEL_LEASE}={lease}"]
        for network in self._api.networks(filters={"label": wanted}):
            with contextlib.suppress(docker.errors.NotFound):
                self._api.remove_network(network["Id"])

    def _inspect(self, container: str) -> Inspection:
        inspection = self._api.inspect_container(container)
        state = inspection["State"]
        if state.get("Running") or state.get("Status") not in ("exited", "dead"):
            return Inspection(running=True, ending=None)
        sample = self._samples.get(container, Sample())
        ending = parse_ending(inspection, sample, self._last_events(container, state))
        return Inspection(running=False, ending=ending)

    def _last_events(self, container: str, state: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The engine remembers its last 256 events; an engine that was restarted remembers none."""
        finished_s = parse_time_ms(state.get("FinishedAt")) / 1000
        # Notice of a broken memory limit may come after the end; the engine waits until then with its answer.
        later_s = OOM_NOTICE_S if state.get("ExitCode") in KILL_EXIT_CODES else END_NOTICE_S
        filters = {"container": container, "event": ["kill", "die", "oom"]}
        window = {"since": f"{finished_s - KILL_WINDOW_S:.3f}", "until": f"{finished_s + later_s:.3f}"}
        yield from self._api.events(**window, filters=filters, decode=True)


def _client(url: str | None, *, timeout: Any) -> Any:
    where: dict[str, Any] = dict(kwargs_from_env()) if url is None else {"base_url": url}
    path = str(where.get("base_url", "unix:///var/run/docker.sock")).removeprefix("unix://")
    if path.startswith("/"):
        # The SDK leaks a socket where this fails, and its own message buries the reason.
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.connect(path)
    return docker.APIClient(version="auto", timeout=timeout, **where)


def _handle(found: dict[str, Any]) -> Handle:
    labels = found["Labels"]
    return Handle(
        "docker", HANDLE_VERSION, int(labels[make.LABEL_LEASE]), int(labels.get(make.LABEL_START, 1)), found["Id"]
    )


def _start_fault(error: DriverError) -> DriverError:
    message = str(error)
    if make.is_resource_fault(message):
        return ResourcesUnavailable(message)
    if make.is_image_fault(message):
        return ImageInvalid(message)
    return error


def _text(error: Exception) -> str:
    explanation = getattr(error, "explanation", None)
    return str(explanation or error).strip().splitlines()[0] if str(explanation or error).strip() else repr(error)
