"""A log of bounded size: when the file is full it becomes the older one, and the oldest goes. Standard library only."""

from __future__ import annotations

import os
from pathlib import Path

FILE_BYTES = 5 << 20
FILES = 3


class LogFile:
    """Takes bytes as they come. At most `files` files of `file_bytes` each: NAME, NAME.1, NAME.2, ..."""

    def __init__(self, path: Path, *, file_bytes: int = FILE_BYTES, files: int = FILES) -> None:
        self._path = path
        self._file_bytes = file_bytes
        self._files = files
        self._open()

    def write(self, data: bytes) -> None:
        """Keep these bytes. A full disk loses them, and nothing else."""
        try:
            if self._size + len(data) > self._file_bytes and self._size:
                self._turn()
            os.write(self._handle, data)
        except OSError:
            return
        self._size += len(data)

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)

    def _open(self) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._handle).st_size

    def _turn(self) -> None:
        for number in range(self._files - 1, 0, -1):
            older, newer = _numbered(self._path, number), _numbered(self._path, number - 1)
            if newer.exists():
                newer.replace(older)
        os.close(self._handle)
        self._open()


def tail_log(path: Path, lines: int) -> list[str]:
    """The last lines of a log, those of its older files included; oldest first."""
    found: list[str] = []
    number = 0
    while len(found) < lines and (file := _numbered(path, number)).exists():
        found = file.read_text(encoding="utf-8", errors="replace").splitlines()[-(lines - len(found)) :] + found
        number += 1
    return found


def _numbered(path: Path, number: int) -> Path:
    return path if number == 0 else path.with_name(f"{path.name}.{number}")
