"""Placement policies that the production policy is compared with. Each scores hosts; lower is better."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from offchain.core.scheduler.cluster import Cluster
from offchain.core.scheduler.columns import Floats, Ints
from offchain.core.scheduler.demand import DemandDistribution
from offchain.core.scheduler.device_choice import KernelRequest, choose_devices
from offchain.core.scheduler.pod_request import PodShape
from offchain.simulator.fgd import FgdPolicy
from offchain.simulator.names import BASELINES


class Policy(Protocol):
    """Scores hosts for one shape at a time. The score of a host for a shape depends on that host alone."""

    def score(self, shape: PodShape, hosts: Ints, scores: Floats, devices: Ints) -> None:
        """Write the score of each of `hosts` into `scores`, and the pod's devices there (bits) into `devices`.

        Infinite where the pod is not feasible.
        """


class _ColumnPolicy:
    """Base of policies that score whole columns and take the fullest devices."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def score(self, shape: PodShape, hosts: Ints, scores: Floats, devices: Ints) -> None:
        choose_devices(hosts, self.cluster.free, KernelRequest.of(shape, self.cluster), devices)
        scores[hosts] = np.where(devices[hosts] >= 0, self.value(shape, hosts), np.inf)

    def value(self, shape: PodShape, hosts: Ints) -> Floats:
        """Return the scores, as if the pod were feasible everywhere."""
        raise NotImplementedError


class BestFit(_ColumnPolicy):
    """The host where the least is left: cores and GPUs, each as a part of the most that any host has.

    As every host gives the same away, what is free now orders them equally.
    """

    def value(self, shape: PodShape, hosts: Ints) -> Floats:
        """From 0, nothing is left, to 2."""
        free = self.cluster.free
        cpu: Floats = (free.cpu[hosts] - shape.cpu_milli) / self.cluster.max_free[0]
        milli: Floats = (free.device[hosts].sum(axis=1) - shape.total_milli) / self.cluster.max_free[2]
        return cpu + milli


class FirstFit(_ColumnPolicy):
    """The first feasible host in the list."""

    def value(self, shape: PodShape, hosts: Ints) -> Floats:
        del shape
        return hosts.astype(np.float64)


def make_policy(name: str, cluster: Cluster, demand: DemandDistribution) -> Policy:
    """Return the policy for an empty cluster and expected pods. ValueError: unknown name."""
    if name == "fgd":
        return FgdPolicy(cluster, demand)
    if name == "best_fit":
        return BestFit(cluster)
    if name == "first_fit":
        return FirstFit(cluster)
    raise ValueError(f"there is no policy {name!r}: {', '.join(BASELINES)}")
