"""The host table: the chain's host records as columns of free resources, attributes and price lists."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from offchain.core.pricing import rate_per_hour
from offchain.core.scheduler.cluster import Cluster, FreeResources, HostCapacity
from offchain.core.scheduler.columns import MAX_DEVICES, UNKNOWN_ACCOUNT, Bools, Floats, Ints, device_indices
from offchain.core.scheduler.host_health import ImageLocality
from offchain.core.scheduler.pod_request import WHOLE_GPU, PodRequest, device_class_of
from offchain.core.values import Ask, BillingUnit, Capabilities, DeviceSpec, Host, HostStatus

UNITS = tuple(BillingUnit)
"""The order of the columns of :attr:`PriceLists.factor`."""

ALL_LISTS = slice(None)
"""All price lists; unused rows are offered by no unit."""

_SPARE = 1024

_Key = tuple[Ask, tuple[bytes, ...]]


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

    def compact(self, used: Ints) -> Ints:
        """Remove unused lists where they are many. Return the new numbers of the lists in `used`."""
        if len(self._numbers) <= 2 * len(used) + _SPARE:
            return used
        kept, numbers = np.unique(used, return_inverse=True)
        keys = list(self._numbers)
        self._numbers = {keys[old]: new for new, old in enumerate(kept.tolist())}
        self.generation += 1
        self._allocate(len(self.price))
        return numbers.astype(np.int64)

    def _allocate(self, room: int) -> None:
        """Allocate columns for `room` lists and fill in the known ones."""
        self.price = np.zeros((room, 3))
        self.cheapest, self.dearest = np.full((MAX_DEVICES, room), np.inf), np.full((MAX_DEVICES, room), np.inf)
        self.factor = np.zeros((len(UNITS), room))
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
        if len(self._numbers) <= 2 * len(column) + _SPARE:
            return
        kept, numbers = np.unique(column, return_inverse=True)
        names = list(self._numbers)
        self._numbers = {names[old]: new for new, old in enumerate(kept.tolist())}
        column[:] = numbers

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
        tidied = self.price_lists.compact(self.price_list)
        if tidied is not self.price_list:
            self.price_list[:] = tidied
        self.reputation[row] = reputation_of(host)

    def remove(self, row: int) -> None:
        """The host in this row is gone."""
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


class HostChanges(NamedTuple):
    """The rows that an update of records has changed."""

    free: list[int]
    """Hosts whose free resources or capacity changed."""
    attributes: list[int]
    """Hosts whose attributes changed, and new hosts."""


class HostTable:
    """Follows the chain's records by :meth:`put` and :meth:`remove`; placements are taken off its cluster."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.attributes = HostAttributes()
        self.records: dict[str, Host] = {}
        """The chain's records, without what was allocated since."""
        self.version = 0
        """Grows whenever anything but free resources has changed."""

    def put(self, hosts: Iterable[Host]) -> HostChanges:
        """Update records."""
        free: dict[int, FreeResources | None] = {}
        attributes: list[int] = []
        for host in hosts:
            before = self.records.get(host.id)
            self.records[host.id] = host
            # After a mere heartbeat, what was allocated since the last record stays allocated.
            same_room = before is not None and _same_free(before, host)
            if before is None or not (same_room or _same_capacity(before, host)):
                row = self.cluster.put(host.id, free_of(host), capacity_of(host))
                self.version += 1
                free[row] = None
            else:
                row = self.cluster.row(host.id)
                if not same_room:
                    free[row] = free_resources_of(host)
            if before is None or not _same_attributes(before, host):
                self.attributes.put(row, host)
                if before is None:
                    # Another host may have had the row.
                    self.attributes.failure_score[row] = 0.0
                self.version += 1
                attributes.append(row)
        self.cluster.set_free({row: refill for row, refill in free.items() if refill is not None})
        return HostChanges(list(free), attributes)

    def reset_free(self, host: Host) -> None:
        """Set what is free of a host to the value of its record."""
        self.cluster.set_free({self.cluster.row(host.id): free_resources_of(host)})

    def remove(self, host_id: str) -> int | None:
        """Remove a host. Return its row; None: unknown."""
        if self.records.pop(host_id, None) is None:
            return None
        row = self.cluster.row(host_id)
        self.cluster.close(host_id)
        self.attributes.remove(row)
        self.version += 1
        return row

    def vacate(self, row: int) -> None:
        """Let another host have the row of a removed host."""
        self.cluster.vacate(self.cluster.names[row])

    def set_failure_score(self, host_id: str, failure_score: float) -> int | None:
        """Set a host's failure score, from 0 to 1. Return its row; None: unknown."""
        if host_id not in self.records:
            return None
        row = self.cluster.row(host_id)
        self.attributes.failure_score[row] = failure_score
        return row

    def record_manifest(self, manifest: bytes, host_id: str) -> list[int]:
        """Record that a pod of this manifest runs on a host. Return the rows of hosts whose scores change."""
        changed = sorted(self.attributes.recent_manifests.add(manifest, host_id) & self.records.keys())
        return [self.cluster.row(host) for host in changed]

    def rate_per_hour(self, request: PodRequest, row: int, devices: int) -> int:
        """Return the price of such a pod on these devices, by the chain's own rule."""
        record = self.records[self.cluster.names[row]]
        return rate_per_hour(request.resources, record.devices, device_indices(devices), record.ask, request.unit)


