"""Files that are replaced atomically. Standard library only."""

from __future__ import annotations

import os
from pathlib import Path


def replace_file(path: Path, data: bytes | str, *, mode: int = 0o600, durable: bool = True) -> None:
    """Replace a small file atomically; a string is written as UTF-8. A link in its place is not followed.

    `durable`: the content is on disk when this returns. Raises OSError, and leaves the old file.
    """
    part = part_of(path)
    part.unlink(missing_ok=True)
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            if durable:
                os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def part_of(path: Path) -> Path:
    """Return the name of a file while it is written."""
    return path.with_name(f".{path.name}.part")


def sync_folder(folder: Path) -> None:
    """Write the names of a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
