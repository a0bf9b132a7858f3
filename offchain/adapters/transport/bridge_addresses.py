"""Which of a machine's addresses lead nowhere but to its own containers and virtual machines."""

from __future__ import annotations

import fcntl
import socket
import struct
from pathlib import Path

_INTERFACES, _ROUTES = Path("/sys/class/net"), Path("/proc/net/route")
_SIOCGIFADDR = 0x8915
"""Asks the kernel for the IPv4 address of an interface (netdevice(7))."""


def bridge_addresses() -> set[str]:
    """IPv4 addresses of this machine's bridges, but for those by which it reaches the world.

    An engine makes a bridge for each network of containers, with addresses that stand on every other machine, too: who
    dials one of them finds themselves.
    """
    outward = _outward()
    names = {path.parent.name for path in _INTERFACES.glob("*/bridge")}
    found = {_address(name) for name in names - outward}
    return {address for address in found if address is not None}


def _outward() -> set[str]:
    try:
        lines = _ROUTES.read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return set()
    return {name for name, destination, *_ in (line.split() for line in lines if line) if int(destination, 16) == 0}


def _address(name: str) -> str | None:
    request = struct.pack("256s", name.encode()[:15])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            return socket.inet_ntoa(fcntl.ioctl(asked, _SIOCGIFADDR, request)[20:24])
        except OSError:
            return None  # it has none, or is gone
