"""Placement policies that Gantry's own is compared with. Each scores hosts; lower is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from offchain.core.scheduler.cluster import Cluster, KernelRequest, choose_devices
from offchain.core.scheduler.columns import MAX_DEVICES, Floats, Ints
from offchain.core.scheduler.demand import DemandDistribution
from offchain.core.scheduler.packing import FragmentationScore
from offchain.core.scheduler.pod_request import WHOLE_GPU, PodShape
from offchain.simulator.fgd import FgdPolicy
from offchain.simulator.names import POLICIES


class Policy(Protocol):
    """Scores hosts for one shape at a time."""

    is_deterministic: bool
    """Whether the score of a host for a shape depends on that host alone, so that it holds until the host changes."""

    def score(self, shape: PodShape, hosts: Ints, scores: Floats, devices: Ints) -> None:
        """Write the score of each of `hosts` into `scores`, and the pod's devices there (bits) into `devices`.

        Infinite where the pod is not feasible.
        """


class ColumnPolicy:
    """Base of policies that score whole columns and take the fullest devices."""

    is_deterministic = True

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def score(self, shape: PodShape, hosts: Ints, scores: Floats, devices: Ints) -> None:
        """Score by :meth:`value`; infinite where the pod is not feasible."""
        choose_devices(hosts, self.cluster.free, KernelRequest.of(shape, self.cluster), devices)
        scores[hosts] = np.where(devices[hosts] >= 0, self.value(shape, hosts, devices[hosts]), np.inf)

    def value(self, shape: PodShape, hosts: Ints, devices: Ints) -> Floats:
        """Return the scores, as if the pod were feasible everywhere."""
        raise NotImplementedError


class BestFit(ColumnPolicy):
    """The host where the least is left: cores and GPUs, each as a part of the most that any host has.

    As every host gives the same away, what is free now orders them equally.
    """

    def value(self, shape: PodShape, hosts: Ints, devices: Ints) -> Floats:
        """From 0, nothing is left, to 2."""
        del devices
        free = self.cluster.free
        cpu: Floats = (free.cpu[hosts] - shape.cpu_milli) / self.cluster.max_free[0]
        milli: Floats = (free.device[hosts].sum(axis=1) - shape.total_milli) / self.cluster.max_free[2]
        return cpu + milli


class DotProduct(BestFit):
    """The host with the smallest inner product of free and requested resources, relative to the largest host."""

    def value(self, shape: PodShape, hosts: Ints, devices: Ints) -> Floats:
        """From 0 to 2."""
        del devices
        free, (most_cpu, _, most_milli) = self.cluster.free, self.cluster.max_free
        cpu: Floats = free.cpu[hosts] / most_cpu * (shape.cpu_milli / most_cpu)
        milli: Floats = free.device[hosts].sum(axis=1) / most_milli * (shape.total_milli / most_milli)
        return cpu + milli


class FirstFit(ColumnPolicy):
    """The first feasible host in the list."""

    def value(self, shape: PodShape, hosts: Ints, devices: Ints) -> Floats:
        del shape, devices
        return hosts.astype(np.float64)


_CLASS = MAX_DEVICES + 1


class GpuPacking(ColumnPolicy):
    """GPUs in use first, then idle GPUs of hosts in use, then idle hosts.

    Of these the host with the fewest idle GPUs.
    """

    def value(self, shape: PodShape, hosts: Ints, devices: Ints) -> Floats:
        """The class of the host, then the number of its idle GPUs, then what is free of the shared GPU."""
        free = self.cluster.free
        device = free.device[hosts]
        idle = (device == WHOLE_GPU).sum(axis=1)
        if not shape.gpus:
            plain: Floats = np.where(idle < free.gpus[hosts], 0.0, 1.0) * _CLASS + idle
            return plain
        chosen = (np.maximum(devices, 0)[:, None] >> np.arange(MAX_DEVICES)) & 1
        breaks = ((device == WHOLE_GPU) & (chosen == 1)).any(axis=1)
        kind = np.where(~breaks, 0.0, np.where(idle < free.gpus[hosts], 1.0, 2.0))
        share = (device * chosen).sum(axis=1) / (WHOLE_GPU * _CLASS)
        shared: Floats = kind * _CLASS + idle + share
        return shared


class RandomHost(ColumnPolicy):
    """A random feasible host: the baseline. Scores are drawn anew for each pod."""

    is_deterministic = False

    def __init__(self, cluster: Cluster, seed: int) -> None:
        super().__init__(cluster)
        self._random = np.random.default_rng([seed, 2])

    def value(self, shape: PodShape, hosts: Ints, devices: Ints) -> Floats:
        del shape, devices
        return self._random.random(len(hosts))


_COLUMN_POLICIES = {"best_fit": BestFit, "dot_product": DotProduct, "first_fit": FirstFit, "gpu_packing": GpuPacking}


def make_policy(name: str, cluster: Cluster, demand: DemandDistribution, seed: int) -> Policy:
    """Return the policy for an empty cluster and expected pods. ValueError: unknown name."""
    if name == "worth":
        return FragmentationScore(cluster, demand)
    if name == "fgd":
        return FgdPolicy(cluster, demand)
    if name == "random":
        return RandomHost(cluster, seed)
    if name in _COLUMN_POLICIES:
        return _COLUMN_POLICIES[name](cluster)
    raise ValueError(f"there is no policy {name!r}: {', '.join(POLICIES)}")


@dataclass(frozen=True, slots=True)
class PreparedPolicy:
    """A policy that can be made for any empty cluster of these hosts. `note`: the chosen parameters, for people."""

    make_policy: Callable[[Cluster, int], Policy]
    note: str
