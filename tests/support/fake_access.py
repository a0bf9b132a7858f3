"""Access to pods without containers, for tests: programs are functions, files are in memory."""

from __future__ import annotations

import asyncio
import io
import tarfile
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final

from node_agent.drivers.access_port import AccessRefused, ByteStream, ExecSession, Output
from node_agent.drivers.docker.container_paths import UNCOPIED, hidden_below
from node_agent.drivers.port import PodGone

PIECE: Final = 1 << 18
NOT_FOUND: Final = 127
KILLED: Final = 137
_PIPE: Final = 64


class FakeIo:
    """Input, outputs and terminal size of a fake program."""

    def __init__(self, size: tuple[int, int] | None) -> None:
        self.size = size
        self.resized = asyncio.Event()
        self.input: asyncio.Queue[bytes] = asyncio.Queue(_PIPE)
        self.output: asyncio.Queue[Output] = asyncio.Queue(_PIPE)

    async def read(self) -> bytes:
        """Return the next input; empty at its end."""
        return await self.input.get()

    async def write(self, data: bytes, channel: int = 1) -> None:
        """Write output. With a terminal there is only channel 0."""
        await self.output.put(Output(0 if self.size is not None else channel, data))


FakeExecProgram = Callable[[tuple[str, ...], FakeIo], Awaitable[int]]
"""(argv, io) -> exit code"""
FakeServer = Callable[[asyncio.StreamReader, Callable[[bytes], None]], Awaitable[None]]
"""(incoming stream, send) -> the connection is closed when it returns"""


@dataclass
class FakePod:
    programs: Mapping[str, FakeExecProgram] = field(default_factory=dict)
    ports: Mapping[int, FakeServer] = field(default_factory=dict)
    services: tuple[str, ...] = ("main",)
    files: dict[str, bytes] = field(default_factory=dict)
    """Content by absolute path."""
    folders: set[str] = field(default_factory=lambda: {"/"})
    hidden: frozenset[str] = UNCOPIED
    """Mounts that copies do not reach."""


class FakeExec:
    def __init__(self, program: FakeExecProgram | None, argv: tuple[str, ...], size: tuple[int, int] | None) -> None:
        self._io = FakeIo(size)
        self._program: asyncio.Future[int] = asyncio.ensure_future(self._run(program, argv))

    async def _run(self, program: FakeExecProgram | None, argv: tuple[str, ...]) -> int:
        if program is None:
            await self._io.write(f"{argv[0]}: not found\n".encode(), 2)
            return NOT_FOUND
        return await program(argv, self._io)

    async def read(self) -> Output | None:
        getting = asyncio.ensure_future(self._io.output.get())
        try:
            either: set[asyncio.Future[Any]] = {getting, self._program}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if getting.done():
                return getting.result()
            return None if self._io.output.empty() else self._io.output.get_nowait()
        finally:
            getting.cancel()

    async def write(self, data: bytes) -> None:
        await self._put(data)

    async def end_input(self) -> None:
        await self._put(b"")

    async def resize(self, rows: int, columns: int) -> None:
        await asyncio.sleep(0)
        if self._io.size is not None:
            self._io.size = (rows, columns)
            self._io.resized.set()

    async def exit_code(self) -> int:
        return KILLED if self._program.cancelled() else await self._program

    async def kill(self) -> None:
        self._program.cancel()
        await asyncio.gather(self._program, return_exceptions=True)

    async def _put(self, data: bytes) -> None:
        putting = asyncio.ensure_future(self._io.input.put(data))
        try:
            either: set[asyncio.Future[Any]] = {putting, self._program}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            putting.cancel()


class FakeStream:
    def __init__(self, server: FakeServer) -> None:
        self._inwards = asyncio.StreamReader()
        self._outwards = asyncio.StreamReader()
        self._task = asyncio.ensure_future(self._serve(server))

    async def _serve(self, server: FakeServer) -> None:
        try:
            await server(self._inwards, self._outwards.feed_data)
        finally:
            self._outwards.feed_eof()

    async def read(self) -> bytes:
        return await self._outwards.read(PIECE)

    async def write(self, data: bytes) -> None:
        if self._task.done():
            raise ConnectionResetError
        self._inwards.feed_data(data)
        await asyncio.sleep(0)

    async def end(self) -> None:
        self._inwards.feed_eof()

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


class FakeAccess:
    """Access to pods in memory. `pods`: running pods by lease."""

    def __init__(self, pods: dict[int, FakePod]) -> None:
        self.pods = pods

    async def exec(
        self, lease: int, service: str | None, argv: tuple[str, ...], *, tty: bool, rows: int, columns: int
    ) -> ExecSession:
        pod = self._pod(lease, service)
        await asyncio.sleep(0)
        return FakeExec(pod.programs.get(argv[0]), argv, (rows, columns) if tty else None)

    async def dial(self, lease: int, port: int) -> ByteStream:
        server = self._pod(lease, None).ports.get(port)
        await asyncio.sleep(0)
        if server is None:
            raise AccessRefused(f"nothing listens on port {port} in the pod")
        return FakeStream(server)

    async def get(self, lease: int, service: str | None, path: str) -> AsyncGenerator[bytes, None]:
        pod = self._pod(lease, service)
        base = PurePosixPath(path)
        hidden_below(path, pod.hidden)
        inside = {found: data for found, data in pod.files.items() if PurePosixPath(found).is_relative_to(base)}
        if not inside and path.rstrip("/") not in pod.folders:
            raise AccessRefused(f"there is no {path} in the pod")
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w") as tar:
            if path not in inside:
                folder = tarfile.TarInfo(base.name)
                folder.type, folder.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(folder)
            for found in sorted(inside):
                info = tarfile.TarInfo(str(PurePosixPath(base.name) / PurePosixPath(found).relative_to(base)))
                info.size = len(inside[found])
                tar.addfile(info, io.BytesIO(inside[found]))
        view = made.getbuffer()
        for start in range(0, len(view), PIECE):
            yield bytes(view[start : start + PIECE])

    async def hidden(self, lease: int, service: str | None, folder: str) -> tuple[str, ...]:
        return hidden_below(folder, self._pod(lease, service).hidden)

    async def put(self, lease: int, service: str | None, folder: str, archive: AsyncIterator[bytes]) -> None:
        pod = self._pod(lease, service)
        if (folder.rstrip("/") or "/") not in pod.folders:
            raise AccessRefused(f"there is no folder {folder} in the pod")
        whole = io.BytesIO(b"".join([piece async for piece in archive]))
        with tarfile.open(fileobj=whole) as tar:
            for member in tar:
                path = str(PurePosixPath(folder) / member.name)
                content = tar.extractfile(member) if member.isreg() else None
                if content is not None:
                    pod.files[path] = content.read()
                elif member.isdir():
                    pod.folders.add(path)

    async def close(self) -> None:
        """Do nothing."""

    def _pod(self, lease: int, service: str | None) -> FakePod:
        pod = self.pods.get(lease)
        if pod is None:
            raise PodGone(f"there is no pod of lease {lease}")
        if service is not None and service not in pod.services:
            raise AccessRefused(f"the pod has no service {service!r}; it has {', '.join(pod.services)}")
        return pod
