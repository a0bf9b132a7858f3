"""Feasibility of a pod on a host: the devices and the rate, or the first rule that fails.

This is the readable form of the rule. The chain applies it in `assign`; `tests/vectors/fit.json` contains the cases
that both are tested with. The scheduler's forms for all hosts at once, such as
:func:`offchain.core.scheduler.filters.first_misfits`, are tested against :func:`fit`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from offchain.core.pricing import offers, rate_per_hour
from offchain.core.scheduler.pod_request import WHOLE_GPU, PodRequest, PodShape, device_class_of
from offchain.core.values import Capabilities, Capacity, Device, Host, HostStatus, Placement, Resources, SlaTerms


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
    TERMS_TOO_WEAK = "promising less than the terms that the task demands"
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


DEVICE_RULES: Final = (
    Misfit.SIMULATED_NOT_ALLOWED,
    Misfit.NOT_ATTESTED,
    Misfit.WRONG_MODEL,
    Misfit.NOT_ENOUGH_VRAM,
    Misfit.DEVICE_UNHEALTHY,
    Misfit.DEVICE_BUSY,
    Misfit.DEVICE_SHARED,
)
"""The rules for each device, in the chain's order. The first four are :meth:`PodShape.device_checks`."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A feasible placement: indices of the devices, and the rate in base units per hour."""

    devices: tuple[int, ...]
    rate_per_hour: int


def fit(host: Host, request: PodRequest) -> Fit | Misfit:
    """Return how one pod fits on `host` now, or why it does not."""
    misfit = _exclusion(host, request) or placement_misfit(host, request.placement) or _short(host.free, request.shape)
    if misfit is not None:
        return misfit
    chosen = first_devices(host.devices, request.shape)
    if isinstance(chosen, Misfit):
        return chosen
    if not offers(host.ask, request.unit):
        return Misfit.UNIT_NOT_OFFERED
    rate = rate_per_hour(request.resources, host.devices, chosen, host.ask, request.unit)
    return Fit(chosen, rate) if rate <= request.max_rate_per_hour else Misfit.PRICE


def _exclusion(host: Host, request: PodRequest) -> Misfit | None:
    if request.takes_over is not None and request.takes_over.host != host.id:
        return Misfit.DATA_ELSEWHERE
    if host.id in request.refused_by:
        return Misfit.HOST_REFUSED
    return None if host.status is HostStatus.ONLINE else Misfit.NOT_ONLINE


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
    return (
        _network_misfit(host, placement)
        or _capability_misfit(host.capabilities, placement.capabilities)
        or (None if satisfies(host.ask.terms, placement.min_terms) else Misfit.TERMS_TOO_WEAK)
    )


def satisfies(terms: SlaTerms, least: SlaTerms) -> bool:
    """Return whether `terms` promise at least as much as `least`."""
    starts = not least.start_ms or 0 < terms.start_ms <= least.start_ms
    return (
        starts
        and terms.uptime_ppm >= least.uptime_ppm
        and terms.notice_ms >= least.notice_ms
        and terms.penalty_ppm >= least.penalty_ppm
    )


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


def fits(free: Capacity, devices: Sequence[Device], shape: PodShape, chosen: Sequence[int]) -> Misfit | None:
    """Return the first reason why a pod does not fit on the free resources and these devices; None: it fits."""
    short = _short(free, shape)
    if short is not None:
        return short
    if len(chosen) != shape.gpus:
        return Misfit.WRONG_DEVICE_COUNT
    for place, index in enumerate(chosen):
        if index >= len(devices):
            return Misfit.NO_SUCH_DEVICE
        if index in chosen[:place]:
            return Misfit.DEVICE_REPEATED
        failed = _failed_rule(devices[index], shape)
        if failed < len(DEVICE_RULES):
            return DEVICE_RULES[failed]
    return None


def first_devices(devices: Sequence[Device], shape: PodShape) -> tuple[int, ...] | Misfit:
    """Return the first suitable devices, by index, or the rule that leaves too few."""
    if len(devices) < shape.gpus:
        return Misfit.WRONG_DEVICE_COUNT
    failed = [_failed_rule(device, shape) for device in devices] if shape.gpus else []
    for rule, misfit in enumerate(DEVICE_RULES):
        if sum(first > rule for first in failed) < shape.gpus:
            return misfit
    return tuple(index for index, first in enumerate(failed) if first == len(DEVICE_RULES))[: shape.gpus]


def _failed_rule(device: Device, shape: PodShape) -> int:
    """Return the index in `DEVICE_RULES` of the first rule that excludes the device; their number if none does."""
    own = WHOLE_GPU in (shape.gpu_milli, device.milli_free) or device.shared_by == shape.account
    state = device.healthy, device.milli_free >= shape.gpu_milli, own
    return (*shape.device_checks(device_class_of(device)), *state, False).index(False)


def take(host: Host, request: PodRequest, chosen: Sequence[int]) -> Host:
    """Return `host` with a pod placed on it. Raises ValueError with the misfit if it does not fit."""
    shape = request.shape
    misfit = fits(host.free, host.devices, shape, chosen)
    if misfit is not None:
        raise ValueError(misfit)
    free = Capacity(
        host.free.cpu_milli - shape.cpu_milli,
        host.free.memory_mib - shape.memory_mib,
        host.free.disk_gib - shape.disk_gib,
    )
    devices = list(host.devices)
    for index in chosen:
        left = devices[index].milli_free - shape.gpu_milli
        devices[index] = replace(devices[index], milli_free=left, shared_by=shape.account or devices[index].shared_by)
    return replace(host, free=free, devices=tuple(devices), live_leases=host.live_leases + 1)


def released(host: Host, resources: Resources, devices: Iterable[int]) -> Host:
    """Return the host after the end of a lease of `resources` on `devices`."""
    free = Capacity(
        min(host.total.cpu_milli, host.free.cpu_milli + resources.cpu_milli),
        min(host.total.memory_mib, host.free.memory_mib + resources.memory_mib),
        min(host.total.disk_gib, host.free.disk_gib + resources.disk_gib),
    )
    after = list(host.devices)
    for index in devices:
        milli = min(WHOLE_GPU, after[index].milli_free + resources.gpus.milli)
        shared_by = None if milli == WHOLE_GPU else after[index].shared_by
        after[index] = replace(after[index], milli_free=milli, shared_by=shared_by)
    return replace(host, free=free, devices=tuple(after))


def emptied(host: Host) -> Host:
    """Return the host as if nothing were leased."""
    devices = tuple(replace(device, milli_free=WHOLE_GPU, shared_by=None) for device in host.devices)
    return replace(host, free=host.total, devices=devices)


def count_pods(host: Host, request: PodRequest, most: int) -> tuple[int, Fit | Misfit]:
    """Return how many pods fit together, up to `most`, and the first one's devices and rate, or why none fits."""
    first = found = fit(host, request)
    pods = 0
    while isinstance(found, Fit) and pods < most:
        pods += 1
        host = take(host, request, found.devices)
        found = fit(host, request)
    return pods, first


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


def _short(free: Capacity, shape: PodShape) -> Misfit | None:
    if free.cpu_milli < shape.cpu_milli:
        return Misfit.NOT_ENOUGH_CPU
    if free.memory_mib < shape.memory_mib:
        return Misfit.NOT_ENOUGH_MEMORY
    return Misfit.NOT_ENOUGH_DISK if free.disk_gib < shape.disk_gib else None
