"""Attributes of hosts as columns: names, capabilities, network, scores and price lists."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from offchain.core.scheduler.columns import MAX_DEVICES, Bools, Floats, Ints
from offchain.core.scheduler.host_health import ImageLocality
from offchain.core.values import Ask, BillingUnit, Capabilities, Host, HostStatus

UNITS = tuple(BillingUnit)
"""The order of the columns of :attr:`PriceLists.factor`."""

ALL_LISTS = slice(None)
"""All price lists; unused rows are offered by no unit."""

_SPARE = 1024

_Key = tuple[Ask, tuple[bytes, ...]]
_N = TypeVar("_N", bound=Hashable)


def _drop_unused(numbers: dict[_N, int], column: Ints) -> bool:
    """Drop the keys whose numbers are not in the column where they are many; the others get new numbers there.

    Return whether it was done.
    """
    if len(numbers) <= 2 * len(column) + _SPARE:
        return False
    kept, column[:] = np.unique(column, return_inverse=True)
    keys = list(numbers)
    numbers.clear()
    numbers.update((keys[old], new) for new, old in enumerate(kept.tolist()))
    return True


class PriceLists:
    """Price lists of hosts as columns. Equal lists are stored once, since many hosts ask the same."""

    price: Floats
    """[list, 3]: base units per hour of a core, a GiB of memory, a GiB of disk."""
    cheapest: Floats
    """[n, list]: base units per hour of the n+1 cheapest devices together; infinite if there are fewer."""
    dearest: Floats
    """[n, list]: base units per hour of the n+1 dearest devices together; infinite if there are fewer."""
    factor: Floats
    """[unit, list]: price of billing by that unit, in millionths of the list price; 0: not offered."""
    terms: Ints
    """[4, list]: what the list promises, in the order of :class:`SlaTerms`."""

    def __init__(self) -> None:
        self._numbers: dict[_Key, int] = {}
        self.generation = 0
        """Incremented when lists get other numbers."""
        self._allocate(_SPARE)

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, host: Host) -> int:
        """Return the number of the host's price list; a new list is added."""
        key = host.ask, tuple([device.spec.model for device in host.devices])
        number = self._numbers.get(key)
        if number is None:
            number = len(self._numbers)
            if number == len(self.price):
                self._allocate(2 * number)
            self._numbers[key] = number
            self._write(number, key)
        return number

    def compact(self, column: Ints) -> None:
        """Drop lists that are not in the column where they are many; the others get new numbers there."""
        if _drop_unused(self._numbers, column):
            self.generation += 1
            self._allocate(len(self.price))

    def _allocate(self, room: int) -> None:
        """Allocate columns for `room` lists and fill in the known ones."""
        self.price = np.zeros((room, 3))
        self.cheapest, self.dearest = np.full((MAX_DEVICES, room), np.inf), np.full((MAX_DEVICES, room), np.inf)
        self.factor = np.zeros((len(UNITS), room))
        self.terms = np.zeros((4, room), dtype=np.int64)
        for key, number in self._numbers.items():
            self._write(number, key)

    def _write(self, number: int, key: _Key) -> None:
        ask, models = key
        prices = {price.model: price.per_hour for price in ask.gpu}
        each = sorted(float(prices.get(model, ask.gpu_per_hour)) for model in models)
        self.price[number] = (ask.cpu_core_per_hour, ask.memory_gib_per_hour, ask.disk_gib_per_hour)
        self.cheapest[: len(each), number] = np.cumsum(each)
        self.dearest[: len(each), number] = np.cumsum(each[::-1])
        self.factor[:, number] = (ask.second_ppm, ask.hour_ppm, ask.day_ppm)
        terms = ask.terms
        self.terms[:, number] = (terms.uptime_ppm, terms.start_ms, terms.notice_ms, terms.penalty_ppm)


_FEW = 16

SANDBOXED = 1 << 6
"""The bit of :func:`capability_bits` of hosts that run pods in a sandbox."""

_REPUTATION_STEP = 31_250
"""Every lease changes a host's score a little; hosts are scored anew when it has changed by 1/32."""


class NameIndex:
    """Numbers for names, so that a column of names is a column of numbers."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def number(self, name: Hashable) -> int:
        """Return the name's number; a new name is added."""
        return self._numbers.setdefault(name, len(self._numbers))

    def compact(self, column: Ints) -> None:
        """Drop names that are not in the column where they are many; the others get new numbers there."""
        _drop_unused(self._numbers, column)

    def among(self, names: Iterable[Hashable], column: Ints) -> Bools:
        """[row]: whether the column's value is one of these names."""
        table = np.zeros(len(self._numbers) + 1, dtype=np.bool_)
        for name in names:
            number = self._numbers.get(name)
            if number is not None:
                table[number] = True
        found: Bools = table[column]
        return found


