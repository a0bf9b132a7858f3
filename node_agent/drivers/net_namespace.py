"""TCP connections to ports on a pod's loopback address.

A thread enters the network namespace, connects a socket there and ends; the socket keeps its namespace. If the agent
may not enter (it is not root, or does not see the engine's processes), it connects to the pod's address on its bridge.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import socket
import threading
from pathlib import Path
from typing import Final

CONNECT_S: Final = 5.0
_CLONE_NEWNET: Final = 0x4000_0000


async def connect_inside(pid: int, container: str, addresses: list[str], port: int) -> socket.socket:
    """Return a connected, non-blocking TCP socket. `pid`: the container's first process. Raises OSError."""
    namespace = _open_namespace(pid, container)
    if namespace is not None:
        return await _in_namespace(namespace, port)
    return await _by_address(addresses, port)


def _open_namespace(pid: int, container: str) -> int | None:
    """Return a descriptor of the pod's network namespace; None if it cannot be entered."""
    if os.geteuid() != 0:
        return None
    with contextlib.suppress(OSError):
        with Path(f"/proc/{pid}/cgroup").open(encoding="utf-8") as file:
            # The engine may run on another machine or in another PID namespace: then the PID is another process.
            known = container in file.read(1 << 16)
        if known:
            handle = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            if os.fstat(handle).st_ino != Path("/proc/self/ns/net").stat().st_ino:
                return handle
            os.close(handle)
    return None


async def _in_namespace(namespace: int, port: int) -> socket.socket:
    loop = asyncio.get_running_loop()
    made: asyncio.Future[socket.socket] = loop.create_future()

    def work() -> None:
        try:
            result: socket.socket | OSError = _enter_and_connect(namespace, port)
        except OSError as error:
            result = error
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(_hand_over, made, result)

    # A thread of its own, which stays in the pod's namespace until it ends.
    threading.Thread(target=work, name="pod-connect", daemon=True).start()
    return await made


def _hand_over(made: asyncio.Future[socket.socket], result: socket.socket | OSError) -> None:
    if made.cancelled():
        if isinstance(result, socket.socket):
            result.close()
    elif isinstance(result, OSError):
        made.set_exception(result)
    else:
        made.set_result(result)


def _enter_and_connect(namespace: int, port: int) -> socket.socket:
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        if libc.setns(namespace, _CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(namespace)
    problem: OSError | None = None
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        made = socket.socket(family, socket.SOCK_STREAM)
        try:
            made.settimeout(CONNECT_S)
            made.connect((address, port))
        except OSError as error:
            made.close()
            problem = problem or error
        else:
            made.settimeout(0)
            return made
    assert problem is not None  # noqa: S101
    raise problem


async def _by_address(addresses: list[str], port: int) -> socket.socket:
    problem: OSError = OSError("the pod has no address that this agent can reach")
    for address in addresses:
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.settimeout(0)
        try:
            async with asyncio.timeout(CONNECT_S):
                await asyncio.get_running_loop().sock_connect(made, (address, port))
        except OSError as error:
            made.close()
            problem = error
        except BaseException:
            made.close()
            raise
        else:
            return made
    raise problem
