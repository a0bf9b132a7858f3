"""What accidents are made of: a clock that is wrong, a cable that can be cut, a disk that can be full."""

import contextlib
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

from tests.gpu_stub.build import compiler

STUB = Path(__file__).with_name("clock_stub.c")
_PIECE = 1 << 16


class Clock:
    """The time of day of those processes that are started with :attr:`env`."""

    def __init__(self, folder: Path, name: str, off_ms: int) -> None:
        library = folder / "libclock.so"
        if not library.exists():
            found = compiler()
            assert found is not None, "there is no C compiler: install gcc"
            line = [found, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", str(library), str(STUB)]
            subprocess.run([*line, "-ldl"], check=True)
        self._file = folder / f"{name}.clock"
        self.set(off_ms)
        self.env = {"LD_PRELOAD": str(library), "GANTRY_TEST_CLOCK": str(self._file)}

    def set(self, off_ms: int) -> None:
        """The clock is so far ahead from now on."""
        data = off_ms.to_bytes(8, "little", signed=True)
        with self._file.open("r+b" if self._file.exists() else "wb") as file:
            file.write(data)


class Cable:
    """A way to a port on this machine. While it is cut nothing passes, and nobody is told: packets are lost."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._whole = threading.Event()
        self._whole.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = [self._listener]
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @contextlib.contextmanager
    def cut(self) -> Iterator[None]:
        """Nothing passes meanwhile; what was on its way arrives afterwards."""
        self._whole.clear()
        try:
            yield
        finally:
            self._whole.set()

    def close(self) -> None:
        self._whole.set()
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                here, _ = self._listener.accept()
                there = socket.create_connection(("127.0.0.1", self._to))
            except OSError:
                return
            self._open += [here, there]
            for one, other in ((here, there), (there, here)):
                threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(_PIECE):
                self._whole.wait()
                other.sendall(data)
        with contextlib.suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)


class Disk:
    """A small disk of its own at a folder."""

    def __init__(self, folder: Path, mib: int) -> None:
        self.folder = folder
        self._image = folder.with_name(f"{folder.name}.ext4")
        self._ballast = folder / "ballast"
        folder.mkdir(parents=True)
        with self._image.open("wb") as file:
            file.truncate(mib << 20)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(self._image)], check=True)
        subprocess.run(["mount", "-o", "loop", str(self._image), str(folder)], check=True)

    def fill(self, leave_mib: int = 0) -> None:
        """Take the space that is left, but for so much."""
        found = os.statvfs(self.folder)
        free = found.f_bavail * found.f_frsize - (leave_mib << 20)
        with self._ballast.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, free - free % 4096 - (16 << 20))  # some of it is for the file system
            while not leave_mib:
                file.seek(0, os.SEEK_END)
                file.write(bytes(4096))

    def empty(self) -> None:
        """Give it back."""
        self._ballast.unlink(missing_ok=True)

    @contextlib.contextmanager
    def full(self, leave_mib: int = 0) -> Iterator[None]:
        self.fill(leave_mib)
        try:
            yield
        finally:
            self.empty()

    def close(self) -> None:
        subprocess.run(["umount", str(self.folder)], check=False, capture_output=True)
        self._image.unlink(missing_ok=True)
