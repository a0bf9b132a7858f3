"""UDP sockets of this process that a library opened, found by their address. Linux only; elsewhere nothing is found."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import struct
from collections.abc import Collection

_ATTACH_FILTER = 26
"""SO_ATTACH_FILTER of Linux, which the socket module does not name."""
_RETURN_NOTHING = struct.pack("=HBBI", 0x06, 0, 0, 0)
"""A classic BPF program of one instruction: keep 0 bytes of the packet, which drops it."""
_FDS = "/proc/self/fd"


def drop_all(addresses: Collection[str]) -> int:
    """Have the kernel drop every packet that arrives at these UDP sockets of this process; gives how many were found.

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
                if one.type == socket.SOCK_DGRAM and _address(one) in addresses:
                    one.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, argument)
                    found += 1
    return found


def _address(one: socket.socket) -> str:
    if one.family not in (socket.AF_INET, socket.AF_INET6):
        return ""
    ip, port = one.getsockname()[:2]
    return f"[{ip}]:{port}" if one.family == socket.AF_INET6 else f"{ip}:{port}"
