"""What a policy is: a score for each host, less is better."""

from __future__ import annotations

from typing import Protocol

from offchain.core.placing.cluster import Cluster, Floats, Ints
from offchain.core.placing.shapes import Shape


class Policy(Protocol):
    """Scores hosts for one shape at a time."""

    steady: bool
    """Whether a host's score for a shape stays as it is until something is placed on that host, or :meth:`placed` says
    otherwise. What is steady is scored once and kept."""

    def score(self, shape: Shape, hosts: Ints, scores: Floats, devices: Ints) -> None:
        """Write the score of each of `hosts` into its place of `scores`, infinite where the pod does not fit, and the
        devices it would take, as bits, into its place of `devices`."""

    def placed(self, cluster: Cluster) -> bool:
        """Something was placed; whether all scores that were kept are out of date."""


class Indifferent:
    """What policies have in common whose scores depend on nothing but the host."""

    steady = True

    def placed(self, cluster: Cluster) -> bool:
        """Scores stay as they are."""
        del cluster
        return False
