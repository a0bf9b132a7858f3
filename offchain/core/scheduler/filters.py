"""The chain's placement rules for all hosts at once: the rule of core/feasibility.py on columns, in the chain's order.

`tests/property/core/test_feasibility_forms_properties.py` compares the two. A filter of your own is a function like the
others: a mask over hosts, entered in :data:`ATTRIBUTE_FILTERS` with the `Misfit` that explains the exclusion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from offchain.core.feasibility import DEVICE_RULES, Misfit
from offchain.core.scheduler.cluster import Cluster
from offchain.core.scheduler.columns import Bools, Floats, HostColumns, Ints
from offchain.core.scheduler.host_attributes import (
    ALL_LISTS,
    SANDBOXED,
    UNITS,
    HostAttributes,
    PriceLists,
    capability_bits,
)
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.jit import compiled
from offchain.core.scheduler.pod_request import WHOLE_GPU, PodRequest, PodShape
from offchain.core.values import NO_TERMS

_MILLION = 1e6

_ROUNDING = 1e-9
"""Columns are floating point: what exceeds the limit by less than this part is left to the exact rule."""

_PAYABLE = 1e30
"""List prices below this are far from what the chain cannot compute."""


def min_rates(request: PodRequest, price_lists: PriceLists, lists: slice) -> Floats:
    """[list]: base units per hour below which no pod can be had; 0 where the unit is not offered."""
    parts = _listed(request, price_lists, price_lists.cheapest, lists)
    # The exact rule rounds each part down, and their sum.
    rounded: Floats = np.where(np.isinf(parts), 0.0, np.maximum(0.0, parts - request.resources.gpus.count - 3))
    least: Floats = np.maximum(0.0, rounded * price_lists.factor[UNITS.index(request.unit), lists] / _MILLION - 1)
    return least


def certainly_affordable(request: PodRequest, price_lists: PriceLists, lists: slice) -> Bools:
    """[list]: whether a pod costs no more than its limit on any devices, without asking the exact rule."""
    found: Bools = max_rates(request, price_lists, lists) <= request.max_rate_per_hour * (1 - _ROUNDING)
    return found


def max_rates(request: PodRequest, price_lists: PriceLists, lists: slice) -> Floats:
    """[list]: base units per hour that no pod exceeds on any devices; infinite where it cannot be paid."""
    parts = np.minimum(_listed(request, price_lists, price_lists.dearest, lists), _PAYABLE)
    rates = parts * price_lists.factor[UNITS.index(request.unit), lists] / _MILLION
    return np.where(parts < _PAYABLE, rates, np.inf)


def _listed(request: PodRequest, price_lists: PriceLists, devices: Floats, lists: slice) -> Floats:
    """[list]: the list price of a pod, before rounding. `devices`: the price of n+1 devices together."""
    asked, gpus = request.resources, request.resources.gpus
    each = np.array([asked.cpu_milli / 1000, asked.memory_mib / 1024, float(asked.disk_gib)])
    parts: Floats = price_lists.price[lists] @ each
    if gpus.count:
        parts = parts + devices[gpus.count - 1, lists] * gpus.milli / 1000
    return parts


DEVICE_STEPS: Final = (Misfit.WRONG_DEVICE_COUNT, *DEVICE_RULES)
"""In the chain's order. A device counts for a rule if no rule up to it excludes the device."""

ENOUGH: Final = len(DEVICE_STEPS)
_UNHEALTHY: Final = DEVICE_STEPS.index(Misfit.DEVICE_UNHEALTHY)
_BUSY: Final = DEVICE_STEPS.index(Misfit.DEVICE_BUSY)
_SHARED: Final = DEVICE_STEPS.index(Misfit.DEVICE_SHARED)


def first_device_steps(shape: PodShape, attributes: HostAttributes, cluster: Cluster) -> Ints:
    """[host]: index in :data:`DEVICE_STEPS` of the first rule that leaves too few devices; ENOUGH where none does."""
    by_kind = np.full(len(cluster.classes), ENOUGH, dtype=np.int64)
    own = np.ones(len(cluster.classes), dtype=np.bool_)
    for number, device_class in enumerate(cluster.classes):
        own[number] = not shape.account or device_class.account == shape.account
        fine = shape.device_checks(device_class)
        by_kind[number] = 1 + fine.index(False) if False in fine else ENOUGH
    found = np.empty(len(attributes), dtype=np.int64)
    _count_device_steps(cluster.free, attributes.healthy, by_kind, own, shape.gpus, shape.gpu_milli, found)
    return found


