"""Files that hold a secret: made once, readable by their owner only, and refused where others may read them."""

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
