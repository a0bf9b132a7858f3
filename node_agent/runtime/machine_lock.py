"""Lock for one agent per host on a machine, independent of its folder, so that a copied folder is detected.

The lock is a Unix socket in the abstract namespace. It belongs to the network namespace, so the kernel releases it with
the process, and containers of tenants, each with its own namespace, do not see it. Any user of the machine could take
its name first: a socket of a user other than root and the agent's own is ignored.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import socket
import struct
from typing import Final, Self

from offchain.errors import OurError

log = logging.getLogger(__name__)

REPORT_S: Final = 600.0
"""Time for which a refused agent is in the status of the running one."""
_CONNECT_S: Final = 2.0
_CREDENTIALS = struct.Struct("3i")


class MachineLock:
    """Lock of one host's agent, from `__enter__` to `__exit__`, both in a running event loop."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._name = f"\0gantry-agent/{host}"
        self._socket: socket.socket | None = None
        self._refused_s: float | None = None
        self._refused = 0

    def __enter__(self) -> Self:
        """Take the lock. Raises OurError if another agent of this host holds it."""
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            listening.bind(self._name)
        except OSError as error:
            listening.close()
            if error.errno != errno.EADDRINUSE:
                raise
            self._require_other_user()
            return self
        listening.listen(4)
        self._socket = listening
        asyncio.get_running_loop().add_reader(listening, self._on_refused_agent)
        return self

    def __exit__(self, *_: object) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()

    @property
    def trouble(self) -> str:
        """A sentence about another agent on this machine; empty if none was started recently."""
        if self._refused_s is None or asyncio.get_running_loop().time() - self._refused_s > REPORT_S:
            return ""
        process = f"process {self._refused}" if self._refused else "a process in a container"
        return f"another agent with this host's key was started on this machine ({process}) and was refused"

    def _require_other_user(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
            asking.settimeout(_CONNECT_S)
            try:
                asking.connect(self._name)
            except OSError:  # it ended at this moment or does not answer, so its owner is unknown
                owner, pid = os.geteuid(), 0
            else:
                pid, owner = _peer(asking)
        if owner in (0, os.geteuid()):
            process = f" (process {pid})" if pid else ""
            raise OurError(
                f"Another agent with the key of host {self._host} runs on this machine{process}.",
                "Stop it first. If this is meant to be another host, its --state folder is a copy: set it up with "
                "gantry agent join and a new --state folder.",
                code="duplicate_agent",
            )
        log.warning("user %d holds the name of this host's agent on this machine; it is ignored", owner)

    def _on_refused_agent(self) -> None:
        if self._socket is None:
            return
        with contextlib.suppress(OSError):
            other, _ = self._socket.accept()
            with other:
                pid, user = _peer(other)
            if user in (0, os.geteuid()):
                self._refused, self._refused_s = pid, asyncio.get_running_loop().time()
                log.error("host %s: %s", self._host, self.trouble)


def _peer(connection: socket.socket) -> tuple[int, int]:
    """Return process and user of the other end. The process is 0 if it is in another PID namespace."""
    pid, user, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return pid, user
