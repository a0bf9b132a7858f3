"""Compiles the inner loops. What comes out is kept on disk, by the digest of all files that it can depend on.

numba itself looks only at the file of the function that it compiles; a change in one that is called from there would go
unnoticed.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

_HERE = Path(__file__).parent

_CONFIG: Any = numba.config
"""Its attributes come from the environment, unknown to type checkers."""


def compiled(function: F) -> F:
    """The same function as machine code, made when it is first called."""
    if _KEPT_IN is not None:
        # RuntimeError: since this was loaded, that place has been taken away.
        with suppress(RuntimeError):
            return cast("F", numba.njit(cache=True, error_model="numpy")(function))
    return cast("F", numba.njit(error_model="numpy")(function))


def digest_of(files: Iterable[Path]) -> str:
    """Another one as soon as one of them changes."""
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def kept_in(places: Sequence[Path], digest: str) -> Path | None:
    """The folder for what belongs to `digest`, in the first of `places` where it can be; those of others are removed.

    Processes may do this at the same time: each folder is taken away under a name of its own, by whoever comes first,
    and a process that still wanted it compiles anew.
    """
    for place in places:
        mine = place / f"compiled-{digest}"
        try:
            new = not mine.exists()
            mine.mkdir(parents=True, exist_ok=True)
            # It may be there and yet not be writable.
            (mine / "used").touch()
        except OSError:
            continue
        if new:
            for other in place.glob("compiled-*"):
                if other != mine:
                    gone = place / f"compiled-gone-{other.name.removeprefix('compiled-')[-16:]}-{digest}"
                    with suppress(OSError):
                        other.rename(gone)
                        shutil.rmtree(gone, ignore_errors=True)
        return mine
    return None


def _files() -> Iterable[Path]:
    """All of this package, and what is compiled elsewhere in the core."""
    yield from _HERE.glob("*.py")
    for file in _HERE.parent.rglob("*.py"):
        if file.parent != _HERE and b"\n@compiled\n" in file.read_bytes():
            yield file


def _places() -> list[Path]:
    """Where NUMBA_CACHE_DIR says, else beside the source or, where that may not be written, in the user's cache."""
    clone = hashlib.sha256(str(_HERE).encode()).hexdigest()[:8]
    if _CONFIG.CACHE_DIR:
        return [Path(_CONFIG.CACHE_DIR) / f"placing-{clone}"]
    places = [_HERE / "__pycache__"]
    with suppress(RuntimeError):  # a user without a home
        places.append(Path.home() / ".cache" / "gantry" / f"placing-{clone}")
    return places


_KEPT_IN = kept_in(_places(), digest_of(_files()))
if _KEPT_IN is not None:
    _CONFIG.CACHE_DIR = str(_KEPT_IN)
