"""Free ports on loopback."""

from __future__ import annotations

import errno
import random
import socket
from pathlib import Path

from offchain.devnet.paths import DevnetError

_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST = 10_240
_CHOICE = random.SystemRandom()


def require_free(port: int, what: str, hint: str) -> None:
    """Raise DevnetError if something listens on this port already."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                why = "is in use" if error.errno == errno.EADDRINUSE else "may not be used by this user"
                raise DevnetError(f"port {port}, {what}, {why}", hint) from None
            raise


def free(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    """Return a port that nothing is bound to.

    The port lies below the range from which the kernel takes the ports of outgoing connections. Otherwise a
    connection of another process could take the port before it is bound.
    """
    while True:
        port = _CHOICE.randrange(_LOWEST, _first_ephemeral())
        if _is_free(port, kind):
            return port


def free_for_both() -> int:
    """Return a port that nothing is bound to, neither for TCP nor for UDP."""
    while True:
        port = free()
        if _is_free(port, socket.SOCK_DGRAM):
            return port


def _is_free(port: int, kind: socket.SocketKind) -> bool:
    with socket.socket(type=kind) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _first_ephemeral() -> int:
    try:
        first = int(_EPHEMERAL.read_text(encoding="utf-8").split()[0])
    except (OSError, ValueError, IndexError):
        first = 32_768
    # Where the kernel may use nearly all ports, there is no range without outgoing connections.
    return first if first > _LOWEST + 1_000 else 32_768
