"""Files in containers through the engine's archive API: results, folders, and links on paths."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import posixpath
import re
import tarfile
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import docker

from node_agent.drivers.docker.container_paths import PathRefused, check_targets, mount_targets
from node_agent.drivers.docker.engine import CALL_TIMEOUT_S, SDK_ERRORS, Engine
from node_agent.drivers.docker.spec import LOG_FILE_MIB, MIB
from node_agent.drivers.port import (
    MAX_RESULT_BYTES,
    CollectedResult,
    FolderMissing,
    FolderRefused,
    ImageInvalid,
    PodGone,
    Seed,
)
from offchain.adapters.transport.tar_members import BadArchive, MemberKind, Members

LOG_LINE_OVERHEAD = 80
"""Approximate bytes that the engine's log file needs for each line in addition to the line."""
_NO_WAY = re.compile(r"too many (levels of symbolic )?links|not a directory|file name too long", re.IGNORECASE)
"""Errors for a path whose folders the program replaced. The engine reports them as internal errors."""


_SPECIAL = 0x8F280000
"""Type bits of a mode in the engine's answers (Go's os.ModeType): folder, link, device, pipe, socket, irregular."""
PIECE = 1 << 20
AT_ONCE = 2
_FOLDER_MODE = 0o755
_LINK: Final = 1 << 27
"""Symbolic link bit of a mode in Go's encoding."""
_PIECE: Final = 1 << 12
_MEMBER: Final = 1 << 14
"""Bytes that hold a link's archive entry: its name and its target are 4096 bytes each at most."""
_OK: Final = 200
_MISSING: Final = 404
_SERVER_FAULT: Final = 500


def read_output(api: Any, container: str) -> CollectedResult:
    """Return the container's standard output, byte for byte."""
    data = bytearray()
    stream = api.logs(container, stdout=True, stderr=False, timestamps=False, stream=True, follow=False)
    for lines, chunk in enumerate(stream, start=1):
        data += chunk
        # The engine drops the oldest output when its log is full; a result cut off at its start must not pass as one.
        if len(data) > MAX_RESULT_BYTES or len(data) + lines * LOG_LINE_OVERHEAD > LOG_FILE_MIB * MIB:
            stream.close()
            return _too_large(f"standard output is more than the {MAX_RESULT_BYTES} bytes a result may have")
    return CollectedResult(bytes(data))


def read_file(api: Any, container: str, path: str) -> CollectedResult:
    """Return one regular file from the container's file system.

    The pod decides what is at the path: everything but a regular file of at most MAX_RESULT_BYTES is a failure of the
    program, stated in the note. At most that many bytes are read, even if the file changes meanwhile.
    """
    try:
        stream, stat = api.get_archive(container, path)
    except docker.errors.NotFound as error:
        if "No such container" in str(error):
            raise
        return CollectedResult(b"", f"the program left no file {path}")
    except docker.errors.APIError as error:
        if _NO_WAY.search(str(error)) is None:
            raise
        return CollectedResult(b"", f"the program left no way to a file {path}")
    try:
        if int(stat.get("mode", 0)) & _SPECIAL:
            return CollectedResult(b"", f"{path} is not a regular file")
        if int(stat.get("size", 0)) > MAX_RESULT_BYTES:
            return _too_large(f"{path} has {stat['size']} bytes, more than the {MAX_RESULT_BYTES} a result may have")
        return _only_file(_ChunkReader(stream), path)
    finally:
        stream.close()


def _only_file(archive: _ChunkReader, path: str) -> CollectedResult:
    members = Members(archive)
    try:
        member = next(iter(members))
    except BadArchive:  # a device, a pipe, or nothing: an archive holds no sockets
        return CollectedResult(b"", f"{path} is not a regular file")
    if member.kind is not MemberKind.FILE:
        return CollectedResult(b"", f"{path} is not a regular file")
    if member.size > MAX_RESULT_BYTES:
        return _too_large(f"{path} has {member.size} bytes, more than the {MAX_RESULT_BYTES} a result may have")
    try:
        return CollectedResult(b"".join(members.content(member)))
    except BadArchive:
        return CollectedResult(b"", f"{path} became shorter while it was read")


