"""Access to running pods of a Docker engine: programs, ports and copies."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import posixpath
import signal
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any, Final

from node_agent.drivers.access_port import AccessRefused, ByteStream, ExecSession, Output
from node_agent.drivers.docker.container_paths import hidden_below, mounts_of
from node_agent.drivers.docker.engine import Engine
from node_agent.drivers.docker.http import DockerHttp, HijackedStream
from node_agent.drivers.docker.spec import LABEL_HOST, LABEL_INDEX, LABEL_LEASE, LABEL_SERVICE
from node_agent.drivers.docker.start_gate import gate_of, is_open
from node_agent.drivers.net_namespace import connect_inside
from node_agent.drivers.port import DriverError, EngineBusy, PodGone

PIECE: Final = 1 << 17
MAX_DEPTH: Final = 64
"""Most folders in the path of a copy; the engine is queried for each."""
SESSION_MARK: Final = "GANTRY_EXEC"
"""Environment variable of every program that a tenant starts, by which a later agent finds it."""
HANG_UP_S: Final = 2.0


class DockerExecSession:
    def __init__(
        self, engine: DockerHttp, number: str, container_pid: int, stream: HijackedStream, *, tty: bool
    ) -> None:
        self._engine = engine
        self._number = number
        self._container_pid = container_pid
        self._stream = stream
        self._tty = tty

    async def read(self) -> Output | None:
        if not self._tty:
            found = await self._stream.read_output(PIECE)
            return None if found is None else Output(*found)
        try:
            data = await self._stream.reader.read(PIECE)
        except OSError:
            return None
        return Output(0, data) if data else None

    async def write(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            self._stream.writer.write(data)
            await self._stream.writer.drain()

    async def end_input(self) -> None:
        with contextlib.suppress(OSError, NotImplementedError):
            self._stream.writer.write_eof()

    async def resize(self, rows: int, columns: int) -> None:
        if self._tty:
            # The program may have ended, or not started yet; then the next size counts.
            with contextlib.suppress(DriverError):
                await self._engine.json("POST", f"/exec/{self._number}/resize", {"h": str(rows), "w": str(columns)})

    async def exit_code(self) -> int:
        await self._stream.close()
        found = await self._engine.json("GET", f"/exec/{self._number}/json")
        if found.get("Running"):
            raise EngineBusy("the Docker engine dropped the program's stream")
        return int(found.get("ExitCode") or 0)

    async def kill(self) -> None:
        """End the program as a closing terminal does: SIGHUP, then SIGKILL."""
        await self._stream.close()
        with contextlib.suppress(DriverError):
            found = await self._engine.json("GET", f"/exec/{self._number}/json")
            if found.get("Running"):
                await end_process(int(found.get("Pid") or 0), self._container_pid)


class TcpStream:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> bytes:
        try:
            return await self._reader.read(PIECE)
        except OSError:
            return b""

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def end(self) -> None:
        with contextlib.suppress(OSError):
            self._writer.write_eof()

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


class DockerAccess:
    """Access to the running pods of one host key on a Docker engine."""

    def __init__(self, url: str | None, host: str) -> None:
        self._engine = DockerHttp(url or os.environ.get("DOCKER_HOST"))
        self._host = host

    async def exec(
        self, lease: int, service: str | None, argv: tuple[str, ...], *, tty: bool, rows: int, columns: int
    ) -> ExecSession:
        container = await self._container(lease, service)
        wanted = {
            "AttachStdin": True,
            "AttachStdout": True,
            "AttachStderr": True,
            "Tty": tty,
            "Cmd": list(argv),
            "Env": [f"{SESSION_MARK}={lease}", *(["TERM=xterm-256color"] if tty else [])],
            "ConsoleSize": [rows, columns] if tty else None,
        }
        state = await self._engine.json("GET", f"/containers/{container}/json")
        pid = int((state.get("State") or {}).get("Pid") or 0)
        await asyncio.to_thread(_check_gate, state)
        try:
            number = (await self._engine.json("POST", f"/containers/{container}/exec", body=wanted))["Id"]
        except PodGone:
            raise
        except DriverError as error:
            raise PodGone(str(error)) from None  # paused, or just ending
        try:
            stream = await self._engine.hijack(f"/exec/{number}/start", {"Detach": False, "Tty": tty})
        except (EngineBusy, PodGone):
            raise
        except DriverError as error:
            raise AccessRefused(str(error)) from None
        started = DockerExecSession(self._engine, number, pid, stream, tty=tty)
        if tty:
            await started.resize(rows, columns)  # engines before 25 do not know ConsoleSize
        return started

    async def dial(self, lease: int, port: int) -> ByteStream:
        container = await self._container(lease, None)
        state = await self._engine.json("GET", f"/containers/{container}/json")
        pid = int((state.get("State") or {}).get("Pid") or 0)
        if not pid:
            raise PodGone(f"the pod of lease {lease} is not running")
        try:
            connection = await connect_inside(pid, container, _addresses(state), port)
        except OSError as error:
            raise AccessRefused(
                f"nothing in the pod takes a connection on port {port} ({error.strerror or 'no answer'})"
            ) from None
        reader, writer = await asyncio.open_connection(sock=connection, limit=PIECE)
        return TcpStream(reader, writer)

    async def get(self, lease: int, service: str | None, path: str) -> AsyncGenerator[bytes, None]:
        container = await self._container(lease, service)
        parent, name = posixpath.split(posixpath.normpath(path))
        # A link as the last part of the path is copied as a link.
        hidden_below(posixpath.join(await self._real_path(container, parent), name), *await self._mounts(container))
        archive = self._engine.download(f"/containers/{container}/archive", {"path": path})
        try:
            async for piece in archive:
                yield piece
        except PodGone as error:
            raise _no_path(error, path) from None
        finally:
            await archive.aclose()

    async def hidden(self, lease: int, service: str | None, folder: str) -> tuple[str, ...]:
        container = await self._container(lease, service)
        return hidden_below(await self._real_path(container, folder), *await self._mounts(container))

    async def put(self, lease: int, service: str | None, folder: str, archive: AsyncIterator[bytes]) -> None:
        container = await self._container(lease, service)
        try:
            await self._engine.upload(
                f"/containers/{container}/archive", {"path": folder, "noOverwriteDirNonDir": "1"}, archive
            )
        except PodGone as error:
            raise _no_path(error, folder) from None
        except EngineBusy as error:
            # The engine reports a read-only or full file system as an internal error.
            raise AccessRefused(f"the files cannot be unpacked in {folder}: {error}") from None
        except DriverError as error:
            raise AccessRefused(f"the files cannot be unpacked in {folder}: {error}") from None

    async def close(self) -> None:
        await self._engine.close()

    async def _mounts(self, container: str) -> tuple[frozenset[str], frozenset[str]]:
        return mounts_of(await self._engine.json("GET", f"/containers/{container}/json"))

    async def _real_path(self, container: str, path: str) -> str:
        """Return the absolute path with its links resolved as the engine does, as far as the path exists.

        The pod may change its links at any time: the result is for messages to the tenant only.
        """
        real = "/"
        names = [name for name in posixpath.normpath(path).split("/") if name]
        if len(names) > MAX_DEPTH:
            raise AccessRefused(f"{path[:200]} is more than {MAX_DEPTH} folders deep")
        for place, name in enumerate(names):
            here = posixpath.join(real, name)
            found = await self._engine.path_stat(f"/containers/{container}/archive", here)
            if found is None:
                return posixpath.join(real, *names[place:])
            real = str(found.get("linkTarget") or here)
        return real

    async def _container(self, lease: int, service: str | None) -> str:
        """Return the id of a service's container; None: of the pod's first service."""
        found = await self._containers({LABEL_HOST: self._host, LABEL_LEASE: str(lease)})
        if not found:
            raise PodGone(f"the pod of lease {lease} is not running")
        if service is None:
            # A pod sandbox has no service.
            named = [one for one in found if LABEL_SERVICE in one["Labels"]] or found
            return str(min(named, key=lambda one: int(one["Labels"].get(LABEL_INDEX, 0)))["Id"])
        for one in found:
            if one["Labels"].get(LABEL_SERVICE) == service:
                return str(one["Id"])
        names = sorted(one["Labels"][LABEL_SERVICE] for one in found if LABEL_SERVICE in one["Labels"])
        raise AccessRefused(f"no service {service!r} runs in the pod; running: {', '.join(names) or 'one, unnamed'}")

    async def _containers(self, labels: dict[str, str]) -> list[dict[str, Any]]:
        wanted = {"label": [f"{name}={value}" for name, value in labels.items()], "status": ["running"]}
        found: list[dict[str, Any]] = await self._engine.json(
            "GET", "/containers/json", {"filters": json.dumps(wanted)}
        )
        return found


def _check_gate(state: dict[str, Any]) -> None:
    """Refuse a container whose mounts were not checked yet. Blocks."""
    gate = gate_of(state)
    try:
        checked = gate is None or is_open(gate)
    except OSError:
        checked = False
    if not checked:
        raise AccessRefused("the container is being checked before its program starts; try again")


def _addresses(state: dict[str, Any]) -> list[str]:
    networks = (state.get("NetworkSettings") or {}).get("Networks") or {}
    return [str(network["IPAddress"]) for network in networks.values() if network.get("IPAddress")]


def _no_path(error: PodGone, path: str) -> DriverError:
    if "No such container" in str(error):
        return error
    return AccessRefused(f"there is no {path} in the pod")


async def end_orphan_programs(url: str | None, host: str) -> int:
    """End programs that an earlier agent started in this host's pods; return their number. Raises DriverError."""
    engine = Engine(url)
    try:
        await engine.info()
        running = functools.partial(engine.api.containers, filters={"label": f"{LABEL_HOST}={host}"})
        return sum([await _end_in(engine, str(found["Id"])) for found in await engine.call(running)])
    finally:
        engine.close()


