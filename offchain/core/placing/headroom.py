"""Gantry's own policy. (experiment)"""

from __future__ import annotations

import math

import numpy as np

from offchain.core.placing.cluster import Bools, Cluster, Floats, Ints
from offchain.core.placing.compiled import compiled
from offchain.core.placing.devices import tightest
from offchain.core.placing.expected import Expected
from offchain.core.placing.shapes import WHOLE_GPU, Mix, Shape


class Headroom:
    steady = True

    def __init__(self, cluster: Cluster, mix: Mix, power=1.0, quantum=40.0, tight=1.0, renew=0.1, cap=20.0, byvol=0.0, mu=0.0, delta=0.05, head=1.0, lp=1.0, multi=1.0, wide=0.0) -> None:
        self._cluster = cluster
        self._expected = Expected.of(mix, cluster)
        self.power, self.quantum, self.tight, self.renew, self.cap, self.byvol = power, quantum, tight, renew, cap, byvol
        ex = self._expected
        demand = ex.share * ex.milli[ex.row]**byvol
        demand = demand * np.where(ex.gpus[ex.way[ex.row]] > 1, multi, 1.0) * ex.gpus[ex.way[ex.row]] ** -wide
        self._demand = demand / demand.sum()
        self._scale = np.array([cluster.cpu.max(), cluster.memory.max(), 8000.0])
        self.mu, self.head = mu, head
        self._waste = waste(mix, delta)
        if lp:
            import sys
            sys.path.insert(0, '/tmp/place-x')
            from cutting import cutting
            m = {}
            for shape, share in mix.shares().items():
                if shape.gpus == 1:
                    m[shape.gpu_milli] = m.get(shape.gpu_milli, 0) + share
            sizes = sorted(m)
            v, best, _, _ = cutting(sizes, np.array([m[z] for z in sizes]))
            self._waste = -1000.0 * best
        self._weigh()

    def _weigh(self):
        of, ex = self._cluster, self._expected
        supply = np.zeros((len(of.models), len(ex.cpu)))
        _supply(of.cpu, of.memory, of.device, of.count, of.model,
            ex.per_cpu, ex.more_cpu, ex.per_memory, ex.more_memory, ex.way, ex.gpus, ex.pieces, supply)
        each = (ex.accepts * supply.T[ex.row]).sum(axis=1) * ex.milli[ex.row]
        total = max(of.free_milli, 1)
        scarce = np.minimum(total / np.maximum(each, 1.0), self.cap) ** self.power
        # thousandths of GPU that count, for each copy
        self._weight = ex.by_model(self._demand * scarce) * ex.milli[None, :]
        self._at = of.free_milli

    def placed(self, cluster: Cluster) -> bool:
        if self.power and cluster.free_milli < self._at * (1 - self.renew):
            self._weigh()
            return True
        return False

    def score(self, shape: Shape, hosts: Ints, scores: Floats, devices: Ints) -> None:
        of, ex = self._cluster, self._expected
        _score(
            hosts, of.cpu, of.memory, of.device, of.count, of.model,
            shape.cpu_milli, shape.memory_mib, shape.gpus, shape.gpu_milli, of.accepts(shape),
            ex.per_cpu, ex.more_cpu, ex.per_memory, ex.more_memory,
            ex.way, ex.gpus, ex.pieces, self._weight, self._scale, self.quantum, self.tight, self._waste * self.mu, self.head, scores, devices,
        )  # fmt: skip


def waste(mix, delta):
    import numpy as np
    p = np.zeros(1001)
    for shape, share in mix.shares().items():
        if shape.gpus:
            p[shape.gpu_milli] += share * (1 if shape.gpus == 1 else 1)
    p /= p.sum()
    e = np.zeros(1001)
    sizes = [z for z in range(1, 1001) if p[z]]
    for r in range(1, 1001):
        num = den = 0.0
        for z in sizes:
            if z <= r:
                num += p[z] * (z + e[r - z]); den += p[z]
        e[r] = num / (den + delta) if den else 0.0
    return np.arange(1001) - e


