"""Metrics of the present usage of pods, as the meter samples it.

The label of a pod is its place: the lowest number that no other pod of the host has. The numbers of its task and of
the pod are values, not labels, so that the time series of a host are as many as its pods at one time, however many
tasks come and go. A query finds the pods of task 7 by `gantry_pod_task == 7`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from node_agent.metering.usage import MeteredUsage, PodSample
from offchain.adapters.metrics.definitions import MetricDefinition, MetricReading

STALE_S: Final = 30.0
"""After this time without a sample the last values are not given any more."""
_PPM_IN_PERCENT: Final = 10_000


def _gauge(name: str, meaning: str) -> MetricDefinition:
    return MetricDefinition(f"gantry_pod_{name}", "gauge", meaning, ("place",))


TASK: Final = _gauge("task", "Number of the task of the pod at this place.")
NUMBER: Final = _gauge("number", "Number of the pod at this place in its task.")
CPU: Final = _gauge("cpu_cores", "Processors that the pod used, mean since the last sample.")
MEMORY: Final = _gauge("memory_bytes", "Memory that the pod's containers use.")
GPU: Final = _gauge("gpu_utilisation_percent", "Share of time in which the pod's GPUs worked, mean of its GPUs.")
GPU_MEMORY: Final = _gauge("gpu_memory_bytes", "Memory in use on the pod's GPUs.")
METRICS: Final = (TASK, NUMBER, CPU, MEMORY, GPU, GPU_MEMORY)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodUsage:
    """Usage of a pod at one moment; None: unknown. `cpu_cores`: mean since the sample before."""

    task: int
    pod: int
    cpu_cores: float | None
    memory_bytes: int
    gpu_percent: float | None
    gpu_memory_bytes: int | None


def usage_at(task: int, pod: int, before: MeteredUsage, after: MeteredUsage, sample: PodSample) -> PodUsage | None:
    """Return the usage at a sample. `before`, `after`: the sums without and with it. None if no container runs."""
    if not any(run.own for run in sample.runs):
        return None
    cores = None
    if before.steady_ms is not None and before.boot == after.boot and after.steady_ms is not None:
        passed_ms = after.steady_ms - before.steady_ms
        cores = (after.cpu_us - before.cpu_us) / (1000 * passed_ms) if passed_ms > 0 else None
    busy = [gpu.busy_ppm for gpu in sample.gpus if gpu.busy_ppm is not None]
    return PodUsage(
        task=task,
        pod=pod,
        cpu_cores=cores,
        memory_bytes=sample.memory_bytes,
        gpu_percent=sum(busy) / len(busy) / _PPM_IN_PERCENT if busy else None,
        gpu_memory_bytes=sample.gpu_memory_bytes,
    )


class PodMetrics:
    """Keeps the newest usage of each pod, by its lease."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        self._usage: Mapping[int, PodUsage] = {}
        self._sampled_s = float("-inf")

    def update(self, usage: Mapping[int, PodUsage]) -> None:
        """Replace the usage of all pods. Places of pods that are gone are given to others."""
        self._places = {lease: place for lease, place in self._places.items() if lease in usage}
        taken = set(self._places.values())
        free = (place for place in range(len(usage)) if place not in taken)
        for lease in sorted(usage.keys() - self._places.keys()):
            self._places[lease] = next(free)
        self._usage = usage
        self._sampled_s = time.monotonic()

    def __call__(self) -> Iterator[MetricReading]:
        if time.monotonic() - self._sampled_s >= STALE_S:
            return
        for lease, one in self._usage.items():
            place = str(self._places[lease])
            yield TASK.read(one.task, place)
            yield NUMBER.read(one.pod, place)
            yield from CPU.read_if_known(one.cpu_cores, place)
            yield MEMORY.read(one.memory_bytes, place)
            yield from GPU.read_if_known(one.gpu_percent, place)
            yield from GPU_MEMORY.read_if_known(one.gpu_memory_bytes, place)
