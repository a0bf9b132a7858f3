"""How the pods of one task lie to each other, as columns over hosts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from offchain.core.fleet.facts import Facts
from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Bools, Ints
from offchain.core.values import Layout


def apart(layout: Layout, facts: Facts) -> Ints | None:
    """[host]: of hosts with the same number at most one pod of the task may go to one. None: they may be anywhere."""
    if layout is Layout.HOSTS:
        return np.arange(len(facts))
    return facts.provider if layout is Layout.PROVIDERS else None


def closed_by(layout: Layout, rows: Sequence[int], facts: Facts) -> Bools:
    """[host]: whether no pod may go there, since others of its task are on the hosts in these rows."""
    closed = np.zeros(len(facts), dtype=np.bool_)
    numbers = apart(layout, facts)
    if rows and numbers is not None:
        closed |= np.isin(numbers, numbers[list(rows)])
    return closed


def closed_beside(want: Want, fleet: Fleet) -> Bools:
    """[host]: the same for where other pods of the task are on the chain."""
    return closed_by(want.layout, rows_beside(want, fleet), fleet.facts)


def rows_beside(want: Want, fleet: Fleet) -> list[int]:
    """The rows of hosts where other pods of the task are on the chain."""
    cluster = fleet.cluster
    return [cluster.number(host) for host in sorted(want.beside) if host in cluster]
