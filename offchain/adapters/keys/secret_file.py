"""Files that only their owner may read: secrets and databases."""

from __future__ import annotations

import os
import stat
from pathlib import Path


class OthersMayReadError(Exception):
    """Others may read the file, or it is not a regular file."""


def write_new(path: Path, text: str) -> None:
    """Write a secret to a new file and to the disk. Raises OSError, FileExistsError where the file exists."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())


def make_private(path: Path) -> None:
    """Create the file if it is missing, and remove the rights of others. Raises OSError.

    An existing file is not opened: closing it would release the locks that SQLite has on it in this process.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    except FileExistsError:
        found = path.stat()
        if stat.S_ISREG(found.st_mode) and found.st_mode & 0o077 and found.st_uid == os.geteuid():
            path.chmod(0o600)


def read(path: Path, most: int) -> str:
    """Read at most `most` characters, without surrounding white space; empty where the file is not text.

    Raises OSError, :class:`OthersMayReadError`.
    """
    with path.open() as file:
        mode = os.fstat(file.fileno()).st_mode
        if not stat.S_ISREG(mode) or mode & 0o077:
            raise OthersMayReadError
        try:
            return file.read(most).strip()
        except UnicodeDecodeError:
            return ""
