"""Compiles the planner's inner loops before they are needed: seconds for new sources, a moment after that."""

from __future__ import annotations

import numpy as np

from offchain.core.fleet.devices import first_steps
from offchain.core.fleet.facts import Facts
from offchain.core.placing.cluster import Cluster, HostSpec
from offchain.core.placing.shapes import Mix, Shape
from offchain.core.placing.worth import Worth


def warm() -> None:
    """Score one host for one pod, and count what excludes none."""
    cluster = Cluster.of([HostSpec("a", 1000, 1024, 2, "any")])
    shape = Shape(100, 100, 1, 500)
    scores, devices = np.zeros(1), np.zeros(1, dtype=np.int64)
    Worth(cluster, Mix.of([shape])).score(shape, np.zeros(1, dtype=np.int64), scores, devices)
    first_steps(shape, Facts(), cluster)
