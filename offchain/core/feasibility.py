"""Feasibility of a pod on a host: the devices and the rate, or the first rule that fails.

The chain applies the same rules in `assign`; `tests/vectors/fit.json` contains the cases that both are tested with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from offchain.core.pricing import offers, rate_per_hour
from offchain.core.values import (
    BillingUnit,
    Capabilities,
    Capacity,
    Device,
    GpuRequest,
    Host,
    HostStatus,
    Placement,
    Resources,
    Task,
)
from offchain.schema.manifest.types import WHOLE_GPU


class Misfit(StrEnum):
    """Why a host cannot take a pod: the first rule that fails, in this order."""

    DATA_ELSEWHERE = "without the data it takes over"
    HOST_REFUSED = "excluded, because they refused a pod of the task or did not start it"
    NOT_ONLINE = "not online"
    HOST_NOT_WANTED = "not in the task's host list"
    REGION_NOT_WANTED = "in another region"
    PROVIDER_NOT_WANTED = "of a provider that the task does not want"
    TIER_NOT_WANTED = "of another tier"
    NOT_ENOUGH_NETWORK = "too slow a network"
    LATENCY_TOO_HIGH = "too long a round trip, or none measured"
    CAPABILITY_MISSING = "unable to run what the task needs"
    NOT_SANDBOXED = "without the sandbox for pods that the task asks for"
    NOT_ENOUGH_CPU = "too little free cpu"
    NOT_ENOUGH_MEMORY = "too little free memory"
    NOT_ENOUGH_DISK = "too little free disk"
    WRONG_DEVICE_COUNT = "too few GPUs"
    NO_SUCH_DEVICE = "no such GPU"
    DEVICE_REPEATED = "the same GPU twice"
    SIMULATED_NOT_ALLOWED = "simulated GPUs, which the task does not allow"
    NOT_ATTESTED = "GPUs that are not attested"
    WRONG_MODEL = "other GPU models"
    NOT_ENOUGH_VRAM = "too little GPU memory"
    DEVICE_UNHEALTHY = "GPUs out of order"
    DEVICE_BUSY = "GPUs in use"
    DEVICE_SHARED = "GPUs of which another account holds shares"
    UNIT_NOT_OFFERED = "not offered by the task's billing unit"
    PRICE = "above the price limit"


@dataclass(frozen=True, slots=True)
class Fit:
    """A feasible placement: indices of the devices, and the rate in base units per hour."""

    devices: tuple[int, ...]
    rate_per_hour: int


def fit(
    host: Host, resources: Resources, placement: Placement, unit: BillingUnit, max_rate_per_hour: int, tenant: str
) -> Fit | Misfit:
    """Return how one pod of `tenant` fits on `host` now, or why it does not."""
    if host.status is not HostStatus.ONLINE:
        return Misfit.NOT_ONLINE
    misfit = placement_misfit(host, placement) or _short(host.free, resources)
    if misfit is not None:
        return misfit
    chosen = first_devices(host.devices, resources.gpus, placement, tenant)
    if isinstance(chosen, Misfit):
        return chosen
    if not offers(host.ask, unit):
        return Misfit.UNIT_NOT_OFFERED
    rate = rate_per_hour(resources, host.devices, chosen, host.ask, unit)
    return Fit(chosen, rate) if rate <= max_rate_per_hour else Misfit.PRICE


def placement_misfit(host: Host, placement: Placement) -> Misfit | None:
    """Return the first rule of `placement` that `host` violates, regardless of its free resources."""
    if placement.hosts and host.id not in placement.hosts:
        return Misfit.HOST_NOT_WANTED
    if placement.regions and host.region not in placement.regions:
        return Misfit.REGION_NOT_WANTED
    allowed = not placement.providers_allowed or host.provider in placement.providers_allowed
    if not allowed or host.provider in placement.providers_denied:
        return Misfit.PROVIDER_NOT_WANTED
    if placement.tiers and host.tier not in placement.tiers:
        return Misfit.TIER_NOT_WANTED
    return _network_misfit(host, placement) or _capability_misfit(host.capabilities, placement.capabilities)


def _network_misfit(host: Host, placement: Placement) -> Misfit | None:
    if min(host.network_mbps_down, host.network_mbps_up) < placement.min_network_mbps:
        return Misfit.NOT_ENOUGH_NETWORK
    if placement.max_latency_ms and not 0 < host.latency_ms <= placement.max_latency_ms:
        return Misfit.LATENCY_TOO_HIGH
    return None


def _capability_misfit(has: Capabilities, wanted: Capabilities) -> Misfit | None:
    if not _has_all(has, wanted):
        return Misfit.CAPABILITY_MISSING
    return Misfit.NOT_SANDBOXED if wanted.sandboxed and not has.sandboxed else None


def fits(
    free: Capacity,
    devices: Sequence[Device],
    resources: Resources,
    chosen: Sequence[int],
    placement: Placement,
    tenant: str,
) -> Misfit | None:
    """Return the first reason why a pod of `tenant` does not fit on the free resources and devices; None: it fits."""
    short = _short(free, resources)
    if short is not None:
        return short
    if len(chosen) != resources.gpus.count:
        return Misfit.WRONG_DEVICE_COUNT
    for place, index in enumerate(chosen):
        if index >= len(devices):
            return Misfit.NO_SUCH_DEVICE
        if index in chosen[:place]:
            return Misfit.DEVICE_REPEATED
        for misfit, allows in _rules(resources.gpus, placement, tenant):
            if not allows(devices[index]):
                return misfit
    return None


def first_devices(
    devices: Sequence[Device], request: GpuRequest, placement: Placement, tenant: str
) -> tuple[int, ...] | Misfit:
    """Return the first devices, by index, that satisfy the request of `tenant`, or the rule that leaves too few."""
    if request.count == 0:
        return ()
    left = tuple(range(len(devices)))
    if len(left) < request.count:
        return Misfit.WRONG_DEVICE_COUNT
    for misfit, allows in _rules(request, placement, tenant):
        left = tuple(index for index in left if allows(devices[index]))
        if len(left) < request.count:
            return misfit
    return left[: request.count]


def candidate(task: Task, host: Host) -> Host | Misfit:
    """Return the host with the disk of data that the task takes over, or why no pod of the task may run there."""
    data = task.takes_over
    if data is not None and data.host != host.id:
        return Misfit.DATA_ELSEWHERE
    if host.id in task.refused_by:
        return Misfit.HOST_REFUSED
    if data is None:
        return host
    return replace(host, free=replace(host.free, disk_gib=host.free.disk_gib + data.disk_gib))


def take(host: Host, resources: Resources, chosen: Sequence[int], placement: Placement, tenant: str) -> Host:
    """Return `host` with a pod of `tenant` placed on it. Raises ValueError with the misfit if it does not fit."""
    misfit = fits(host.free, host.devices, resources, chosen, placement, tenant)
    if misfit is not None:
        raise ValueError(misfit)
    free = Capacity(
        host.free.cpu_milli - resources.cpu_milli,
        host.free.memory_mib - resources.memory_mib,
        host.free.disk_gib - resources.disk_gib,
    )
    devices = tuple(
        replace(
            device,
            milli_free=device.milli_free - resources.gpus.milli,
            shared_by=tenant if resources.gpus.milli < WHOLE_GPU else device.shared_by,
        )
        if index in chosen
        else device
        for index, device in enumerate(host.devices)
    )
    return replace(host, free=free, devices=devices, live_leases=host.live_leases + 1)


def _has_all(has: Capabilities, wanted: Capabilities) -> bool:
    """Return whether a host can run all that is wanted, the sandbox aside."""
    return (
        (has.docker or not wanted.docker)
        and (has.kvm or not wanted.kvm)
        and (has.kubernetes or not wanted.kubernetes)
        and (has.cdi or not wanted.cdi)
        and (has.mig or not wanted.mig)
        and (has.shares or not wanted.shares)
    )


def _rules(
    request: GpuRequest, placement: Placement, tenant: str
) -> tuple[tuple[Misfit, Callable[[Device], bool]], ...]:
    """Return the rules for each device, in the chain's order."""
    return (
        (Misfit.SIMULATED_NOT_ALLOWED, lambda device: placement.allow_simulated or not device.spec.simulated),
        (Misfit.NOT_ATTESTED, lambda device: device.attested or not placement.verified_only),
        (Misfit.WRONG_MODEL, lambda device: not request.models or device.spec.model in request.models),
        (Misfit.NOT_ENOUGH_VRAM, lambda device: device.spec.vram_mib >= request.min_vram_mib),
        (Misfit.DEVICE_UNHEALTHY, lambda device: device.healthy),
        (Misfit.DEVICE_BUSY, lambda device: device.milli_free >= request.milli),
        (
            Misfit.DEVICE_SHARED,
            lambda device: WHOLE_GPU in (request.milli, device.milli_free) or device.shared_by == tenant,
        ),
    )


def _short(free: Capacity, resources: Resources) -> Misfit | None:
    if free.cpu_milli < resources.cpu_milli:
        return Misfit.NOT_ENOUGH_CPU
    if free.memory_mib < resources.memory_mib:
        return Misfit.NOT_ENOUGH_MEMORY
    if free.disk_gib < resources.disk_gib:
        return Misfit.NOT_ENOUGH_DISK
    return None
