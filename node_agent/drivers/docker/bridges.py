"""Bridges of pods' networks, as this machine's kernel has them.

An engine that is killed while it makes a network leaves the bridge behind: it takes it for somebody else's afterwards,
and never removes it. One that is killed while it joins a container to a network leaves a pair of interfaces.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import struct
from collections.abc import Collection
from pathlib import Path

_INTERFACES = Path("/sys/class/net")
_DELETE_LINK = 17
_ACKNOWLEDGED_REQUEST = 5
_ERROR = 2
_HEADER = struct.Struct("=IHHII")
_LINK = struct.Struct("=BxHiII")
_FLAGS_GET, _FLAGS_SET = 0x8913, 0x8914
_FLAGS = struct.Struct("=16sh14x")
_UP = 1


def present(prefix: str) -> frozenset[str]:
    """The names of all interfaces that begin like this."""
    return frozenset(name for _, name in socket.if_nameindex() if name.startswith(prefix))


def remove(bridge: str) -> None:
    """Remove a bridge with all that hangs on it. Raises OSError where there is none, or this process may not."""
    remove_ports(bridge)
    _delete(bridge)


def remove_ports(bridge: str) -> None:
    """Remove the interfaces that hang on a bridge, each with its other end. Nothing where there is no such bridge."""
    folder = _INTERFACES / bridge / "brif"
    for port in sorted(path.name for path in folder.iterdir()) if folder.is_dir() else ():
        if (_INTERFACES / port).exists():  # not the other end of one that has just gone
            _delete(port)


def switch(prefix: str, *, up: bool) -> None:
    """Set all interfaces that begin like this up or down. A bridge that is down passes nothing.

    Raises OSError if the kernel refuses that for one of them, after it was tried for all.
    """
    refused: OSError | None = None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as kernel:
        for name in sorted(present(prefix)):
            with contextlib.suppress(OSError):
                raw, flags = _FLAGS.unpack(fcntl.ioctl(kernel, _FLAGS_GET, _FLAGS.pack(name.encode(), 0)))
                if bool(flags & _UP) == up:
                    continue
                try:
                    fcntl.ioctl(kernel, _FLAGS_SET, _FLAGS.pack(raw, flags ^ _UP))
                except OSError as error:
                    refused = error
    if refused is not None:
        raise refused


def _delete(name: str) -> None:
    """Have the kernel delete an interface (rtnetlink's RTM_DELLINK)."""
    link = _LINK.pack(socket.AF_UNSPEC, 0, socket.if_nametoindex(name), 0, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        kernel.bind((0, 0))
        kernel.send(_HEADER.pack(_HEADER.size + len(link), _DELETE_LINK, _ACKNOWLEDGED_REQUEST, 1, 0) + link)
        answer = kernel.recv(4096)
    _, kind, *_ = _HEADER.unpack_from(answer)
    code = struct.unpack_from("=i", answer, _HEADER.size)[0]
    if kind != _ERROR or code != 0:
        raise OSError(-code, f"the interface {name} could not be removed: {os.strerror(-code)}")


class Strays:
    """Finds bridges that no network has: what is one in two looks in a row. A network may just be in the making."""

    def __init__(self) -> None:
        self._seen: frozenset[str] = frozenset()

    def look(self, here: frozenset[str], used: Collection[str]) -> frozenset[str]:
        """Those that are to go. `here`: the bridges there are; `used`: those of networks."""
        unused = here.difference(used)
        found, self._seen = unused & self._seen, unused
        return found