@compiled
def _count_device_steps(
    free: HostColumns, healthy: Bools, by_kind: Ints, own: Bools, count: int, milli: int, found: Ints
) -> None:
    """`own`: [class], whether a device with shares in use is suitable."""
    left = np.zeros(ENOUGH + 1, dtype=np.int64)
    for host in range(len(found)):
        left[:] = 0
        for device in range(free.gpus[host]):
            step = by_kind[free.device_class[host, device]]
            if step == ENOUGH:
                if not healthy[host, device]:
                    step = _UNHEALTHY
                elif free.device[host, device] < milli:
                    step = _BUSY
                elif free.device[host, device] < WHOLE_GPU and not own[free.device_class[host, device]]:
                    step = _SHARED
            left[step] += 1
        # From the last rule to the first: the devices left after each.
        enough = left[ENOUGH]
        first = ENOUGH
        for step in range(ENOUGH - 1, -1, -1):
            if enough < count:
                first = step
            enough += left[step]
        found[host] = first


AttributeFilter = Callable[[PodRequest, HostAttributes], Bools | None]
"""[host]: whether the pod may go there by its attributes; None: the rule does not apply to the pod."""


def has_data(request: PodRequest, attributes: HostAttributes) -> Bools | None:
    """A task that takes over data goes to the host of the data."""
    return None if request.takes_over is None else attributes.hosts.among((request.takes_over.host,), attributes.host)


def has_not_refused(request: PodRequest, attributes: HostAttributes) -> Bools | None:
    """A task does not return to a host that refused it or did not start it."""
    return ~attributes.hosts.among(request.refused_by, attributes.host) if request.refused_by else None


def is_online(request: PodRequest, attributes: HostAttributes) -> Bools | None:
    del request
    return attributes.online


def is_allowed_host(request: PodRequest, attributes: HostAttributes) -> Bools | None:
    """The hosts that the tenant named, if any."""
    wanted = request.placement.hosts
    return attributes.hosts.among(wanted, attributes.host) if wanted else None


def is_allowed_region(request: PodRequest, attributes: HostAttributes) -> Bools | None:
    """The regions that the tenant named, if any."""
    wanted = request.placement.regions
    return attributes.regions.among(wanted, attributes.region) if wanted else None


def is_allowed_provider(request: PodRequest, attributes: HostAttributes) -> Bools | None:
    """The providers that the tenant allowed, if any were named, and none that were denied."""
    allowed_names, denied = request.placement.providers_allowed, request.placement.providers_denied
    if not allowed_names and not denied:
        return None
    fine = ~attributes.providers.among(denied, attributes.provider)
    return fine & attributes.providers.among(allowed_names, attributes.provider) if allowed_names else fine


def is_allowed_tier(request: PodRequest, attributes: HostAttributes) -> Bools | None:
    """The tiers that the tenant named, if any."""
    wanted = request.placement.tiers
    return attributes.tiers.among(wanted, attributes.tier) if wanted else None


def has_bandwidth(request: PodRequest, attributes: HostAttributes) -> Bools | None:
    """Enough bandwidth in both directions."""
    least = request.placement.min_network_mbps
    return attributes.mbps >= least if least else None


def has_low_latency(request: PodRequest, attributes: HostAttributes) -> Bools | None:
    """A round trip as short as required; hosts without a measurement are excluded."""
    longest = request.placement.max_latency_ms
    return (attributes.latency_ms > 0) & (attributes.latency_ms <= longest) if longest else None


def has_capabilities(request: PodRequest, attributes: HostAttributes) -> Bools | None:
    """All capabilities that the task requires, but for the sandbox."""
    bits = capability_bits(request.placement.capabilities) & ~SANDBOXED
    return (attributes.capabilities & bits) == bits if bits else None


def is_sandboxed(request: PodRequest, attributes: HostAttributes) -> Bools | None:
    """Pods run in a sandbox, if the task requires that."""
    return (attributes.capabilities & SANDBOXED) != 0 if request.placement.capabilities.sandboxed else None


def has_terms(request: PodRequest, attributes: HostAttributes) -> Bools | None:
    """At least the terms that the task demands."""
    least = request.placement.min_terms
    if least == NO_TERMS:
        return None
    uptime_ppm, start_ms, notice_ms, penalty_ppm = attributes.price_lists.terms[:, attributes.price_list]
    fine: Bools = (uptime_ppm >= least.uptime_ppm) & (notice_ms >= least.notice_ms) & (penalty_ppm >= least.penalty_ppm)
    return fine & (start_ms > 0) & (start_ms <= least.start_ms) if least.start_ms else fine