def _too_large(note: str) -> CollectedResult:
    return CollectedResult(b"", note, too_large=True)


class _ChunkReader(io.RawIOBase):
    """A chunked download as a readable file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        super().__init__()
        self._chunks = iter(chunks)
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        while size < 0 or len(self._rest) < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            self._rest += chunk
        taken, self._rest = (self._rest, b"") if size < 0 else (self._rest[:size], self._rest[size:])
        return taken


class ContainerFolders:
    """Reads folders of running containers, and writes folders of new ones."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="docker-folders")

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def save(self, container: str, path: str) -> AsyncGenerator[bytes, None]:
        """Implement :meth:`node_agent.drivers.port.Driver.save_path`."""
        loop = asyncio.get_running_loop()
        api = self._engine.api
        try:
            stream, _ = await self._engine.call(lambda: api.get_archive(container, path, chunk_size=PIECE))
        except PodGone as error:
            if "No such container" in str(error):
                raise
            raise FolderMissing(f"there is no {path} in the container") from None
        try:
            # Not in the engine's threads: a large folder would delay other calls.
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
    while parent != "/" and _head(api, container, parent).status_code != _OK:
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


def _folders(names: list[str]) -> bytes:
    """Return a tar archive of these folders, each in the one before."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for count in range(len(names)):
            folder = tarfile.TarInfo(posixpath.join(*names[: count + 1]))
            folder.type, folder.mode = tarfile.DIRTYPE, _FOLDER_MODE
            tar.addfile(folder)
    return made.getvalue()


def check_links(api: Any, container: str) -> dict[str, Any]:
    """Refuse a container if a link leads a mount, its program or its working directory to a protected folder. Blocks.

    Returns the container's inspection. Raises :class:`ImageInvalid`.
    """
    inspection: dict[str, Any] = api.inspect_container(container)
    try:
        check_targets(mount_targets(inspection), lambda path: _look(api, container, path))
    except PathRefused as error:
        raise ImageInvalid(f"the image cannot be used: {error}") from None
    return inspection


def _look(api: Any, container: str, path: str) -> str | None:
    """Implement :data:`node_agent.drivers.docker.container_paths.Look`.

    The engine follows no link at the end of a path.
    """
    response = _head(api, container, path)
    if response.status_code == _MISSING:
        return None
    if response.status_code >= _SERVER_FAULT and _head(api, container, "/").status_code == _OK:
        # The error concerns this path only: links in a circle, or a path below a file.
        raise PathRefused(f"{path} leads nowhere")
    if response.status_code != _OK:
        # A response to HEAD has no text; the response to GET has one.
        api.get_archive(container, path, chunk_size=_PIECE)[0].close()
        api._raise_for_status(response)  # noqa: SLF001
    stat = json.loads(base64.b64decode(response.headers["X-Docker-Container-Path-Stat"]))
    return _target(api, container, path) if int(stat["mode"]) & _LINK else ""


def _head(api: Any, container: str, path: str) -> Any:
    url = api._url("/containers/{0}/archive", container)  # noqa: SLF001
    return api.head(url, params={"path": path}, timeout=CALL_TIMEOUT_S)


def _target(api: Any, container: str, path: str) -> str:
    """Return where a link leads, as written in it. The stat gives its target within the image only."""
    stream, _ = api.get_archive(container, path, chunk_size=_PIECE)
    try:
        data = b""
        while len(data) < _MEMBER and (piece := next(stream, None)) is not None:
            data += piece
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            member = tar.next()
    except tarfile.TarError as error:
        raise PathRefused(f"the link {path} cannot be read: {error}") from None
    finally:
        stream.close()
    if member is None or not member.issym():
        raise PathRefused(f"the link {path} cannot be read")
    return str(member.linkname)
