"""What a policy is: a score for each host, less is better."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from offchain.core.placing.cluster import Cluster
from offchain.core.placing.devices import Wish, choose
from offchain.core.placing.free import Floats, Ints
from offchain.core.placing.shapes import Shape


class Policy(Protocol):
    """Scores hosts for one shape at a time."""

    steady: bool
    """Whether the score of a host for a shape depends on that host alone, so that it holds until the host changes."""

    def score(self, shape: Shape, hosts: Ints, scores: Floats, devices: Ints) -> None:
        """Write the score of each of `hosts` into its place of `scores`, and its devices into its place of `devices`.

        Infinite where the pod does not fit; the devices that it would take are bits.
        """


class Plain:
    """What policies have in common that score hosts by whole columns and take the fullest devices."""

    steady = True

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def score(self, shape: Shape, hosts: Ints, scores: Floats, devices: Ints) -> None:
        """Infinite where the pod does not fit, else by :meth:`value`."""
        choose(hosts, self.cluster.free, Wish.of(shape, self.cluster), devices)
        scores[hosts] = np.where(devices[hosts] >= 0, self.value(shape, hosts, devices[hosts]), np.inf)

    def value(self, shape: Shape, hosts: Ints, devices: Ints) -> Floats:
        """The scores, were there room on all."""
        raise NotImplementedError
