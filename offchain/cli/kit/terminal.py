"""The user's end of a program in a pod: standard input and outputs, and a terminal in raw mode."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import termios
import threading
import tty
from collections.abc import AsyncIterator, Callable, Iterator

PIECE = 1 << 16
_STDIN, _STDOUT = 0, 1


class Escape:
    """Watches what is typed for a tilde and a dot at the beginning of a line, which leave a shell that hangs. Pure."""

    def __init__(self) -> None:
        self._at_start = True
        self._tilde = False

    def feed(self, typed: bytes) -> tuple[bytes, bool]:
        """(what to send, whether to leave). A tilde is held back until the next key; typed twice, it is one."""
        send = bytearray()
        for byte in typed:
            if self._tilde:
                self._tilde = False
                if byte == ord("."):
                    return bytes(send), True
                if byte != ord("~"):
                    send.append(ord("~"))
                send.append(byte)
            elif self._at_start and byte == ord("~"):
                self._tilde = True
                continue
            else:
                send.append(byte)
            self._at_start = byte in b"\r\n"
        return bytes(send), False


def size() -> tuple[int, int]:
    """Rows and columns of the terminal."""
    found = shutil.get_terminal_size()
    return max(1, min(found.lines, 1000)), max(1, min(found.columns, 1000))


def is_terminal() -> bool:
    """Whether a person sits at both ends."""
    return os.isatty(_STDIN) and os.isatty(_STDOUT)


@contextlib.contextmanager
def raw() -> Iterator[None]:
    """Every key goes to the program; the terminal is put back as it was, whatever happens."""
    before = termios.tcgetattr(_STDIN)
    try:
        tty.setraw(_STDIN, termios.TCSADRAIN)  # what was typed ahead is kept
        yield
    finally:
        termios.tcsetattr(_STDIN, termios.TCSADRAIN, before)


@contextlib.contextmanager
def resized(tell: Callable[[], None]) -> Iterator[None]:
    """Calls when the window's size changes."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGWINCH, tell)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)


async def typed() -> AsyncIterator[bytes]:
    """Standard input in pieces, until its end.

    A thread reads it, because a file or a closed terminal cannot be waited for; it is left behind at the program's end.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Queue[bytes] = asyncio.Queue()
    wanted = threading.Semaphore(1)

    def read() -> None:
        while True:
            wanted.acquire()
            try:
                data = os.read(_STDIN, PIECE)
            except OSError:
                data = b""
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(found.put_nowait, data)
            if not data:
                return

    threading.Thread(target=read, name="stdin", daemon=True).start()
    while data := await found.get():
        yield data
        wanted.release()


async def show(data: bytes, *, error: bool = False) -> None:
    """Write to standard output or error; a reader that is slow holds up nothing else."""
    stream = sys.stderr.buffer if error else sys.stdout.buffer

    def write() -> None:
        stream.write(data)
        stream.flush()

    await asyncio.to_thread(write)