def capacity_of(host: Host) -> HostCapacity:
    """Return the capacity of an idle host."""
    total = host.total
    devices = tuple((device_class_of(device), WHOLE_GPU if device.healthy else 0) for device in host.devices)
    return HostCapacity(total.cpu_milli, total.memory_mib, total.disk_gib, devices)


def free_of(host: Host) -> HostCapacity:
    """Return what is free of a host. Devices that are out of order keep their index and have nothing free."""
    free = host.free
    devices = tuple((device_class_of(device), device.milli_free if device.healthy else 0) for device in host.devices)
    return HostCapacity(free.cpu_milli, free.memory_mib, free.disk_gib, devices, _sharers(host))


def free_resources_of(host: Host) -> FreeResources:
    """Return what is free of a host whose devices are known already, as :func:`free_of` does."""
    free = host.free
    milli = [device.milli_free if device.healthy else 0 for device in host.devices]
    return free.cpu_milli, free.memory_mib, free.disk_gib, milli, _sharers(host)


def _sharers(host: Host) -> Sequence[str]:
    """Return the account whose pods have shares of each device; an empty sequence where no device is shared."""
    if not any(device.shared_by is not None or 0 < device.milli_free < WHOLE_GPU for device in host.devices):
        return ()
    return [
        device.shared_by or (UNKNOWN_ACCOUNT if 0 < device.milli_free < WHOLE_GPU else "") for device in host.devices
    ]


# Successive records share unchanged values: comparing identities first is faster.


def _same_free(one: Host, other: Host) -> bool:
    """Whether free resources and capacity are equal."""
    return (
        (one.free is other.free or one.free == other.free)
        and (one.total is other.total or one.total == other.total)
        and one.devices == other.devices
    )


def _same_capacity(one: Host, other: Host) -> bool:
    return (one.total is other.total or one.total == other.total) and _same_devices(one, other)


def _same_attributes(one: Host, other: Host) -> bool:
    return (
        one.status is other.status
        and (one.ask is other.ask or one.ask == other.ask)
        and _same_devices(one, other)
        and one.region == other.region
        and one.provider == other.provider
        and one.tier is other.tier
        and (one.capabilities is other.capabilities or one.capabilities == other.capabilities)
        and one.network_mbps_down == other.network_mbps_down
        and one.network_mbps_up == other.network_mbps_up
        and one.latency_ms == other.latency_ms
        and (one.score_ppm == other.score_ppm or reputation_of(one) == reputation_of(other))
    )


def _same_devices(one: Host, other: Host) -> bool:
    """Whether both have the same devices, regardless of usage."""
    return one.devices is other.devices or one.devices == other.devices or _fixed_parts(one) == _fixed_parts(other)


def _fixed_parts(host: Host) -> list[tuple[DeviceSpec, bool, bool]]:
    return [(device.spec, device.attested, device.healthy) for device in host.devices]
