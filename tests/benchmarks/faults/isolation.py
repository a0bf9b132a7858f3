"""A network of this process's own: what is left in it afterwards is ours, whatever else the machine runs."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct

_CLONE_NEWNET = 0x40000000
_SET_FLAGS = 0x8914
_UP_AND_RUNNING = 0x41
LOOPBACK = "lo"


def enter() -> None:
    """Leave the machine's network for an empty one with a loopback. OSError where the kernel does not let us.

    To be called by the only thread: those that it starts afterwards, and child processes, are in it too.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", LOOPBACK.encode(), _UP_AND_RUNNING))


def interfaces() -> list[str]:
    """The network interfaces but the loopback."""
    return [name for _, name in socket.if_nameindex() if name != LOOPBACK]
