"""FGD: the host where free GPUs become useless for the next pod by the least amount.

As published (Weng et al., "Beware of Fragmentation", USENIX ATC 2023, and its simulator): of a host's free GPU, the part
that a shape cannot use is fragmented for it, all of it where cores or devices do not suffice; the expectation of that over
the mix is the host's fragmentation. The score is floor(100 × sigmoid(less / 1000)), `less` being by how many thousandths
of a GPU the fragmentation falls when the pod is placed. Memory is not looked at, but for whether the pod itself fits.
"""

from __future__ import annotations

import math

import numpy as np

from offchain.core.placing.cluster import Bools, Cluster, Floats, Ints
from offchain.core.placing.compiled import compiled
from offchain.core.placing.devices import tightest
from offchain.core.placing.expected import Expected
from offchain.core.placing.policy import Indifferent
from offchain.core.placing.shapes import WHOLE_GPU, Mix, Shape


class Fragmentation(Indifferent):
    """Published FGD. With `tight`, hosts of one score are told apart by how little they have left."""

    def __init__(self, cluster: Cluster, mix: Mix, tie: float = 0, typical: float = 0.95) -> None:
        self._tie = tie
        self._cluster = cluster
        self._expected = Expected.of(_typical(mix, typical), cluster)
        self._weight = self._expected.by_model(self._expected.share)

    def score(self, shape: Shape, hosts: Ints, scores: Floats, devices: Ints) -> None:
        """The published score with its sign turned round."""
        of, ex = self._cluster, self._expected
        _score(
            hosts, of.cpu, of.memory, of.device, of.count, of.model,
            shape.cpu_milli, shape.memory_mib, shape.gpus, shape.gpu_milli, of.accepts(shape),
            ex.cpu, ex.way, ex.gpus, ex.pieces, ex.usable, self._weight, scores, devices,
        )  # fmt: skip
        if self._tie == 1:
            scores[hosts] = scores[hosts] * 1e6 + hosts
        elif self._tie == 2:
            scores[hosts] = scores[hosts] * 1e6 + (of.cpu[hosts] / 128000 + of.memory[hosts] / 1048576 + of.device[hosts].sum(axis=1) / 8000)
        elif self._tie == 3:
            scores[hosts] = scores[hosts] * 1e6 + (of.cpu[hosts] / 128000 + of.device[hosts].sum(axis=1) / 8000)


def _typical(mix: Mix, most: float) -> Mix:
    """The shapes asked for most, until they are `most` of all pods."""
    kept: dict[Shape, float] = {}
    merged: dict[tuple[int, int, int, frozenset[str]], float] = {}
    names: dict[tuple[int, int, int, frozenset[str]], Shape] = {}
    for shape, share in mix.shares().items():
        if not shape.gpus and most == 0.951:
            continue
        wish = (shape.cpu_milli, shape.gpus, shape.gpu_milli, shape.models)
        merged[wish] = merged.get(wish, 0.0) + share
        names.setdefault(wish, shape)
    together = 0.0
    for wish, share in sorted(merged.items(), key=lambda item: -item[1]):
        if together >= most:
            break
        kept[names[wish]] = share
        together += share
    return Mix(kept)


@compiled
def _usable(
    cpu: int, free: Ints, count: int, want_cpu: Floats, way: Ints, gpus: Floats,
    pieces: Floats, usable: Floats, weight: Floats, fitting: Floats, amount: Floats,
) -> float:  # fmt: skip
    """Thousandths of the host's free GPU that the next pod is expected to be able to use."""
    fitting[:] = 0.0
    amount[:] = 0.0
    for device in range(count):
        left = free[device]
        if left:
            for k in range(len(gpus)):
                amount[k] += usable[left, k]
                fitting[k] += 1.0 if usable[left, k] > 0 else 0.0
    total = 0.0
    for row in range(len(want_cpu)):
        k = way[row]
        if cpu >= want_cpu[row] and fitting[k] >= gpus[k]:
            total += weight[row] * amount[k]
    return total


@compiled
def _score(
    hosts: Ints, cpu: Ints, memory: Ints, device: Ints, count: Ints, model: Ints,
    pod_cpu: int, pod_memory: int, pod_gpus: int, pod_milli: int, accepts: Bools,
    want_cpu: Floats, way: Ints, gpus: Floats, pieces: Floats, usable: Floats, weight: Floats,
    scores: Floats, devices: Ints,
) -> None:  # fmt: skip
    fitting = np.zeros(len(gpus))
    amount = np.zeros(len(gpus))
    for host in hosts:
        scores[host] = np.inf
        kind = model[host]
        if cpu[host] < pod_cpu or memory[host] < pod_memory or (pod_gpus and not accepts[kind]):
            continue
        free = device[host].copy()
        chosen = tightest(free, count[host], pod_gpus, pod_milli)
        if chosen < 0:
            continue
        w = weight[kind]
        before = _usable(cpu[host], free, count[host], want_cpu, way, gpus, pieces, usable, w, fitting, amount)
        left = cpu[host] - pod_cpu
        if pod_gpus == 1 and pod_milli < WHOLE_GPU:
            best = np.inf
            for index in range(count[host]):
                if free[index] < pod_milli:
                    continue
                seen = False
                for other in range(index):
                    seen = seen or free[other] == free[index]
                if seen:
                    continue
                free[index] -= pod_milli
                after = _usable(left, free, count[host], want_cpu, way, gpus, pieces, usable, w, fitting, amount)
                free[index] += pod_milli
                value = -math.floor(100.0 / (1.0 + math.exp(-(pod_milli - before + after) / 1000.0)))
                if value < best:
                    best = value
                    chosen = 1 << index
        else:
            for index in range(count[host]):
                if chosen >> index & 1:
                    free[index] -= pod_milli
            after = _usable(left, free, count[host], want_cpu, way, gpus, pieces, usable, w, fitting, amount)
            less = pod_gpus * pod_milli - before + after
            best = -math.floor(100.0 / (1.0 + math.exp(-less / 1000.0)))
        scores[host] = best
        devices[host] = chosen
