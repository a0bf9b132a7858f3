"""The devices that a pod takes on a host: the fullest with enough free."""

from __future__ import annotations

from typing import NamedTuple

from offchain.core.scheduler.cluster import Cluster
from offchain.core.scheduler.columns import Bools, HostColumns, Ints
from offchain.core.scheduler.jit import compiled
from offchain.core.scheduler.pod_request import WHOLE_GPU, PodShape


class KernelRequest(NamedTuple):
    """A shape in the form that compiled loops read."""

    cpu: int
    memory: int
    disk: int
    gpus: int
    milli: int
    accepts: Bools
    """[device class]: whether it is suitable."""
    level: int = 0
    """The level of devices of which the pod's account has shares (:mod:`offchain.core.scheduler.sharing_demand`)."""

    @classmethod
    def of(cls, shape: PodShape, cluster: Cluster) -> KernelRequest:
        """Return the request for the device classes of this cluster."""
        return cls.accepting(shape, cluster.accepts(shape), cluster.sharing_level(shape.account))

    @classmethod
    def accepting(cls, shape: PodShape, accepts: Bools, level: int) -> KernelRequest:
        """Return the request with known suitable classes."""
        return cls(shape.cpu_milli, shape.memory_mib, shape.disk_gib, shape.gpus, shape.gpu_milli, accepts, level)


@compiled
def fullest_devices(host: int, free: HostColumns, request: KernelRequest) -> int:
    """Return the fullest devices with enough free, as bits; -1 where the pod is not feasible on this host.

    :func:`offchain.core.feasibility.first_devices` and the free resources on columns, with another choice of devices.
    """
    if free.cpu[host] < request.cpu or free.memory[host] < request.memory or free.disk[host] < request.disk:
        return -1
    chosen = 0
    for _ in range(request.gpus):
        best = -1
        for index in range(free.gpus[host]):
            left = free.device[host, index]
            usable = (
                left >= request.milli and request.accepts[free.device_class[host, index]] and not chosen >> index & 1
            )
            if usable and (best < 0 or left < free.device[host, best]):
                best = index
                if request.milli == WHOLE_GPU:
                    break
        if best < 0:
            return -1
        chosen |= 1 << best
    return chosen


@compiled
def choose_devices(hosts: Ints, free: HostColumns, request: KernelRequest, devices: Ints) -> None:
    """Write the result of :func:`fullest_devices` for each of `hosts` to its place in `devices`."""
    for host in hosts:
        devices[host] = fullest_devices(host, free, request)
