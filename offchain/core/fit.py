"""The fit rule: may this pod go to this host, on which devices, at what rate; or the one reason why not.

The chain applies the same rule in `assign`; `tests/vectors/fit.json` holds the cases that both run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from enum import StrEnum

from offchain.core.rate import rate_per_hour
from offchain.core.values import Capacity, Device, GpuRequest, Host, HostStatus, Placement, Resources


class Misfit(StrEnum):
    """Why a host cannot take a pod: the first rule that fails, in this order."""

    NOT_ONLINE = "not online"
    HOST_NOT_LISTED = "not in the task's host list"
    REGION = "in another region"
    CPU = "too little free cpu"
    MEMORY = "too little free memory"
    DISK = "too little free disk"
    GPU_COUNT = "too few GPUs"
    GPU_SIMULATED = "simulated GPUs, which the task does not allow"
    GPU_MODEL = "other GPU models"
    GPU_MEMORY = "too little GPU memory"
    GPU_BUSY = "GPUs in use"
    PRICE = "above the price limit"


@dataclass(frozen=True, slots=True)
class Fit:
    """A pod fits: on the devices with these indices, for this rate in base units per hour."""

    devices: tuple[int, ...]
    rate_per_hour: int


def fit(host: Host, resources: Resources, placement: Placement, max_rate_per_hour: int) -> Fit | Misfit:
    """Whether one pod fits on `host` as it is now."""
    unwanted = _unwanted(host, placement)
    if unwanted is not None:
        return unwanted
    short = _short(host.free, resources)
    if short is not None:
        return short
    devices = choose_devices(host.devices, resources.gpus, allow_simulated=placement.allow_simulated)
    if isinstance(devices, Misfit):
        return devices
    rate = rate_per_hour(resources, host.ask)
    return Fit(devices, rate) if rate <= max_rate_per_hour else Misfit.PRICE


def choose_devices(
    devices: tuple[Device, ...], request: GpuRequest, *, allow_simulated: bool
) -> tuple[int, ...] | Misfit:
    """The first devices, by index, that satisfy the request; or the rule that leaves too few of them."""
    if request.count == 0:
        return ()
    rules: tuple[tuple[Misfit, Callable[[Device], bool]], ...] = (
        (Misfit.GPU_COUNT, lambda _: True),
        (Misfit.GPU_SIMULATED, lambda device: allow_simulated or not device.spec.simulated),
        (Misfit.GPU_MODEL, lambda device: not request.models or device.spec.model in request.models),
        (Misfit.GPU_MEMORY, lambda device: device.spec.vram_mib >= request.min_vram_mib),
        (Misfit.GPU_BUSY, lambda device: device.milli_free >= request.milli),
    )
    left = tuple(range(len(devices)))
    for misfit, allows in rules:
        left = tuple(index for index in left if allows(devices[index]))
        if len(left) < request.count:
            return misfit
    return left[: request.count]


def _unwanted(host: Host, placement: Placement) -> Misfit | None:
    if host.status is not HostStatus.ONLINE:
        return Misfit.NOT_ONLINE
    if placement.hosts and host.id not in placement.hosts:
        return Misfit.HOST_NOT_LISTED
    if placement.regions and host.region not in placement.regions:
        return Misfit.REGION
    return None


def _short(free: Capacity, resources: Resources) -> Misfit | None:
    if free.cpu_milli < resources.cpu_milli:
        return Misfit.CPU
    if free.memory_mib < resources.memory_mib:
        return Misfit.MEMORY
    if free.disk_gib < resources.disk_gib:
        return Misfit.DISK
    return None


def take(host: Host, resources: Resources, devices: Collection[int]) -> Host:
    """`host` with the pod's share taken off. The pod must fit: raises ValueError where something would go below 0."""
    free = Capacity(
        host.free.cpu_milli - resources.cpu_milli,
        host.free.memory_mib - resources.memory_mib,
        host.free.disk_gib - resources.disk_gib,
    )
    after = tuple(
        replace(device, milli_free=device.milli_free - resources.gpus.milli) if index in devices else device
        for index, device in enumerate(host.devices)
    )
    lowest = min(free.cpu_milli, free.memory_mib, free.disk_gib, *(device.milli_free for device in after), 0)
    if lowest < 0:
        raise ValueError(f"host {host.id} has not the capacity for this pod")
    return replace(host, free=free, devices=after, live_leases=host.live_leases + 1)
