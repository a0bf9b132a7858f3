"""The orders by name."""

from __future__ import annotations

from offchain.core.placing.cluster import Cluster
from offchain.core.replay.drf import Drf
from offchain.core.replay.fifo import Fifo
from offchain.core.replay.names import ORDERS
from offchain.core.replay.order import Order
from offchain.core.replay.queued import Queued
from offchain.core.scheduler.queue_definitions import QueueTree


def make_order(name: str, cluster: Cluster, queues: QueueTree | None = None, *, passes: bool = False) -> Order:
    """An empty waiting list for this cluster. ValueError where there is none of this name.

    `queues`: their definitions, for the order of that name. `passes`: with a backfill, others may pass who is blocked.
    """
    if name == "fifo":
        return Fifo(passes=passes)
    if name == "drf":
        return Drf(cluster)
    if name == "queues":
        return Queued(cluster, queues, by_length=passes)
    raise ValueError(f"there is no order {name!r}: {', '.join(ORDERS)}")
