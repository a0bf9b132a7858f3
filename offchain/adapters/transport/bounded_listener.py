"""A listening socket that bounds unproven connections, and refuses new ones before their handshake costs anything.

Each unproven connection takes a file descriptor, and a program without free descriptors cannot work. Where there are
too many, the oldest is closed: a peer with a request sends it at once.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import weakref

from offchain.adapters.transport.limits import Admission
from offchain.adapters.transport.port import Admit, admit_all

REFUSED_AT_ONCE = 64
"""Connections refused in one turn of the event loop."""
_RESET_AT_CLOSE = struct.pack("ii", 1, 0)


class BoundedListener(socket.socket):
    """A socket bound to a TCP address. `most`: unproven connections at a time. Raises OSError."""

    def __init__(self, ip: str, port: int, most: int) -> None:
        super().__init__(socket.AF_INET6 if ":" in ip else socket.AF_INET, socket.SOCK_STREAM)
        self._most = most
        self.admit: Admit = admit_all
        self._strangers: dict[int, weakref.ref[socket.socket]] = {}
        try:
            self.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if self.family == socket.AF_INET6:
                self.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            self.bind((ip, port))
        except OSError:
            self.close()
            raise

    def accept(self) -> tuple[socket.socket, object]:
        """Return the next connection that is admitted; close the oldest unproven one where there are too many.

        Raises ConnectionAbortedError after many refused ones, so that the event loop can do other work.
        """
        for _ in range(REFUSED_AT_ONCE):
            made, address = super().accept()
            if self.admit(address[0], True) is Admission.ACCEPT:  # noqa: FBT003  (a callback)
                break
            made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
            made.close()
        else:
            raise ConnectionAbortedError("many connections were refused")
        self._strangers.pop(made.fileno(), None)
        self._strangers[made.fileno()] = weakref.ref(made)
        if len(self._strangers) > self._most:
            self._strangers = {number: ref for number, ref in self._strangers.items() if _is_open(ref, number)}
        if len(self._strangers) > self._most:
            self._shut_down(next(iter(self._strangers)))
        return made, address

    def stop_counting(self, number: int) -> None:
        """Stop counting the connection with this descriptor: its key is being proven."""
        self._strangers.pop(number, None)

    def _shut_down(self, number: int) -> None:
        found = self._strangers.pop(number)()
        if found is not None:
            with contextlib.suppress(OSError):
                # The code that serves the connection sees its end, and closes it.
                found.shutdown(socket.SHUT_RDWR)


def _is_open(ref: weakref.ref[socket.socket], number: int) -> bool:
    found = ref()
    return found is not None and found.fileno() == number
