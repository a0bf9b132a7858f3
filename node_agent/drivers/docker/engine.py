"""A connection to a Docker engine: calls in threads, and its errors in our words."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import docker
import requests.exceptions
from docker.utils import kwargs_from_env

from node_agent.drivers.docker.orphan_processes import end_lost
from node_agent.drivers.port import DriverError, EngineBusy, EngineUnreachable, PodGone

THREADS = 8
CALL_TIMEOUT_S = 60

T = TypeVar("T")

SDK_ERRORS = (docker.errors.DockerException, requests.exceptions.RequestException, OSError)


class Engine:
    """One engine. `api` is the SDK's low-level client; it blocks, so it is used inside :meth:`call` only."""

    def __init__(self, url: str | None) -> None:
        self.url = url
        self.api: Any = None
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="docker")

    async def info(self) -> dict[str, Any]:
        """What the engine says of itself; connects first where that was not done."""
        if self.api is None:
            self.api = await self.call(lambda: self.client(CALL_TIMEOUT_S))
        found: dict[str, Any] = await self.call(self.api.info)
        return found

    def client(self, timeout: Any) -> Any:
        """A connection of its own; it blocks. `timeout` None: for streams that may be silent for long."""
        where: dict[str, Any] = dict(kwargs_from_env()) if self.url is None else {"base_url": self.url}
        path = str(where.get("base_url", "unix:///var/run/docker.sock")).removeprefix("unix://")
        if path.startswith("/"):
            # The SDK leaks a socket where this fails, and its own message buries the reason.
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                probe.connect(path)
        return docker.APIClient(version="auto", timeout=timeout, **where)

    async def call(self, work: Callable[[], T]) -> T:
        """Run this in a thread. Raises :class:`DriverError`; :class:`PodGone` where the engine has no such thing."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except SDK_ERRORS as error:
            raise self.explained(error) from None

    def explained(self, error: Exception) -> DriverError:
        """One of the SDK's errors in our words."""
        if isinstance(error, docker.errors.NotFound):
            return PodGone(_text(error))
        if isinstance(error, docker.errors.APIError):
            kind = EngineBusy if error.is_server_error() else DriverError
            return kind(f"the Docker engine refused: {_text(error)}")
        where = self.url or "its usual socket"
        return EngineUnreachable(
            f"no Docker engine answers at {where} ({_text(error)}). Start it, or give its address with --docker-host."
        )

    async def remove(self, container: str) -> None:
        """Remove a container with all that runs in it, also what the engine does not know of. Nothing if it is gone."""
        try:
            await self.call(lambda: self.api.remove_container(container, v=True, force=True))
        except PodGone:
            pass
        except DriverError as error:
            if "already in progress" not in str(error):
                raise
            with contextlib.suppress(PodGone):
                await self.call(lambda: self.api.wait(container, condition="removed"))
        await asyncio.to_thread(end_lost, container)

    def close(self) -> None:
        """Let go of it."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        if self.api is not None:
            self.api.close()


def _text(error: Exception) -> str:
    text = str(getattr(error, "explanation", None) or error).strip()
    return text.splitlines()[0] if text else repr(error)
