"""The rights of all parts of a ledger, shared out among who waits and who holds."""

from __future__ import annotations

import numpy as np

from offchain.core.queues.amount import Amount
from offchain.core.queues.ledger import Ledger
from offchain.core.queues.rights import Node, Rights
from offchain.core.queues.shared_out import share_out
from offchain.core.scheduler.columns import Floats


def rights_in(ledger: Ledger) -> Rights:
    """What each part holds and has a right to now. A part is known by its number: `Turn.part`."""
    nodes = ledger.tables.nodes[: len(ledger.names)]
    shares: Floats = np.zeros(len(nodes))
    share_out(ledger.tables, shares)
    held = zip(*(nodes[name].tolist() for name in ("cpu", "memory", "gpu")), strict=True)
    rows = zip(nodes["parent"].tolist(), nodes["weight"].tolist(), held, shares.tolist(), strict=True)
    return Rights(ledger.totals, [Node(parent, weight, Amount(*of), share) for parent, weight, of, share in rows])