ATTRIBUTE_FILTERS: Final[tuple[tuple[Misfit, AttributeFilter], ...]] = (
    (Misfit.DATA_ELSEWHERE, has_data),
    (Misfit.HOST_REFUSED, has_not_refused),
    (Misfit.NOT_ONLINE, is_online),
    (Misfit.HOST_NOT_WANTED, is_allowed_host),
    (Misfit.REGION_NOT_WANTED, is_allowed_region),
    (Misfit.PROVIDER_NOT_WANTED, is_allowed_provider),
    (Misfit.TIER_NOT_WANTED, is_allowed_tier),
    (Misfit.NOT_ENOUGH_NETWORK, has_bandwidth),
    (Misfit.LATENCY_TOO_HIGH, has_low_latency),
    (Misfit.CAPABILITY_MISSING, has_capabilities),
    (Misfit.NOT_SANDBOXED, is_sandboxed),
    (Misfit.TERMS_TOO_WEAK, has_terms),
)
"""Checked before free resources. Each is the chain's rule of the same name (docs/protocol.md)."""


def offers_unit(request: PodRequest, price_lists: PriceLists, lists: slice) -> Bools:
    """[list]: whether it has the task's billing unit."""
    found: Bools = price_lists.factor[UNITS.index(request.unit), lists] > 0
    return found


def is_within_limit(request: PodRequest, price_lists: PriceLists, lists: slice) -> Bools:
    """[list]: whether the price limit can be kept.

    The cheapest devices of each host count; the price of the chosen ones is checked exactly when they are chosen.
    """
    found: Bools = min_rates(request, price_lists, lists) <= request.max_rate_per_hour * (1 + _ROUNDING)
    return found


PRICE_FILTERS: Final[tuple[tuple[Misfit, Callable[[PodRequest, PriceLists, slice], Bools]], ...]] = (
    (Misfit.UNIT_NOT_OFFERED, offers_unit),
    (Misfit.PRICE, is_within_limit),
)
"""Checked after free resources."""

_MISFITS = tuple(Misfit)
_STEPS = np.array([_MISFITS.index(misfit) for misfit in DEVICE_STEPS], dtype=np.int64)
_NONE = -1


def permitted(request: PodRequest, attributes: HostAttributes) -> Bools:
    """[host]: whether the pod may go there if resources suffice. Prices are excluded only if certainly too high."""
    return (
        permitted_by_attributes(request, attributes)
        & affordable_lists(request, attributes.price_lists, ALL_LISTS)[attributes.price_list]
    )


def permitted_by_attributes(request: PodRequest, attributes: HostAttributes) -> Bools:
    """[host]: whether the pod may go there if resources suffice and the price is right."""
    found = np.ones(len(attributes), dtype=np.bool_)
    for _, check in ATTRIBUTE_FILTERS:
        mask = check(request, attributes)
        if mask is not None:
            found &= mask
    return found


def affordable_lists(request: PodRequest, price_lists: PriceLists, lists: slice) -> Bools:
    """[list]: whether a host with this price list may be suitable; False where it is certainly too expensive."""
    found: Bools = np.logical_and.reduce([check(request, price_lists, lists) for _, check in PRICE_FILTERS])
    return found


def count_excluded(request: PodRequest, fleet: HostTable) -> Mapping[Misfit, int]:
    """Return how many hosts each rule excludes, each host counted for the first rule, in the order of the rules."""
    cluster = fleet.cluster
    misfits = first_misfits(request, fleet.attributes, cluster)
    if len(cluster) > len(fleet.records):
        misfits = misfits[np.fromiter(map(cluster.row, fleet.records), dtype=np.int64, count=len(fleet.records))]
    counts = np.bincount(misfits + 1, minlength=len(_MISFITS) + 1)[1:]
    return {misfit: int(count) for misfit, count in zip(_MISFITS, counts, strict=True) if count}


def first_misfits(request: PodRequest, attributes: HostAttributes, cluster: Cluster) -> Ints:
    """[host]: the index in :class:`Misfit` of the first rule that excludes it; -1 where none does."""
    found = np.full(len(attributes), _NONE, dtype=np.int64)

    def rule(misfit: Misfit, fine: Bools | None) -> None:
        if fine is not None:
            found[(found == _NONE) & ~fine] = _MISFITS.index(misfit)

    for misfit, check in ATTRIBUTE_FILTERS:
        rule(misfit, check(request, attributes))
    free, shape = cluster.free, request.shape
    rule(Misfit.NOT_ENOUGH_CPU, free.cpu >= shape.cpu_milli)
    rule(Misfit.NOT_ENOUGH_MEMORY, free.memory >= shape.memory_mib)
    rule(Misfit.NOT_ENOUGH_DISK, free.disk >= shape.disk_gib)
    if shape.gpus:
        steps = first_device_steps(shape, attributes, cluster)
        short = (found == _NONE) & (steps != ENOUGH)
        found[short] = _STEPS[steps[short]]
    for misfit, check_list in PRICE_FILTERS:
        rule(misfit, check_list(request, attributes.price_lists, ALL_LISTS)[attributes.price_list])
    return found
