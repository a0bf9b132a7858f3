"""The fragmentation score of docs/scheduling.md on host records, one host and one expected shape at a time.

The readable form of :func:`offchain.core.scheduler.kernels.score_and_place`. Whether a pod is feasible is decided by
:mod:`offchain.core.feasibility`. The values of single pieces of a GPU come from the product, which tests them apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from offchain.core.feasibility import fits, take
from offchain.core.scheduler.columns import NO_DEVICE, UNKNOWN_ACCOUNT, SharingLevels
from offchain.core.scheduler.packing import CPU_FACTOR, MULTI_GPU_WEIGHT, piece_values
from offchain.core.scheduler.pod_request import WHOLE_GPU, DeviceClass, PodRequest, PodShape, device_class_of
from offchain.core.scheduler.sharing_demand import share_values
from offchain.core.values import Device, Host

STEP_MILLI: Final = 40
STEP_COST: Final = 100.0
USED_GPU_COST: Final = 10.0
CPU_GRAIN_MILLI: Final = 500
MEMORY_GRAIN_MIB: Final = 1024
ROUNDING: Final = 1e-6
"""What falls short of a whole number, or of a half that is rounded up, by less than this counts as reaching it."""

INFEASIBLE: Final[tuple[float, tuple[int, ...]]] = math.inf, ()


class ReferencePacking:
    """Places pods on host records, one after the other. `hosts`: the records after the last placement."""

    def __init__(self, hosts: Sequence[Host], demand: Mapping[PodShape, float], levels: SharingLevels) -> None:
        self.hosts = list(hosts)
        self._levels = levels
        expected = {shape: count for shape, count in demand.items() if shape.gpus}
        weights = {shape: count * (MULTI_GPU_WEIGHT if shape.gpus > 1 else 1) for shape, count in expected.items()}
        self._counts = {shape: weight / sum(weights.values()) for shape, weight in weights.items()}
        self._pieces = _piece_values_by_level(expected)
        self._largest = (
            max(1, *(host.free.cpu_milli for host in hosts)),
            max(1, *(host.free.memory_mib for host in hosts)),
            max(1, *(_free_milli(host) for host in hosts)),
        )
        self._gpus = [(_first_class(host), len(host.devices)) for host in hosts]

    def place(self, request: PodRequest, pods: int, penalties: Sequence[float]) -> list[tuple[int, tuple[int, ...]]]:
        """Place up to `pods` pods, each on the host with the lowest cost, of equals the first.

        `penalties`: [host], added to the score; infinite: not permitted. Return the host and the devices of each pod.
        """
        placed = []
        while len(placed) < pods:
            found = [self.score(host, request) for host in self.hosts]
            costs = [np.float32(score + penalty) for (score, _), penalty in zip(found, penalties, strict=True)]
            best = int(np.argmin(costs))
            if costs[best] == np.inf:
                break
            devices = found[best][1]
            self.hosts[best] = take(self.hosts[best], request, devices)
            placed.append((best, devices))
        return placed

    def score(self, host: Host, request: PodRequest) -> tuple[float, tuple[int, ...]]:
        """Return the score of a pod on `host` and its devices; infinite: not feasible.

        A share goes to the device where the score is lowest, other pods to the fullest devices with enough free.
        """
        shape = request.shape
        alone = replace(shape, gpus=1)
        suitable = [index for index in range(len(host.devices)) if not fits(host.free, host.devices, alone, (index,))]
        suitable.sort(key=lambda index: (host.devices[index].milli_free, index))
        if shape.gpus == 1 and shape.gpu_milli < WHOLE_GPU:
            choices = [
                (
                    self._score_on(host, request, (index,))
                    + USED_GPU_COST * host.devices[index].milli_free / WHOLE_GPU,
                    index,
                )
                for index in suitable
            ]
            score, index = min(choices, default=(math.inf, -1))
            return (score, (index,)) if choices else INFEASIBLE
        chosen = tuple(sorted(suitable[: shape.gpus]))
        fine = fits(host.free, host.devices, shape, chosen) is None
        return (self._score_on(host, request, chosen), chosen) if fine else INFEASIBLE

    def _score_on(self, host: Host, request: PodRequest, devices: Sequence[int]) -> float:
        """Return the steps of lost value and the fullness, if the pod takes these devices."""
        left = take(host, request, devices)
        lost = self.value(host) - self.value(left)
        free = left.free.cpu_milli, left.free.memory_mib, _free_milli(left)
        fullness = free[0] / self._largest[0] + free[1] / self._largest[1] + free[2] / self._largest[2]
        return math.floor(lost / STEP_MILLI + 0.5 + ROUNDING) * STEP_COST + fullness

    def value(self, host: Host) -> float:
        """Return the value of what is free of `host`, in thousandths of a GPU."""
        return sum(self._value_for(host, shape) for shape in self._counts if shape.accepts(_first_class(host)))

    def _value_for(self, host: Host, shape: PodShape) -> float:
        """Return the part of the value that counts for expected pods of one shape."""
        big_enough = [device for device in host.devices if _free(device) >= shape.gpu_milli]
        shares = sum(_free(device) // shape.gpu_milli for device in big_enough)
        pods = shares // shape.gpus
        if not pods:
            return 0.0
        in_full_sets = 1.0 if shape.gpus == 1 else pods * shape.gpus / shares
        reach = min(pods, self._pods_by_cpu(host, shape), self._pods_by_memory(host, shape)) / pods
        pieces = sum(self._piece_value(device) for device in big_enough)
        return self._counts[shape] * self._scarcity(shape) * reach * in_full_sets * pieces

    def _piece_value(self, device: Device) -> float:
        """Return the value of the free part of a device, divided among the pods for which it is large enough."""
        milli = _free(device)
        level = 0 if milli == WHOLE_GPU else self._level(device.shared_by or UNKNOWN_ACCOUNT)
        counts = sum(count for shape, count in self._counts.items() if shape.gpu_milli <= milli)
        return self._pieces[level][milli] / counts

    def _level(self, account: str) -> int:
        return self._levels.by_account.get(account, self._levels.other)

    def _pods_by_cpu(self, host: Host, shape: PodShape) -> int:
        """Return for how many pods the cores suffice. Cores that no pods on the free GPUs can use do not count."""
        useful = int(_free_milli(host) * max(one.cpu_milli / one.total_milli for one in self._counts))
        cpu = min(host.free.cpu_milli, useful) // CPU_GRAIN_MILLI * CPU_GRAIN_MILLI
        return math.floor(CPU_FACTOR * cpu / shape.cpu_milli + ROUNDING)

    def _pods_by_memory(self, host: Host, shape: PodShape) -> int:
        useful = int(_free_milli(host) * max(one.memory_mib / one.total_milli for one in self._counts))
        memory = min(host.free.memory_mib, useful) // MEMORY_GRAIN_MIB * MEMORY_GRAIN_MIB
        return math.floor(memory / shape.memory_mib + ROUNDING)

    def _scarcity(self, shape: PodShape) -> float:
        """Return all GPUs over those of models that the shape accepts. A host counts as if all were like its first."""
        accepted = sum(gpus for device_class, gpus in self._gpus if shape.accepts(device_class))
        return max(1, sum(gpus for _, gpus in self._gpus)) / max(1, accepted)


def _free(device: Device) -> int:
    return device.milli_free if device.healthy else 0


def _free_milli(host: Host) -> int:
    return sum(_free(device) for device in host.devices)


def _first_class(host: Host) -> DeviceClass:
    return device_class_of(host.devices[0]) if host.devices else NO_DEVICE


def _piece_values_by_level(expected: Mapping[PodShape, float]) -> list[list[float]]:
    """[level, thousandths]: the value of a piece of a device, in thousandths of a GPU."""
    demand: dict[int, float] = {}
    shares: dict[int, float] = {}
    for shape, count in expected.items():
        demand[shape.gpu_milli] = demand.get(shape.gpu_milli, 0.0) + count * shape.gpus
        if shape.gpu_milli < WHOLE_GPU:
            shares[shape.gpu_milli] = shares.get(shape.gpu_milli, 0.0) + count
    values = WHOLE_GPU * piece_values(demand)
    sizes = np.array(sorted(shares), dtype=np.int64)
    probability = np.array([shares[size] for size in sorted(shares)])
    for_one_account = share_values(sizes, probability / probability.sum(), values[sizes])
    return [values.tolist(), values.tolist(), *for_one_account.tolist()]
