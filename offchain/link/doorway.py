"""A listening socket that bounds how many strangers stand in the door: who connected and has proven nothing yet.

Each costs a file descriptor, and a program that has none left can do nothing at all. When there are too many, the one
that has stood there longest goes: who has something to say says it at once, who wants to hold places does not.
"""

from __future__ import annotations

import contextlib
import socket
import weakref


class Doorway(socket.socket):
    """Bound to a TCP address, ready to listen. `most`: strangers at once. Raises OSError."""

    def __init__(self, ip: str, port: int, most: int) -> None:
        super().__init__(socket.AF_INET6 if ":" in ip else socket.AF_INET, socket.SOCK_STREAM)
        self._most = most
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
        """The next stranger; the one of longest standing goes where there are too many."""
        made, address = super().accept()
        self._strangers.pop(made.fileno(), None)
        self._strangers[made.fileno()] = weakref.ref(made)
        if len(self._strangers) > self._most:
            self._strangers = {number: known for number, known in self._strangers.items() if _is_open(known, number)}
        if len(self._strangers) > self._most:
            self._turn_away(next(iter(self._strangers)))
        return made, address

    def known(self, number: int) -> None:
        """Who has the descriptor with this number is a stranger no more."""
        self._strangers.pop(number, None)

    def _turn_away(self, number: int) -> None:
        found = self._strangers.pop(number)()
        if found is not None:
            with contextlib.suppress(OSError):
                # Whoever serves it sees its end, and closes it.
                found.shutdown(socket.SHUT_RDWR)


def _is_open(known: weakref.ref[socket.socket], number: int) -> bool:
    found = known()
    return found is not None and found.fileno() == number
