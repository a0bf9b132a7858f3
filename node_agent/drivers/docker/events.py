"""Wakes whoever watches a container, from the engine's event stream. A missed event costs a poll, no more."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import docker
import requests.exceptions

RECONNECT_S = 1.0


class EndWatch:
    """One thread that follows the ends and the health of one host's containers, as the engine tells them."""

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
        """An event that is set whenever this container may have ended, or its health changed."""
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
        """End the thread."""
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
            with contextlib.suppress(docker.errors.DockerException, requests.exceptions.RequestException, OSError):
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
