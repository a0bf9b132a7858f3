"""Decorators for loops that numba compiles. The only module of the core that imports numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numba
from numba.extending import register_jitable

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: Final[dict[str, Any]] = {"error_model": "numpy", "no_cfunc_wrapper": True, "nogil": True}
"""Nothing is called from C, so no C wrapper is needed. Scheduling cycles run in a thread: its loops do not hold the
interpreter lock, so that the event loop goes on."""


class KernelRegistry:
    """All compiled functions. The shell may set `cache`, which is called with each, so that machine code is kept."""

    def __init__(self) -> None:
        self._kernels: list[Any] = []
        self._cache: Callable[[Any], None] | None = None

    def add(self, kernel: Any) -> None:
        self._kernels.append(kernel)
        if self._cache is not None:
            self._cache(kernel)

    def use_cache(self, cache: Callable[[Any], None]) -> None:
        """Call `cache` with every compiled function, also with those to come."""
        self._cache = cache
        for kernel in self._kernels:
            cache(kernel)


KERNELS: Final = KernelRegistry()


def compiled(function: F) -> F:
    """Compile the function when it is first called."""
    kernel = numba.njit(**_OPTIONS)(function)
    KERNELS.add(kernel)
    return cast("F", kernel)


def inner(function: F) -> F:
    """Compile the function together with its compiled callers; calls from Python are interpreted.

    Most of these functions are short, and a wrapper for calls from Python would take most of the time to compile them.
    Numbers in the source are arguments like all others.
    """
    return register_jitable(**_OPTIONS)(function)
