"""Settings of the interpreter that keep a worker's event loop from waiting for other threads and for collections."""

from __future__ import annotations

import gc
import sys
from typing import Final

SWITCH_S: Final = 0.0002
"""Switch interval in seconds. Each statement of SQLite releases the interpreter lock, and waits for it up to this long
while another thread runs Python."""
_FULL: Final = 2
"""The generation of a full collection."""


def limit_loop_latency() -> None:
    """Switch threads soon, and let a full collection examine only what was made since the last one.

    A full collection stops all threads while it examines every container object: 100 ms with 50,000 live tasks. Objects
    that survived one are freed as before when nothing refers to them any more; only cycles among them stay. Call this
    after work that makes many cycles, as compiling and decoding all records do.
    """
    sys.setswitchinterval(SWITCH_S)
    gc.collect()
    if _freeze_survivors not in gc.callbacks:
        gc.callbacks.append(_freeze_survivors)


def _freeze_survivors(phase: str, info: dict[str, int]) -> None:
    if phase == "stop" and info["generation"] == _FULL:
        gc.freeze()
