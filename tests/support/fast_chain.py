"""Genesis of test chains: short slots and periods, so that tests wait for events and not for the clock.

Every test chain has BABE, GRANDPA and real finality. Tests of consensus and the complete run of `scripts/up` use the
slots of 2 s of the development preset instead (docs/testing.md).
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from offchain.devnet.node import merged

SLOT_MS: Final = 300
"""Length of a slot in milliseconds."""

FAST_GENESIS: Final[Mapping[str, Any]] = {
    "validators": {"slotMs": SLOT_MS},
    # Between the result of a task and its payment a test only waits.
    "tasks": {"params": {"disputeWindowMs": 7 * SLOT_MS}},
}
"""The patch over the development preset for a test chain."""


def fast(patch: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the genesis patch of a test chain with `patch` over it."""
    return merged(FAST_GENESIS, patch or {})


def write_fast_genesis(file: Path) -> Path:
    """Write the genesis patch of a test chain to `file`, for `scripts/up --genesis-patch`, and return its path."""
    file.write_text(json.dumps(fast()), encoding="utf-8")
    return file
