"""Linux interfaces that the transports need: addresses of bridges, sockets of this process, number of descriptors."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import resource
import socket
import struct
from collections.abc import Collection
from pathlib import Path

_INTERFACES, _ROUTES = Path("/sys/class/net"), Path("/proc/net/route")
_FDS = "/proc/self/fd"
_SIOCGIFADDR = 0x8915
"""ioctl that returns the IPv4 address of an interface (netdevice(7))."""
_ATTACH_FILTER = 26
"""SO_ATTACH_FILTER of Linux, which the socket module does not name."""
_RETURN_NOTHING = struct.pack("=HBBI", 0x06, 0, 0, 0)
"""A classic BPF program of one instruction: keep 0 bytes of the packet, which drops it."""


def raise_fd_limit(wanted: int) -> None:
    """Raise the limit of open files, connections included, to `wanted`, or as far as the hard limit permits.

    The usual limit is 1,024.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def bridge_addresses() -> set[str]:
    """IPv4 addresses of this machine's bridges, except those with a default route.

    An engine makes a bridge for each network of containers. Its address exists on other machines as well, so that a
    peer that dials it reaches itself.
    """
    outward = _interfaces_with_default_route()
    names = {path.parent.name for path in _INTERFACES.glob("*/bridge")}
    found = {_interface_address(name) for name in names - outward}
    return {address for address in found if address is not None}


def drop_packets_to(addresses: Collection[str]) -> int:
    """Have the kernel drop every packet that arrives at these UDP sockets of this process; return how many were found.

    `addresses`: `ip:port`, an IPv6 address in brackets. The sockets stay open, so that their owner notices nothing.
    """
    program = ctypes.create_string_buffer(_RETURN_NOTHING, len(_RETURN_NOTHING))
    argument = struct.pack("HP", 1, ctypes.addressof(program))
    found = 0
    for name in os.listdir(_FDS) if addresses and os.path.isdir(_FDS) else ():  # noqa: PTH112, PTH208
        with contextlib.suppress(OSError):
            if not os.readlink(f"{_FDS}/{name}").startswith("socket:"):  # noqa: PTH115  (a name, not a path)
                continue
            with socket.socket(fileno=os.dup(int(name))) as one:
                if one.type == socket.SOCK_DGRAM and _socket_address(one) in addresses:
                    one.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, argument)
                    found += 1
    return found


def _interfaces_with_default_route() -> set[str]:
    try:
        lines = _ROUTES.read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return set()
    return {name for name, destination, *_ in (line.split() for line in lines if line) if int(destination, 16) == 0}


def _interface_address(name: str) -> str | None:
    request = struct.pack("256s", name.encode()[:15])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            return socket.inet_ntoa(fcntl.ioctl(any_socket, _SIOCGIFADDR, request)[20:24])
        except OSError:
            return None  # it has no address, or is gone


def _socket_address(one: socket.socket) -> str:
    if one.family not in (socket.AF_INET, socket.AF_INET6):
        return ""
    ip, port = one.getsockname()[:2]
    return f"[{ip}]:{port}" if one.family == socket.AF_INET6 else f"{ip}:{port}"
