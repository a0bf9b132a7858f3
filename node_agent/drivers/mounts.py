"""Mount and unmount by system call, without starting a program. Requires root."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Final

_MS_BIND: Final = 0x1000
_MS_PRIVATE: Final = 1 << 18
_MNT_DETACH: Final = 2


def bind(source: Path, target: Path) -> None:
    """Bind-mount `source` at `target`, a file at a file or a folder at a folder. Raises OSError.

    The mount is private: mounts made below one of the two later do not appear below the other.
    """
    _mount(source, target, _MS_BIND)
    _mount(None, target, _MS_PRIVATE)


def detach(target: Path) -> None:
    """Unmount `target` lazily, even if it is in use. Raises OSError; EINVAL if nothing is mounted."""
    if _libc().umount2(os.fsencode(target), _MNT_DETACH) != 0:
        raise _error(target)


def unmount(target: Path) -> None:
    """Unmount `target`. Raises OSError; EBUSY if it is in use."""
    if _libc().umount2(os.fsencode(target), 0) != 0:
        raise _error(target)


def is_same(one: Path, other: Path) -> bool:
    """Return whether two paths are the same file or folder of the same file system. False if one is missing."""
    try:
        return os.path.samestat(one.lstat(), other.lstat())
    except OSError:
        return False


def is_mount_point(path: Path) -> bool:
    """Return whether a folder is on another file system than its parent. False if it is missing."""
    try:
        return path.lstat().st_dev != path.parent.lstat().st_dev
    except OSError:
        return False


def _mount(source: Path | None, target: Path, flags: int) -> None:
    from_path = None if source is None else os.fsencode(source)
    if _libc().mount(from_path, os.fsencode(target), None, ctypes.c_ulong(flags), None) != 0:
        raise _error(target)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _error(path: Path) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), str(path))
