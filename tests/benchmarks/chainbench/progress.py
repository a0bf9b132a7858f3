"""Lines on standard error that say what a part does now."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """Write one line."""
    sys.stderr.write(f"bench: chain, {text}\n")
    sys.stderr.flush()
