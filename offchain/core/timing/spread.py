"""Gangs whose pods must lie apart: each host takes one at most, and so do all hosts of one group together.

`apart[host]` is the number of the host's group: its own row where pods are to be on different hosts, its provider where
they are to be with different providers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from offchain.core.scheduler.columns import Ints
from offchain.core.timing.loops import HOST, MOMENT, PODS


def by_group(found: Ints, apart: Ints) -> Ints:
    """Steps of hosts, each of which takes one pod or none, as steps of groups: where the first comes, the last goes."""
    group = apart[found[:, HOST]]
    order = np.lexsort((found[:, MOMENT], group))
    steps, group = found[order], group[order]
    open_ = np.cumsum(steps[:, PODS])
    first = np.flatnonzero(np.append(np.True_, group[1:] != group[:-1])) if len(group) else np.array([], dtype=int)
    before = open_[first] - steps[first, PODS]
    open_ -= np.repeat(before, np.diff(np.append(first, len(group))))
    steps[:, PODS] = (open_ > 0).astype(np.int64) - (open_ - steps[:, PODS] > 0)
    return steps


def one_of_each(hosts: Iterable[int], apart: Ints) -> Iterator[int]:
    """The first host of each group, of these."""
    seen: set[int] = set()
    for host in hosts:
        group = int(apart[host])
        if group not in seen:
            seen.add(group)
            yield host


def may_lie(hosts: Iterable[int], apart: Ints) -> bool:
    """Whether pods on these hosts lie apart."""
    groups = [int(apart[host]) for host in hosts]
    return len(set(groups)) == len(groups)
