"""Compiles the inner loops. What comes out is kept on disk, by the digest of all files that it can depend on.

numba itself looks only at the file of the function that it compiles, and for that in a place named after the clone: a
change in a file that is used from there would go unnoticed, and every clone would compile anew.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numba
from numba.core.caching import UserProvidedCacheLocator
from numba.extending import register_jitable

F = TypeVar("F", bound=Callable[..., Any])

_CORE = Path(__file__).resolve().parents[1]

_COMPILED: Final = re.compile(rb"^@(?:compiled|inner)$", re.MULTILINE)
_IMPORTED: Final = re.compile(rb"^from (offchain\.core\.[\w.]+) import", re.MULTILINE)

_MOST_KEPT: Final = 6
"""Sources: clones that are worked on beside each other each have theirs."""

_CONFIG: Any = numba.config
"""Its attributes come from the environment, unknown to type checkers."""


_OPTIONS: Final[dict[str, Any]] = {"error_model": "numpy", "no_cfunc_wrapper": True}
"""Nothing is called from C, so that there need be no way in from there."""


def compiled(function: F) -> F:
    """The same function as machine code, made when it is first called."""
    if KEPT_IN is not None:
        # RuntimeError: since this was loaded, that place has been taken away.
        with suppress(RuntimeError):
            return cast("F", numba.njit(cache=True, **_OPTIONS)(function))
    return cast("F", numba.njit(**_OPTIONS)(function))


def inner(function: F) -> F:
    """A function that compiled ones call: compiled with them, and without a way in from Python, which interprets it.

    Most of them are short, and a way in is much of what they would take to compile. Numbers in the source are arguments
    like all others.
    """
    return register_jitable(**_OPTIONS)(function)


class OnePlace(UserProvidedCacheLocator):
    """Where numba keeps a function: by the part of the core that it is of, whatever clone that is in."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """The folder for what is compiled from this file."""
        return Path(py_file).resolve().parent.name


def digest_of(files: Iterable[Path]) -> str:
    """Another one as soon as one of them changes."""
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def kept_in(places: Sequence[Path], digest: str) -> Path | None:
    """The folder for what belongs to `digest`, in the first of `places` where it can be.

    Of others, those that were used last stay. Processes may do this at the same time: each folder is taken away under a
    name of its own, by whoever comes first, and a process that still wanted it compiles anew.
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
            others = [other for other in place.glob("compiled-*") if other != mine]
            for other in sorted(others, key=_last_used)[: 1 - _MOST_KEPT]:
                of = other.name.removeprefix("compiled-").removeprefix("gone-")[:16]
                gone = place / f"compiled-gone-{of}-{digest}"
                with suppress(OSError):
                    other.rename(gone)
                    shutil.rmtree(gone, ignore_errors=True)
        return mine
    return None


def _last_used(folder: Path) -> int:
    """In ns; 0 for what is being removed."""
    try:
        return (folder / "used").stat().st_mtime_ns
    except OSError:
        return 0


def sources(core: Path) -> set[Path]:
    """All that is compiled below this folder, and all that is imported there: constants become part of the code."""
    found = {file for file in core.rglob("*.py") if _COMPILED.search(file.read_bytes())}
    to_read = list(found)
    while to_read:
        for name in _IMPORTED.findall(to_read.pop().read_bytes()):
            file = core.parents[1].joinpath(*name.decode().split(".")).with_suffix(".py")
            if file.is_file() and file not in found:
                found.add(file)
                to_read.append(file)
    return found


def _places() -> list[Path]:
    """Where NUMBA_CACHE_DIR says, else in the user's cache or, where that may not be written, beside the source."""
    if _CONFIG.CACHE_DIR:
        return [Path(_CONFIG.CACHE_DIR)]
    places = [_CORE / "__pycache__"]
    with suppress(RuntimeError):  # a user without a home
        places.insert(0, Path.home() / ".cache" / "gantry" / "compiled")
    return places


_MADE_WITH: Final = f"{sys.implementation.cache_tag}-{numba.__version__}"

KEPT_IN: Final = kept_in(_places(), f"{digest_of(sources(_CORE))}-{_MADE_WITH}")
"""Where compiled loops are kept; None: nowhere."""

if KEPT_IN is not None:
    _CONFIG.CACHE_DIR = str(KEPT_IN)
    _CONFIG.CACHE_LOCATOR_CLASSES = f"{__name__}.{OnePlace.__name__}"