async def _end_in(engine: Engine, container: str) -> int:
    ended = 0
    with contextlib.suppress(DriverError):
        inspected: dict[str, Any] = await engine.call(lambda: engine.api.inspect_container(container))
        container_pid = int((inspected.get("State") or {}).get("Pid") or 0)
        for number in inspected.get("ExecIDs") or ():
            program: dict[str, Any] = await engine.call(functools.partial(engine.api.exec_inspect, number))
            pid = int(program.get("Pid") or 0)
            if program.get("Running") and _is_marked(pid):
                ended += await end_process(pid, container_pid)
    return ended


async def end_process(pid: int, container_pid: int) -> bool:
    """End a process of a container as far as it is visible on this machine; return whether it existed.

    Its mount namespace shows whether it is the container's, while a descriptor keeps its number from reuse.
    """
    if pid <= 1 or container_pid <= 1:
        return False
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if _namespace(pid) != _namespace(container_pid):
            return False
        signal.pidfd_send_signal(handle, signal.SIGHUP)
        if not await _ended(handle, HANG_UP_S):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


async def _ended(handle: int, patience_s: float) -> bool:
    """Wait until a process has ended: its descriptor becomes readable then."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(handle, over.set)
    try:
        async with asyncio.timeout(patience_s):
            await over.wait()
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(handle)
    return True


def _namespace(pid: int) -> Path:
    """Return the mount namespace of a process. Raises OSError."""
    return Path(f"/proc/{pid}/ns/mnt").readlink()


def _is_marked(pid: int) -> bool:
    try:
        with Path(f"/proc/{pid}/environ").open("rb") as file:
            return any(part.startswith(SESSION_MARK.encode() + b"=") for part in file.read(1 << 20).split(b"\0"))
    except OSError:
        return False
