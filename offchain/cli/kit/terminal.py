"""Standard input and output of a program in a pod, and a terminal in raw mode."""

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


class DisconnectKeys:
    """Detects a tilde and a dot at the beginning of a line, which leave a shell that does not respond."""

    def __init__(self) -> None:
        self._at_start = True
        self._tilde = False

    def feed(self, typed: bytes) -> tuple[bytes, bool]:
        """Return the bytes to send, and whether to leave. A tilde waits for the next key; two send one."""
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
    """Return the rows and columns of the terminal."""
    found = shutil.get_terminal_size()
    return max(1, min(found.lines, 1000)), max(1, min(found.columns, 1000))


def is_terminal() -> bool:
    """Return whether standard input and output are a terminal."""
    return os.isatty(_STDIN) and os.isatty(_STDOUT)


@contextlib.contextmanager
def raw() -> Iterator[None]:
    """Pass every key to the program, and restore the terminal at the end."""
    before = termios.tcgetattr(_STDIN)
    try:
        tty.setraw(_STDIN, termios.TCSADRAIN)  # what was typed ahead is kept
        yield
    finally:
        termios.tcsetattr(_STDIN, termios.TCSADRAIN, before)


@contextlib.contextmanager
def on_resize(callback: Callable[[], None]) -> Iterator[None]:
    """Call `callback` when the size of the window changes."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGWINCH, callback)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)


async def read_input() -> AsyncIterator[bytes]:
    """Yield standard input in pieces until its end.

    A daemon thread reads it, because asyncio cannot wait for a regular file or a closed terminal.
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


async def write_output(data: bytes, *, error: bool = False) -> None:
    """Write to standard output or error in a thread, so that a slow reader blocks nothing else."""
    stream = sys.stderr.buffer if error else sys.stdout.buffer

    def write() -> None:
        stream.write(data)
        stream.flush()

    await asyncio.to_thread(write)
