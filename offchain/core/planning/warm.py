"""Compiles the loops of planner and queues before they are needed: up to a minute for new sources, else a moment."""

from __future__ import annotations

import numpy as np

from offchain.core.fleet.devices import first_steps
from offchain.core.fleet.facts import Facts
from offchain.core.placing.cluster import Cluster, HostSpec
from offchain.core.placing.shapes import Mix, Shape
from offchain.core.placing.worth import Worth
from offchain.core.planning.rows import empty_lane
from offchain.core.queues.amount import Amount
from offchain.core.queues.claim import Claim, Holding
from offchain.core.queues.tree import DEFAULT, tree
from offchain.core.queues.turn import Turn


def warm() -> None:
    """Place one pod on one host, count what excludes none, and take turns for a round."""
    cluster = Cluster.of([HostSpec("a", 1000, 1024, 2, "any")])
    shape = Shape(100, 100, 1, 500)
    one = np.zeros(1, dtype=np.int64)
    Worth(cluster, Mix.of([shape])).fill(shape, one, empty_lane(1), one.copy(), one.copy())
    first_steps(shape, Facts(), cluster)
    _take_turns()


def _take_turns() -> None:
    """Of three tasks one runs, one is blocked, and one waits no more."""
    whole, part = Amount(1000, 1024, 1000), Amount(100, 100, 500)
    turn = Turn(tree(), whole, (), (Claim(number, DEFAULT, "a", number, part, 0, 0) for number in range(3)), 0)
    turn.begin(1, whole)
    turn.next()
    turn.run()
    turn.ran(1)
    turn.release(Holding(DEFAULT, "a", part))
    turn.blocked(1)
    turn.remove(2)
