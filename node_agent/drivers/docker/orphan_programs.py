"""Programs of tenants that an agent before this one started in pods, and lost sight of when it was killed."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import signal
from pathlib import Path
from typing import Any, Final

from node_agent.drivers.docker.engine import Engine
from node_agent.drivers.docker.spec import LABEL_HOST
from node_agent.drivers.port import DriverError

SESSION_MARK: Final = "GANTRY_EXEC"
"""Set for every program that a tenant starts, so that one the agent lost sight of is found again."""
HANG_UP_S: Final = 2.0


async def end_orphans(url: str | None, host: str) -> int:
    """End them, in every pod of this host on the engine at `url`; how many there were. Raises DriverError."""
    engine = Engine(url)
    try:
        await engine.info()
        running = functools.partial(engine.api.containers, filters={"label": f"{LABEL_HOST}={host}"})
        return sum([await _end_in(engine, str(found["Id"])) for found in await engine.call(running)])
    finally:
        engine.close()


async def _end_in(engine: Engine, container: str) -> int:
    """The same in one container."""
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
    """End a process of a container, as far as this machine shows it to us; whether it was there.

    Whether it is the container's is seen by its namespace, while a descriptor holds its number.
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
    """The mount namespace of a process. Raises OSError."""
    return Path(f"/proc/{pid}/ns/mnt").readlink()


def _is_marked(pid: int) -> bool:
    try:
        with Path(f"/proc/{pid}/environ").open("rb") as file:
            return any(part.startswith(SESSION_MARK.encode() + b"=") for part in file.read(1 << 20).split(b"\0"))
    except OSError:
        return False
