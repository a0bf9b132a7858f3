"""TCP ports on this machine."""

from __future__ import annotations

import errno
import socket

from offchain.local.places import LocalError


def require_free(port: int, what: str, remedy: str) -> None:
    """Raise LocalError where something listens on this port already."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                why = "is in use" if error.errno == errno.EADDRINUSE else "may not be used by this user"
                raise LocalError(f"port {port}, {what}, {why}", remedy) from None
            raise


def free(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    """A port that is free at the moment."""
    with socket.socket(type=kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def free_for_both() -> int:
    """A port that is free at the moment for TCP and for UDP."""
    with socket.socket(type=socket.SOCK_DGRAM) as udp:
        while True:
            port = free()
            try:
                udp.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
