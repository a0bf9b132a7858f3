"""How long round trips to each host take, as it measures them: so that one whose latency grows can be told.

Bounded: of more hosts than :data:`MOST_HOSTS`, those are remembered that told theirs last.
"""

from __future__ import annotations

import statistics
from collections import OrderedDict, deque
from typing import Final

MOST_HOSTS: Final = 4096
MOST: Final = 16
"""Of each host, the latest values. The chain is told only where they have changed."""
TIMES: Final = 3
"""Above so many times the host's own median it has grown,"""
LEAST_MS: Final = 50
"""if it is longer by more than this: a few milliseconds more are felt by nobody."""


class Latencies:
    """Follows what hosts measure."""

    def __init__(self) -> None:
        self._told: OrderedDict[str, deque[int]] = OrderedDict()
        self._grown: set[str] = set()
        """Those whose episode goes on."""

    def __len__(self) -> int:
        """How many hosts are remembered."""
        return len(self._told)

    def grew(self, host: str, latency_ms: int, before_ms: int) -> bool:
        """Take in one more; gives whether it has grown, by those before it, and had not already.

        `before_ms`: what the chain had of it until then, for a host of which nothing is remembered. 0 in both: none
        was measured. An episode ends when the latency is not that long any more, or when it has lasted for so many
        values that it is the host's median.
        """
        if not latency_ms:
            return False
        told = self._told.pop(host, None) or deque([before_ms] if before_ms else [], maxlen=MOST)
        # The lower of two in the middle: what was told twice is not yet what is usual.
        usual_ms = statistics.median_low(told) if told else latency_ms
        grown = latency_ms > max(TIMES * usual_ms, usual_ms + LEAST_MS)
        told.append(latency_ms)
        self._told[host] = told
        if len(self._told) > MOST_HOSTS:
            self._grown.discard(self._told.popitem(last=False)[0])
        begins = grown and host not in self._grown
        if grown:
            self._grown.add(host)
        else:
            self._grown.discard(host)
        return begins
