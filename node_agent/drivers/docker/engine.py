"""Connection to a Docker engine: calls in threads, translation of errors, and the event stream."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import docker
import requests.exceptions
from docker.utils import kwargs_from_env

from node_agent.drivers.docker.orphan_processes import end_orphan_processes
from node_agent.drivers.port import DriverError, EngineBusy, EngineUnreachable, PodGone

THREADS = 8
CALL_TIMEOUT_S = 60

T = TypeVar("T")

SDK_ERRORS = (docker.errors.DockerException, requests.exceptions.RequestException, OSError)
RECONNECT_S = 1.0


class Engine:
    """One engine. `api` is the SDK's low-level client; it blocks, so it is used inside :meth:`call` only."""

    def __init__(self, url: str | None) -> None:
        self.url = url
        self.api: Any = None
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="docker")

    async def info(self) -> dict[str, Any]:
        """Return the engine's system information; connects first if necessary."""
        if self.api is None:
            self.api = await self.call(lambda: self.client(CALL_TIMEOUT_S))
        found: dict[str, Any] = await self.call(self.api.info)
        return found

    def client(self, timeout: Any) -> Any:
        """Return a new connection. Blocks. `timeout` None: for streams that may be silent for a long time."""
        return connect(self.url, timeout)

    async def call(self, work: Callable[[], T]) -> T:
        """Call `work` in a thread. Raises :class:`DriverError`; :class:`PodGone` if the engine has no such object."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except SDK_ERRORS as error:
            raise self.explained(error) from None

    def explained(self, error: Exception) -> DriverError:
        """Translate an error of the SDK."""
        if isinstance(error, docker.errors.NotFound):
            return PodGone(_text(error))
        if isinstance(error, docker.errors.APIError):
            kind = EngineBusy if error.is_server_error() else DriverError
            return kind(f"the Docker engine refused: {_text(error)}")
        return unreachable(self.url, _text(error))

    async def remove(self, container: str) -> None:
        """Remove a container and all its processes, including those unknown to the engine. Ignored if it is gone."""
        try:
            await self.call(lambda: self.api.remove_container(container, v=True, force=True))
        except PodGone:
            pass
        except DriverError as error:
            if "already in progress" not in str(error):
                raise
            with contextlib.suppress(PodGone):
                await self.call(lambda: self.api.wait(container, condition="removed"))
        await asyncio.to_thread(end_orphan_processes, container)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        if self.api is not None:
            self.api.close()


def connect(url: str | None, timeout: Any) -> Any:
    """Return a low-level client for the engine at `url` (None: at DOCKER_HOST or the default socket). Blocks."""
    where: dict[str, Any] = dict(kwargs_from_env()) if url is None else {"base_url": url}
    path = str(where.get("base_url", "unix:///var/run/docker.sock")).removeprefix("unix://")
    if path.startswith("/"):
        # The SDK leaks a socket if its connection fails, and its own message hides the reason.
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.connect(path)
    return docker.APIClient(version="auto", timeout=timeout, **where)


def unreachable(url: str | None, reason: object) -> EngineUnreachable:
    where = url or "its usual socket"
    return EngineUnreachable(
        f"no Docker engine answers at {where} ({reason}). Start it, or give its address with --docker-host."
    )


def _text(error: Exception) -> str:
    text = str(getattr(error, "explanation", None) or error).strip()
    return text.splitlines()[0] if text else repr(error)


class ContainerEventWatcher:
    """Wakes watchers of one host's containers at their ends and health changes, from the engine's event stream.

    It reads the stream in one thread. A missed event only delays a watcher until its next poll.
    """

    def __init__(self, connect: Callable[[], Any], label: str) -> None:
        self._connect = connect
        self._label = label
        self._wakers: dict[str, set[asyncio.Event]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._stream: Any = None

    @contextlib.contextmanager
    def subscribe(self, container: str) -> Iterator[asyncio.Event]:
        """Return an event that is set whenever this container may have ended or changed its health."""
        if self._thread is None:
            self._loop = asyncio.get_running_loop()
            self._thread = threading.Thread(target=self._run, name="docker-events", daemon=True)
            self._thread.start()
        waker = asyncio.Event()
        self._wakers.setdefault(container, set()).add(waker)
        try:
            yield waker
        finally:
            waiting = self._wakers[container]
            waiting.discard(waker)
            if not waiting:
                del self._wakers[container]

    async def close(self) -> None:
        self._stopping.set()
        if self._thread is None:
            return
        stream = self._stream
        if stream is not None:
            with contextlib.suppress(OSError, AttributeError):
                stream.close()
        await asyncio.to_thread(self._thread.join, 5.0)

    def _run(self) -> None:
        while not self._stopping.is_set():
            client = None
            with contextlib.suppress(*SDK_ERRORS):
                client = self._connect()
                filters = {"type": "container", "event": ["die", "destroy", "health_status"], "label": [self._label]}
                self._stream = client.events(filters=filters, decode=True)
                self._wake(None)
                if self._stopping.is_set():
                    self._stream.close()
                for event in self._stream:
                    self._wake(str(event.get("id", "")))
            if client is not None:
                client.close()
            self._wake(None)
            self._stopping.wait(RECONNECT_S)

    def _wake(self, container: str | None) -> None:
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(self._wake_in_loop, container)

    def _wake_in_loop(self, container: str | None) -> None:
        chosen = [self._wakers.get(container, set())] if container is not None else list(self._wakers.values())
        for wakers in chosen:
            for waker in wakers:
                waker.set()
