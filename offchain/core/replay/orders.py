"""The orders by name."""

from __future__ import annotations

from offchain.core.placing.cluster import Cluster
from offchain.core.replay.drf import Drf
from offchain.core.replay.fifo import Fifo
from offchain.core.replay.names import ORDERS
from offchain.core.replay.order import Order


def make_order(name: str, cluster: Cluster) -> Order:
    """An empty waiting list for this cluster. ValueError where there is none of this name."""
    if name == "fifo":
        return Fifo()
    if name == "drf":
        return Drf(cluster)
    raise ValueError(f"there is no order {name!r}: {', '.join(ORDERS)}")
