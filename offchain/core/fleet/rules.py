"""All rules over all hosts, in the chain's order: core/fit.py for columns.

`tests/property/core/test_fleet_properties.py` holds them against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from offchain.core.fit import Misfit
from offchain.core.fleet import devices
from offchain.core.fleet.facts import Facts
from offchain.core.fleet.filters.capabilities import CapabilityMissing, NotSandboxed
from offchain.core.fleet.filters.data import DataElsewhere
from offchain.core.fleet.filters.filter import Filter, OfferFilter
from offchain.core.fleet.filters.hosts import HostNotWanted
from offchain.core.fleet.filters.latency import LatencyTooHigh
from offchain.core.fleet.filters.network import NotEnoughNetwork
from offchain.core.fleet.filters.online import Online
from offchain.core.fleet.filters.price import Price
from offchain.core.fleet.filters.providers import ProviderNotWanted
from offchain.core.fleet.filters.refusals import HostRefused
from offchain.core.fleet.filters.regions import RegionNotWanted
from offchain.core.fleet.filters.tiers import TierNotWanted
from offchain.core.fleet.filters.unit import UnitNotOffered
from offchain.core.fleet.offers import ALL, Offers
from offchain.core.fleet.want import Want
from offchain.core.placing.cluster import Cluster
from offchain.core.placing.free import Bools, Ints

BEFORE_ROOM: Final[tuple[Filter, ...]] = (
    DataElsewhere(),
    HostRefused(),
    Online(),
    HostNotWanted(),
    RegionNotWanted(),
    ProviderNotWanted(),
    TierNotWanted(),
    NotEnoughNetwork(),
    LatencyTooHigh(),
    CapabilityMissing(),
    NotSandboxed(),
)
"""They look at the placement of the task, the data that it takes over and the hosts that refused it."""

AFTER_ROOM: Final[tuple[OfferFilter, ...]] = (UnitNotOffered(), Price())

_MISFITS = tuple(Misfit)
_STEPS = np.array([_MISFITS.index(misfit) for misfit in devices.STEPS], dtype=np.int64)
_NONE = -1


def allowed(want: Want, facts: Facts) -> Bools:
    """For each host, whether the pod may go there if there is room. Of prices, those that are surely too high."""
    return welcome(want, facts) & affordable(want, facts.offers, ALL)[facts.offer]


def welcome(want: Want, facts: Facts) -> Bools:
    """For each host, whether the pod may go there if there is room and the price is right."""
    found = np.ones(len(facts), dtype=np.bool_)
    for one in BEFORE_ROOM:
        mask = one.allows(want, facts)
        if mask is not None:
            found &= mask
    return found


def affordable(want: Want, offers: Offers, some: slice) -> Bools:
    """For each of some price lists, whether it may be the one of the pod's host. Not where it is surely too high."""
    found: Bools = np.logical_and.reduce([one.accepts(want, offers, some) for one in AFTER_ROOM])
    return found


def excluded(want: Want, facts: Facts, cluster: Cluster, rows: Ints | None = None) -> Mapping[Misfit, int]:
    """How many hosts each rule excludes, each host by the first rule that does; in the order of the rules.

    `rows`: the hosts that count; None: all.
    """
    misfits = first_misfits(want, facts, cluster)
    counts = np.bincount((misfits if rows is None else misfits[rows]) + 1, minlength=len(_MISFITS) + 1)[1:]
    return {misfit: int(count) for misfit, count in zip(_MISFITS, counts, strict=True) if count}


def first_misfits(want: Want, facts: Facts, cluster: Cluster) -> Ints:
    """For each host, the place in :class:`Misfit` of the first rule that excludes it; -1 where none does."""
    found = np.full(len(facts), _NONE, dtype=np.int64)

    def rule(misfit: Misfit, fine: Bools) -> None:
        found[(found == _NONE) & ~fine] = _MISFITS.index(misfit)

    def rules(filters: tuple[Filter, ...]) -> None:
        for one in filters:
            mask = one.allows(want, facts)
            if mask is not None:
                rule(one.misfit, mask)

    rules(BEFORE_ROOM)
    free, shape = cluster.free, want.shape
    rule(Misfit.NOT_ENOUGH_CPU, free.cpu >= shape.cpu_milli)
    rule(Misfit.NOT_ENOUGH_MEMORY, free.memory >= shape.memory_mib)
    rule(Misfit.NOT_ENOUGH_DISK, free.disk >= shape.disk_gib)
    if shape.gpus:
        steps = devices.first_steps(shape, facts, cluster)
        short = (found == _NONE) & (steps != devices.ENOUGH)
        found[short] = _STEPS[steps[short]]
    rules(AFTER_ROOM)
    return found
