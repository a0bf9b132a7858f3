"""The folder that caches the machine code of the kernels that numba compiles.

numba's own cache looks only at the file of the compiled function, and keeps
the result in a folder named after the clone: changes of imported files would go unnoticed, and every clone would
compile anew. Here the folder is named by the digest of all files that compiled code depends on.
"""

from __future__ import annotations

import functools
import hashlib
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numba
from numba.core.caching import UserProvidedCacheLocator

from offchain.core.scheduler.jit import KERNELS

_PACKAGE = Path(__file__).resolve().parents[1]
_FOLDERS: Final = (_PACKAGE / "core", _PACKAGE / "simulator")
"""The folders with compiled functions."""

_COMPILED: Final = re.compile(rb"^@(?:compiled|inner)$", re.MULTILINE)
_IMPORTED: Final = re.compile(rb"^from (offchain\.(?:core|simulator)\.[\w.]+) import", re.MULTILINE)

_MAX_FOLDERS: Final = 6
"""Digests: clones in different states each have a folder."""

_NUMBA_CONFIG: Any = numba.config
"""Its attributes come from the environment and are unknown to type checkers."""


class SharedCacheLocator(UserProvidedCacheLocator):
    """Places the cache by the package of a function, independent of the clone's path."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """Return the folder for the compiled functions of this file."""
        return Path(py_file).resolve().parent.name


def digest_of(files: Iterable[Path]) -> str:
    """Return a digest of the contents of these files."""
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def cache_folder(parents: Sequence[Path], digest: str) -> Path | None:
    """Return the folder for this digest in the first of `parents` that is writable.

    Only the most recently used folders are kept. Several processes may do this concurrently: each folder is renamed
    before it is removed, and a process that still needs it compiles anew.
    """
    for parent in parents:
        folder = parent / f"compiled-{digest}"
        try:
            new = not folder.exists()
            folder.mkdir(parents=True, exist_ok=True)
            # The folder may exist and not be writable.
            (folder / "used").touch()
        except OSError:
            continue
        if new:
            others = [other for other in parent.glob("compiled-*") if other != folder]
            for other in sorted(others, key=_last_used)[: 1 - _MAX_FOLDERS]:
                of = other.name.removeprefix("compiled-").removeprefix("gone-")[:16]
                removed = parent / f"compiled-gone-{of}-{digest}"
                with suppress(OSError):
                    other.rename(removed)
                    shutil.rmtree(removed, ignore_errors=True)
        return folder
    return None


def _last_used(folder: Path) -> int:
    """Return the time in ns; 0 for a folder that is being removed."""
    try:
        return (folder / "used").stat().st_mtime_ns
    except OSError:
        return 0


def kernel_sources(folders: Sequence[Path]) -> set[Path]:
    """Return all files with compiled functions in these folders, and everything that they import there.

    Constants become part of the code.
    """
    found = {file for folder in folders for file in folder.rglob("*.py") if _COMPILED.search(file.read_bytes())}
    root = folders[0].parents[1]
    to_read = list(found)
    while to_read:
        for name in _IMPORTED.findall(to_read.pop().read_bytes()):
            file = root.joinpath(*name.decode().split(".")).with_suffix(".py")
            if file.is_file() and file not in found:
                found.add(file)
                to_read.append(file)
    return found


def _cache_parents() -> list[Path]:
    """Return NUMBA_CACHE_DIR, else the user's cache and, where that is not writable, the source folder."""
    if _NUMBA_CONFIG.CACHE_DIR:
        return [Path(_NUMBA_CONFIG.CACHE_DIR)]
    parents = [_PACKAGE / "core" / "__pycache__"]
    with suppress(RuntimeError):  # a user without a home
        parents.insert(0, Path.home() / ".cache" / "gantry" / "compiled")
    return parents


_MADE_WITH: Final = f"{sys.implementation.cache_tag}-{numba.__version__}"


@functools.cache
def enable_kernel_cache() -> Path | None:
    """Cache all compiled functions, and return the folder; None: no folder is writable, nothing is cached."""
    folder = cache_folder(_cache_parents(), f"{digest_of(kernel_sources(_FOLDERS))}-{_MADE_WITH}")
    if folder is not None:
        _NUMBA_CONFIG.CACHE_DIR = str(folder)
        _NUMBA_CONFIG.CACHE_LOCATOR_CLASSES = f"{__name__}.{SharedCacheLocator.__name__}"
        KERNELS.use_cache(_enable)
    return folder


def _enable(kernel: Any) -> None:
    # RuntimeError: the folder has been removed since.
    with suppress(RuntimeError):
        kernel.enable_caching()
