"""FGD (Weng et al., "Beware of Fragmentation", USENIX ATC 2023).

The policy as published, and its measure of fragmentation.

Of a host's free GPU, the part that a shape cannot use is fragmented for it: devices with less than it asks for, and all
devices where cores or devices do not suffice. The expectation of that over the demand is the host's fragmentation.
"""

from __future__ import annotations

import math

import numpy as np

from offchain.core.scheduler.cluster import Cluster
from offchain.core.scheduler.columns import AnyInts, Bools, Floats, HostColumns, Ints
from offchain.core.scheduler.demand import DemandDistribution, DemandRows, ExpectedDemand
from offchain.core.scheduler.device_choice import KernelRequest, fullest_devices
from offchain.core.scheduler.jit import compiled, inner
from offchain.core.scheduler.pod_request import WHOLE_GPU, PodShape


class FgdPolicy:
    """The published policy.

    The score is floor(100 * sigmoid(decrease / 1000)), `decrease` being by how many thousandths of a GPU the
    fragmentation falls when the pod is placed; of equals, the first host is taken. Memory counts only for whether the
    pod is feasible.
    """

    def __init__(self, cluster: Cluster, demand: DemandDistribution) -> None:
        self._cluster = cluster
        self._demand = demand
        self._build_tables()

    def score(self, shape: PodShape, hosts: Ints, scores: Floats, devices: Ints) -> None:
        """Write the published score with its sign reversed, plus the host's place in the list."""
        cluster = self._cluster
        if cluster.main_classes > len(self._weight):
            self._build_tables()
        request = KernelRequest.of(shape, cluster)
        _score(hosts, cluster.free, request, self._rows, self._usable, self._weight, scores, devices)

    def _build_tables(self) -> None:
        """Compute the tables for the device classes of the cluster."""
        expected = ExpectedDemand(self._demand, self._cluster)
        free = np.arange(WHOLE_GPU + 1)[:, None]
        self._rows = expected.rows
        self._usable: Floats = np.where(free >= expected.milli[None, :], free, 0).astype(np.float64)
        self._weight = expected.by_class(expected.share)


@inner
def _expected_use(
    cpu: int, free: AnyInts, rows: DemandRows, usable: Floats, weight: Floats, fit: Floats, sums: Floats
) -> float:
    """Return the thousandths of the host's free GPU that the next pod is expected to be able to use."""
    fit[:] = 0.0
    sums[:] = 0.0
    for left in free:
        if left:
            for k in range(len(fit)):
                if usable[left, k] > 0:
                    sums[k] += left
                    fit[k] += 1.0
    total = 0.0
    for row in range(len(rows.cpu)):
        k = rows.way[row]
        if cpu >= rows.cpu[row] and fit[k] >= rows.gpus[k]:
            total += weight[row] * sums[k]
    return total


@compiled
def _score(
    hosts: Ints,
    free: HostColumns,
    request: KernelRequest,
    rows: DemandRows,
    usable: Floats,
    weight: Floats,
    scores: Floats,
    devices: Ints,
) -> None:
    fit = np.zeros(len(rows.gpus))
    sums = np.zeros(len(rows.gpus))
    for host in hosts:
        chosen = fullest_devices(host, free, request)
        scores[host] = np.inf
        devices[host] = chosen
        if chosen < 0:
            continue
        device = free.device[host, : free.gpus[host]].copy()
        mine = weight[free.main_class[host]]
        left = free.cpu[host] - request.cpu
        before = _expected_use(free.cpu[host], device, rows, usable, mine, fit, sums)
        best = 101
        single = request.gpus == 1 and request.milli < WHOLE_GPU
        for index in range(len(device) if single else 1):
            if single and not (device[index] >= request.milli and request.accepts[free.device_class[host, index]]):
                continue
            taken = 1 << index if single else chosen
            for other in range(len(device)):
                device[other] -= request.milli * (taken >> other & 1)
            after = _expected_use(left, device, rows, usable, mine, fit, sums)
            for other in range(len(device)):
                device[other] += request.milli * (taken >> other & 1)
            decrease = request.gpus * request.milli - before + after
            value = -math.floor(100.0 / (1.0 + math.exp(-decrease / 1000.0)))
            if value < best:
                best = value
                devices[host] = taken
        scores[host] = best + host / len(scores)


class FragmentationMeter:
    """Measures a cluster for the expected pods. Pods without GPUs are left out."""

    def __init__(self, cluster: Cluster, demand: DemandDistribution) -> None:
        expected = ExpectedDemand(demand, cluster)
        self._cluster = cluster
        self._rows = expected.rows
        self._fits: Bools = np.arange(WHOLE_GPU + 1)[:, None] >= expected.milli[None, :]
        self._weight = expected.by_class(expected.share / max(1e-300, float(expected.share.sum())))

    def percent(self) -> float:
        """Return the fragmented percentage of free GPUs; 0 where nothing is free."""
        free_milli = self._cluster.free_milli
        if not free_milli:
            return 0.0
        useful = _expected_use_of_all(self._cluster.free, self._rows, self._fits, self._weight)
        return 100.0 * max(0.0, 1.0 - useful / free_milli)


@compiled
def _expected_use_of_all(free: HostColumns, rows: DemandRows, fits: Bools, weight: Floats) -> float:
    """Return the thousandths of all hosts that the next pod is expected to be able to use."""
    columns = len(rows.gpus)
    devices, sums = np.zeros(columns), np.zeros(columns)
    total = 0.0
    for host in range(len(free.cpu)):
        devices[:] = 0.0
        sums[:] = 0.0
        for index in range(free.gpus[host]):
            left = free.device[host, index]
            if left:
                for k in range(columns):
                    if fits[left, k]:
                        devices[k] += 1.0
                        sums[k] += left
        for row in range(len(rows.cpu)):
            k = rows.way[row]
            if free.cpu[host] >= rows.cpu[row] and devices[k] >= rows.gpus[k]:
                total += weight[free.main_class[host], row] * sums[k]
    return total
