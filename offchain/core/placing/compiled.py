"""Compiles the inner loops. What comes out is kept on disk, by the digest of all files of this package.

numba itself looks only at the file of the function that it compiles; a change in one that is called from there would go
unnoticed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """The same function as machine code, made when it is first called."""
    try:
        return cast("F", numba.njit(cache=True, error_model="numpy")(function))
    except RuntimeError:
        # There is no place where this user may keep it.
        return cast("F", numba.njit(error_model="numpy")(function))


def _kept_in() -> str:
    folder = Path(__file__).parent
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.py")):
        digest.update(file.read_bytes())
    return str(folder / "__pycache__" / f"compiled-{digest.hexdigest()[:16]}")


numba.config.CACHE_DIR = _kept_in()