@compiled
def _worth(cpu, memory, cut, per_cpu, more_cpu, per_memory, more_memory, way, gpus, weight, ways):
    for k in range(len(gpus)):
        ways[k] = math.floor(cut[k] / gpus[k])
    total = 0.0
    for row in range(len(way)):
        copies = ways[way[row]]
        copies = min(copies, math.floor(cpu * per_cpu[row] + more_cpu[row]))
        copies = min(copies, math.floor(memory * per_memory[row] + more_memory[row]))
        total += weight[row] * copies
    return total


@compiled
def _supply(cpu, memory, device, count, model, per_cpu, more_cpu, per_memory, more_memory, way, gpus, pieces, supply):
    cut = np.zeros(len(gpus))
    for host in range(len(cpu)):
        cut[:] = 0.0
        for d in range(count[host]):
            if device[host, d]:
                cut += pieces[device[host, d]]
        for row in range(len(way)):
            k = way[row]
            copies = math.floor(cut[k] / gpus[k])
            copies = min(copies, math.floor(cpu[host] * per_cpu[row] + more_cpu[row]))
            copies = min(copies, math.floor(memory[host] * per_memory[row] + more_memory[row]))
            supply[model[host], row] += copies


@compiled
def _score(
    hosts: Ints, cpu: Ints, memory: Ints, device: Ints, count: Ints, model: Ints,
    pod_cpu: int, pod_memory: int, pod_gpus: int, pod_milli: int, accepts: Bools,
    per_cpu, more_cpu, per_memory, more_memory, way: Ints, gpus: Floats, pieces: Floats, weight: Floats,
    scale, quantum, tight, waste, head,
    scores: Floats, devices: Ints,
) -> None:  # fmt: skip
    cut = np.zeros(len(gpus))
    then = np.zeros(len(gpus))
    ways = np.zeros(len(gpus))
    for host in hosts:
        scores[host] = np.inf
        kind = model[host]
        if cpu[host] < pod_cpu or memory[host] < pod_memory or (pod_gpus and not accepts[kind]):
            continue
        free = device[host]
        chosen = tightest(free, count[host], pod_gpus, pod_milli)
        if chosen < 0:
            continue
        cut[:] = 0.0
        total = 0
        for d in range(count[host]):
            if free[d]:
                total += free[d]
                cut += pieces[free[d]]
        w = weight[kind]
        left_cpu = cpu[host] - pod_cpu
        left_memory = memory[host] - pod_memory
        rest = left_cpu / scale[0] + left_memory / scale[1] + (total - pod_gpus * pod_milli) / scale[2]
        if total == 0:
            scores[host] = tight * rest
            devices[host] = 0
            continue
        before = _worth(cpu[host], memory[host], cut, per_cpu, more_cpu, per_memory, more_memory, way, gpus, w, ways)
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
                then[:] = cut - pieces[free[index]] + pieces[free[index] - pod_milli]
                after = _worth(left_cpu, left_memory, then, per_cpu, more_cpu, per_memory, more_memory, way, gpus, w, ways)
                loss = head * (before - after) + waste[free[index] - pod_milli] - waste[free[index]]
                # of devices that lose the same, the fullest
                if quantum > 0:
                    loss = math.floor(loss / quantum + 0.5) * quantum
                value = loss * 1e3 + tight * (rest + free[index] / 1000.0)
                if value < best:
                    best = value
                    chosen = 1 << index
        else:
            then[:] = cut
            for index in range(count[host]):
                if chosen >> index & 1:
                    then += pieces[free[index] - pod_milli] - pieces[free[index]]
            after = _worth(left_cpu, left_memory, then, per_cpu, more_cpu, per_memory, more_memory, way, gpus, w, ways)
            loss = head * (before - after)
            if quantum > 0:
                loss = math.floor(loss / quantum + 0.5) * quantum
            best = loss * 1e3 + tight * rest
            if pod_gpus:
                best += tight * 1.0
        scores[host] = best
        devices[host] = chosen
