"""Compile the scheduler's loops in one process, while other processes that need them wait for it.

`python -m offchain.services.compiling` compiles ahead of time: scripts/up and scripts/test run it beside other work.
"""

from __future__ import annotations

import fcntl
from contextlib import suppress

from offchain.core.placing.compiled import KEPT_IN
from offchain.core.planning.warm import warm


def compile_once() -> None:
    """Compile what is not in the cache yet, which takes up to a minute, and load it."""
    if KEPT_IN is not None and not (KEPT_IN / "all").exists():
        # Where nothing may be written, or the place was taken away meanwhile, each compiles for itself.
        with suppress(OSError), (KEPT_IN / "lock").open("w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (KEPT_IN / "all").exists():
                warm()
                (KEPT_IN / "all").touch()
                return
    warm()


if __name__ == "__main__":
    compile_once()
