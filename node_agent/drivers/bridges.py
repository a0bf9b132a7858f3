"""Bridges of pods' networks, as this machine's kernel has them.

An engine that is killed while it makes a network leaves the bridge behind. It takes it for somebody else's afterwards,
and never removes it.
"""

from __future__ import annotations

import fcntl
import socket
import struct
from collections.abc import Collection

_SET_FLAGS = 0x8914
_DELETE_BRIDGE = 0x89A1


def present(prefix: str) -> frozenset[str]:
    """The names of all interfaces that begin like this."""
    return frozenset(name for _, name in socket.if_nameindex() if name.startswith(prefix))


def remove(name: str) -> None:
    """Remove a bridge. Raises OSError where there is none of this name, or this process may not."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        # Only one that is down can be removed.
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", name.encode(), 0))
        fcntl.ioctl(any_socket, _DELETE_BRIDGE, struct.pack("16s", name.encode()))


class Strays:
    """Finds bridges that no network has: what is one in two looks in a row. A network may just be in the making."""

    def __init__(self) -> None:
        self._seen: frozenset[str] = frozenset()

    def look(self, here: frozenset[str], used: Collection[str]) -> frozenset[str]:
        """Those that are to go. `here`: the bridges there are; `used`: those of networks."""
        unused = here.difference(used)
        found, self._seen = unused & self._seen, unused
        return found
