"""Files for their owner only: secrets, made once and refused where others may read them, and databases."""

from __future__ import annotations

import os
import stat
from pathlib import Path


class OthersMayReadError(Exception):
    """The file is no secret any more, or no file."""


def write_new(path: Path, text: str) -> None:
    """Store a secret that is on disk when this returns. Raises OSError, FileExistsError where there is a file."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())


def make_private(path: Path) -> None:
    """Make sure that the file is there and that only its owner may read it. Raises OSError.

    A file that is there is not opened: to close it would release the locks that SQLite has on it in this process.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    except FileExistsError:
        found = path.stat()
        if stat.S_ISREG(found.st_mode) and found.st_mode & 0o077 and found.st_uid == os.geteuid():
            path.chmod(0o600)


def read(path: Path, most: int) -> str:
    """At most so many characters, without white space around them; empty where they are no text.

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
