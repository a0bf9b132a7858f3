"""Dominant resource shares (Ghodsi et al., NSDI 2011).

The share of a queue or account is the greatest of its parts of the network's cores, memory and GPUs. Shares are
compared among siblings, divided by their weights, from the root down.

Plain shares in a tree starve (Bhattacharya et al., SoCC 2013): where one part of a queue holds all GPUs and another
waits for cores, the queue as a whole looks rich in GPUs, and its siblings get every core. So a queue with parts is
compared only in the resources that such of its waiting tasks ask for as somebody can serve: a shape that fits nowhere
(found out in this round or the last, and not placed since) does not count. A tree of depth one is plain DRF.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from offchain.core.queues.amount import Amount

ALL_RESOURCES: Final = (True, True, True)


def dominant_share(used: Amount, totals: Amount, counted: Sequence[bool] = ALL_RESOURCES) -> float:
    """The greatest of the parts of the resources that are counted; none of those of which the network has nothing."""
    cpu, memory, gpu = totals
    if counted is ALL_RESOURCES and cpu and memory and gpu:
        # The usual case, and shares are counted all the time.
        return max(used[0] / cpu, used[1] / memory, used[2] / gpu)
    share = 0.0
    for at in (0, 1, 2):
        if counted[at] and totals[at]:
            share = max(share, used[at] / totals[at])
    return share
