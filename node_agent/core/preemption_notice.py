"""What containers find that have to leave: one line of JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime


def termination_notice(ends_ms: int) -> bytes:
    """Until when they may run, in the chain's time: `ends_at` (RFC 3339, UTC) and `ends_at_ms` (Unix time)."""
    ends_at = datetime.fromtimestamp(ends_ms // 1000, UTC).strftime(f"%Y-%m-%dT%H:%M:%S.{ends_ms % 1000:03d}Z")
    return json.dumps({"ends_at": ends_at, "ends_at_ms": ends_ms}).encode() + b"\n"
