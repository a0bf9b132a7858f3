"""Names of policies and orders, without loading numpy and numba."""

from __future__ import annotations

POLICIES = {
    "worth": "least loss of the value of free GPUs (Gantry's own)",
    "fgd": "least fragmentation, as published",
    "best_fit": "least left over",
    "first_fit": "the first host in the list",
}


ORDERS = {
    "fifo": "first come, first served; a task that does not fit blocks all behind it",
    "drf": "the account that has the least, by dominant resource",
    "queues": "as the scheduler: queues, shares by weight, priorities that grow with waiting",
}
