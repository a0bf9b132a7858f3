"""Short measurements of the host: processor, memory, disk. Each moves a fixed, small number of bytes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from time import perf_counter
from typing import Final

import numpy as np

HASHED_BYTES: Final = 64 << 20
COPIED_BYTES: Final = 256 << 20
DISK_BYTES: Final = 128 << 20
DISK_TIME_S: Final = 3.0
"""The measurement of the disk ends after the block during which so much time has passed."""
_BLOCK: Final = 4 << 20


def host_probes(folder: str) -> dict[str, float]:
    """Return the rates; those of the disk only with a folder. A full disk or a folder without access gives none."""
    found = {"processors": float(os.cpu_count() or 1), "sha256_mbs": _hashing(), "memory_copy_mbs": _copying()}
    if folder:
        with contextlib.suppress(OSError):
            found["disk_write_mbs"] = _writing(folder)
    return found


def _hashing() -> float:
    block = bytes(_BLOCK)
    began = perf_counter()
    for _ in range(HASHED_BYTES // _BLOCK):
        hashlib.sha256(block).digest()
    return HASHED_BYTES / (perf_counter() - began) / 1e6


def _copying() -> float:
    """Return bytes read and written in the copy of an array, both counted."""
    source = np.ones(COPIED_BYTES // 2, dtype=np.uint8)
    target = np.zeros_like(source)
    began = perf_counter()
    np.copyto(target, source)
    return COPIED_BYTES / (perf_counter() - began) / 1e6


def _writing(folder: str) -> float:
    """Return the rate at which random bytes reach the disk."""
    block, written = os.urandom(_BLOCK), 0
    with tempfile.TemporaryFile(dir=folder) as file:
        began = perf_counter()
        while written < DISK_BYTES and perf_counter() - began < DISK_TIME_S:
            file.write(block)
            file.flush()
            os.fdatasync(file.fileno())
            written += _BLOCK
        return written / (perf_counter() - began) / 1e6
