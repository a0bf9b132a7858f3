"""Gantry's own policy. (experiment)"""

from __future__ import annotations

import math

import numpy as np

from offchain.core.placing.cluster import Bools, Cluster, Floats, Ints
from offchain.core.placing.compiled import compiled
from offchain.core.placing.devices import tightest
from offchain.core.placing.expected import Expected
from offchain.core.placing.shapes import WHOLE_GPU, Mix, Shape


class Prospect:
    steady = True

    def __init__(self, cluster: Cluster, mix: Mix, quantum=0.0, tight=1.0, mu=0.0, multi=1.0, wide=0.0, vol=0.0, soft=0.0, norm=0.0) -> None:
        self._cluster = cluster
        self._expected = ex = Expected.of(mix, cluster)
        self.quantum, self.tight = quantum, tight
        import sys
        sys.path.insert(0, '/tmp/place-x')
        from cutting import cutting
        m = {}
        for shape, share in mix.shares().items():
            if shape.gpus == 1:
                m[shape.gpu_milli] = m.get(shape.gpu_milli, 0) + share
            elif shape.gpus:
                m[1000] = m.get(1000, 0) + share * shape.gpus
        sizes = sorted(m)
        v, best, _, _ = cutting(sizes, np.array([m[z] for z in sizes]))
        value = 1000.0 * ((1 - soft) * best + soft * np.arange(1001) / 1000)
        if soft: value[:sizes[0]] = 0
        self._waste = -mu * value
        g = ex.gpus[ex.way[ex.row]]
        p = ex.share * np.where(g > 1, multi * g ** wide, 1.0) * (ex.milli[ex.row]/g/1000)**vol
        p = p / p.sum()
        z = (ex.milli / ex.gpus[ex.way]).astype(int)[ex.row]
        big = np.zeros(1001)
        for w, size in zip(p, z):
            big[size:] += w
        zk = np.zeros(len(ex.gpus))
        for row in range(len(ex.cpu)):
            zk[ex.way[row]] = ex.milli[row] / ex.gpus[ex.way[row]]
        r = np.arange(1001)[:, None]
        self._u = np.where(r >= zk[None, :], (value / np.where(big > 0, big, 1))[:, None], 0.0)
        self._weight = ex.by_model(p)
        self._scale = np.array([cluster.cpu.max(), cluster.memory.max(), 8000.0])

    def placed(self, cluster: Cluster) -> bool:
        return False

    def score(self, shape: Shape, hosts: Ints, scores: Floats, devices: Ints) -> None:
        of, ex = self._cluster, self._expected
        _score(
            hosts, of.cpu, of.memory, of.device, of.count, of.model,
            shape.cpu_milli, shape.memory_mib, shape.gpus, shape.gpu_milli, of.accepts(shape),
            ex.per_cpu, ex.more_cpu, ex.per_memory, ex.more_memory,
            ex.way, ex.gpus, ex.pieces, self._u, self._weight, self._scale, self.quantum, self.tight, self._waste, scores, devices,
        )  # fmt: skip


@compiled
def _worth(cpu, memory, cut, use, per_cpu, more_cpu, per_memory, more_memory, way, gpus, weight, most, each):
    for k in range(len(gpus)):
        most[k] = math.floor(cut[k] / gpus[k])
        each[k] = 0.0
        if most[k] > 0:
            part = most[k] * gpus[k] / cut[k] if gpus[k] > 1 else 1.0
            each[k] = use[k] * part / most[k]
    total = 0.0
    for row in range(len(way)):
        k = way[row]
        copies = most[k]
        copies = min(copies, math.floor(cpu * per_cpu[row] + more_cpu[row]))
        copies = min(copies, math.floor(memory * per_memory[row] + more_memory[row]))
        total += weight[row] * copies * each[k]
    return total


@compiled
def _score(
    hosts: Ints, cpu: Ints, memory: Ints, device: Ints, count: Ints, model: Ints,
    pod_cpu: int, pod_memory: int, pod_gpus: int, pod_milli: int, accepts: Bools,
    per_cpu, more_cpu, per_memory, more_memory, way: Ints, gpus: Floats, pieces: Floats, table: Floats, weight: Floats,
    scale, quantum, tight, waste,
    scores: Floats, devices: Ints,
) -> None:  # fmt: skip
    cut = np.zeros(len(gpus))
    then = np.zeros(len(gpus))
    use = np.zeros(len(gpus))
    then_use = np.zeros(len(gpus))
    most = np.zeros(len(gpus))
    each = np.zeros(len(gpus))
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
        use[:] = 0.0
        total = 0
        for d in range(count[host]):
            if free[d]:
                total += free[d]
                cut += pieces[free[d]]
                use += table[free[d]]
        w = weight[kind]
        left_cpu = cpu[host] - pod_cpu
        left_memory = memory[host] - pod_memory
        rest = left_cpu / scale[0] + left_memory / scale[1] + (total - pod_gpus * pod_milli) / scale[2]
        if total == 0:
            scores[host] = tight * rest
            devices[host] = 0
            continue
        before = _worth(cpu[host], memory[host], cut, use, per_cpu, more_cpu, per_memory, more_memory, way, gpus, w, most, each)
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
                then_use[:] = use - table[free[index]] + table[free[index] - pod_milli]
                after = _worth(left_cpu, left_memory, then, then_use, per_cpu, more_cpu, per_memory, more_memory, way, gpus, w, most, each)
                loss = (before - after) + waste[free[index] - pod_milli] - waste[free[index]]
                # of devices that lose the same, the fullest
                if quantum > 0:
                    loss = math.floor(loss / quantum + 0.5) * quantum
                value = loss * 1e3 + tight * (rest + free[index] / 1000.0)
                if value < best:
                    best = value
                    chosen = 1 << index
        else:
            then[:] = cut
            then_use[:] = use
            for index in range(count[host]):
                if chosen >> index & 1:
                    then += pieces[free[index] - pod_milli] - pieces[free[index]]
                    then_use += table[free[index] - pod_milli] - table[free[index]]
            after = _worth(left_cpu, left_memory, then, then_use, per_cpu, more_cpu, per_memory, more_memory, way, gpus, w, most, each)
            loss = (before - after)
            if quantum > 0:
                loss = math.floor(loss / quantum + 0.5) * quantum
            best = loss * 1e3 + tight * rest
            if pod_gpus:
                best += tight * 1.0
        scores[host] = best
        devices[host] = chosen
