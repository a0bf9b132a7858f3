"""Names of policies and orders, without loading numpy and numba."""

from __future__ import annotations

from typing import Final

PRODUCTION: Final = "production"

POLICIES: Final = {
    PRODUCTION: "the scheduler of the worker, with its queues, reservations and backfill",
    "fgd": "least fragmentation, as published",
    "best_fit": "least left over",
    "first_fit": "the first host in the list",
}

BASELINES: Final = tuple(name for name in POLICIES if name != PRODUCTION)

ORDERS: Final = {
    "fifo": "first come, first served; a task that does not fit blocks all behind it",
    "drf": "the account that has the least, by dominant resource",
}
"""Orders of the waiting tasks under the policies other than `production`."""
