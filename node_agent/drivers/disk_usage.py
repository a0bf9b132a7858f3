"""What pods take on a disk that has no limit of its own: the fallback where leases have no file systems (ADR 0039).

It is a look now and then, not a bound: a fast program takes more between two looks.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_PATIENCE_S: Final = 60
_MANY_FILES: Final = 1 << 16


def tree_bytes(top: Path) -> int | None:
    """What a folder's files and folders take, bytes; None where this process may not look. Links are not followed.

    Each hard-linked file counts once; no depth of folders is too large. Files that come and go meanwhile may be missed.
    """
    if not os.access(top, os.R_OK | os.X_OK):
        return None
    program = shutil.which("du") or "/usr/bin/du"
    try:
        done = subprocess.run(
            (program, "-skx", "--", str(top)),
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    kib = done.stdout.split(b"\t", 1)[0]
    return int(kib) * 1024 if kib.isdigit() else None


def deleted_bytes(pids: Iterable[int], devices: frozenset[int]) -> int:
    """What files without a name take that these processes have open, bytes. `devices`: numbers of file systems."""
    seen: dict[tuple[int, int], int] = {}
    for pid in pids:
        try:
            names = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208  (thousands of names, no paths needed)
        except OSError:
            continue
        for name in names[:_MANY_FILES]:
            try:
                found = os.stat(f"/proc/{pid}/fd/{name}")  # noqa: PTH116
            except OSError:
                continue
            if stat.S_ISREG(found.st_mode) and found.st_nlink == 0 and found.st_dev in devices:
                seen[found.st_dev, found.st_ino] = found.st_blocks * 512
    return sum(seen.values())