class HostAttributes:
    """The attributes of all hosts that filters and scores read; row `i` is host `i` of the cluster."""

    online: Bools
    """Whether tasks may be assigned."""
    host: Ints
    """Numbers in :attr:`hosts`; likewise region, provider and tier in their indexes."""
    region: Ints
    provider: Ints
    tier: Ints
    mbps: Ints
    """Network bandwidth in the slower direction."""
    latency_ms: Ints
    """Round-trip time; 0: not measured."""
    capabilities: Ints
    """Bits of :func:`capability_bits`."""
    healthy: Bools
    """[host, device]; False where there is no device."""
    price_list: Ints
    """Numbers in :attr:`price_lists`."""

    reputation: Floats
    """The score on the chain from 0 to 1 (best), in steps; one half without a history."""
    failure_score: Floats
    """Recent failures, from 0 (none) to 1, by :mod:`offchain.core.scheduler.host_health`."""

    def __init__(self) -> None:
        self.regions, self.providers, self.tiers, self.hosts = NameIndex(), NameIndex(), NameIndex(), NameIndex()
        self.price_lists = PriceLists()
        self.recent_manifests = ImageLocality()
        """The manifests that ran recently, and where."""
        self._held: dict[str, npt.NDArray[Any]] = {
            "online": _column(np.bool_),
            "host": _column(np.int64),
            "region": _column(np.int64),
            "provider": _column(np.int64),
            "tier": _column(np.int64),
            "mbps": _column(np.int64),
            "latency_ms": _column(np.int64),
            "capabilities": _column(np.int64),
            "healthy": _column(np.bool_, MAX_DEVICES),
            "price_list": _column(np.int64),
            "reputation": _column(np.float64),
            "failure_score": _column(np.float64),
        }
        self._rows = 0
        self._show(0)

    def at(self, rows: Ints) -> HostAttributes:
        """Return a copy that has only these rows."""
        part = HostAttributes()
        part.regions, part.providers, part.tiers, part.hosts = self.regions, self.providers, self.tiers, self.hosts
        part.price_lists = self.price_lists
        part.recent_manifests = self.recent_manifests
        part._held = {name: column[rows] for name, column in self._held.items()}
        part._show(len(rows))
        return part

    def put(self, row: int, host: Host) -> None:
        """Set the attributes of the host in this row."""
        self._grow(row + 1)
        self.online[row] = host.status is HostStatus.ONLINE
        self.host[row] = self.hosts.number(host.id)
        self.region[row] = self.regions.number(host.region)
        self.provider[row] = self.providers.number(host.provider)
        self.tier[row] = self.tiers.number(host.tier)
        self.hosts.compact(self.host)
        self.regions.compact(self.region)
        self.providers.compact(self.provider)
        self.mbps[row] = min(host.network_mbps_down, host.network_mbps_up)
        self.latency_ms[row] = host.latency_ms
        self.capabilities[row] = capability_bits(host.capabilities)
        self.healthy[row] = False
        self.healthy[row, : len(host.devices)] = [device.healthy for device in host.devices]
        self.price_list[row] = self.price_lists.number(host)
        self.price_lists.compact(self.price_list)
        self.reputation[row] = reputation_of(host)

    def remove(self, row: int) -> None:
        """Forget the host in this row."""
        if row < self._rows:
            self.online[row] = False

    def __len__(self) -> int:
        return self._rows

    def _grow(self, rows: int) -> None:
        for name, column in self._held.items():
            if rows > len(column):
                more = np.zeros((max(rows, 2 * len(column)), *column.shape[1:]), dtype=column.dtype)
                more[: len(column)] = column
                self._held[name] = more
        if rows > self._rows:
            self._show(rows)

    def _show(self, rows: int) -> None:
        self._rows = rows
        for name, column in self._held.items():
            setattr(self, name, column[:rows])


def reputation_of(host: Host) -> float:
    """Return the host's score on the chain from 0 to 1, rounded down to a step."""
    return host.score_ppm // _REPUTATION_STEP * _REPUTATION_STEP / 1_000_000


def capability_bits(capabilities: Capabilities) -> int:
    """Return one bit for each capability that a host has or a task needs."""
    has = capabilities
    return sum(
        1 << place
        for place, one in enumerate((has.docker, has.kvm, has.kubernetes, has.cdi, has.mig, has.shares, has.sandboxed))
        if one
    )


def _column(of: Any, *more: int) -> npt.NDArray[Any]:
    return np.zeros((_FEW, *more), dtype=of)
