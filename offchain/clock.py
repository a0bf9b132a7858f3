"""The machine's clock. Standard library only."""

from __future__ import annotations

import time


def unix_ms() -> int:
    """Return the time of the machine's clock, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000
