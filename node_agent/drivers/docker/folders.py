"""A folder of a container as a tar stream, and back into a container before its program starts."""

from __future__ import annotations

import asyncio
import io
import posixpath
import tarfile
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import docker

from node_agent.drivers.docker.engine import CALL_TIMEOUT_S, SDK_ERRORS, Engine
from node_agent.drivers.port import FolderMissing, FolderRefused, PodGone, Seed

PIECE = 1 << 20
AT_ONCE = 2
_FOLDER_MODE = 0o755


class DockerFolders:
    """The folders of one engine's containers."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="docker-folders")

    def close(self) -> None:
        """End what is being read."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def save(self, container: str, path: str) -> AsyncGenerator[bytes, None]:
        """See :meth:`node_agent.drivers.port.Driver.save_path`."""
        loop = asyncio.get_running_loop()
        api = self._engine.api
        try:
            stream, _ = await self._engine.call(lambda: api.get_archive(container, path, chunk_size=PIECE))
        except PodGone as error:
            if "No such container" in str(error):
                raise
            raise FolderMissing(f"there is no {path} in the container") from None
        try:
            # Not by the engine's own threads: a large folder would hold up what else is asked of it.
            while (piece := await loop.run_in_executor(self._pool, _next, self._engine, stream)) is not None:
                yield piece
        finally:
            stream.close()

    async def put(self, container: str, seed: Seed) -> None:
        """Unpack the archive in a container that was not started. Raises :class:`DriverError`."""
        try:
            await self._engine.call(lambda: _put(self._engine.api, container, seed))
        except PodGone as error:
            raise FolderRefused(f"{seed.path} cannot be made: {error}") from None


def _next(engine: Engine, stream: Iterator[bytes]) -> bytes | None:
    try:
        return next(stream, None)
    except SDK_ERRORS as error:
        raise engine.explained(error) from None


def _put(api: Any, container: str, seed: Seed) -> None:
    parent, missing = posixpath.dirname(seed.path), list[str]()
    while parent != "/" and not _is_there(api, container, parent):
        parent, name = posixpath.split(parent)
        missing.insert(0, name)
    try:
        if missing:
            api.put_archive(container, parent, _folders(missing))
        with seed.archive.open("rb") as file:
            api.put_archive(container, posixpath.dirname(seed.path), file)
    except docker.errors.APIError as error:
        if "No such container" in str(error):
            raise
        raise FolderRefused(f"the engine does not unpack {seed.path}: {error.explanation or error}") from None


def _is_there(api: Any, container: str, path: str) -> bool:
    response = api.head(api._url("/containers/{0}/archive", container), params={"path": path}, timeout=CALL_TIMEOUT_S)  # noqa: SLF001
    return bool(response.status_code == 200)


def _folders(names: list[str]) -> bytes:
    """Each in the one before."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for count in range(len(names)):
            folder = tarfile.TarInfo(posixpath.join(*names[: count + 1]))
            folder.type, folder.mode = tarfile.DIRTYPE, _FOLDER_MODE
            tar.addfile(folder)
    return made.getvalue()
