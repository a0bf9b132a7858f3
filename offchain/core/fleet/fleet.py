"""The chain's hosts as the planner has them: room as columns for placing, facts as columns for filters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from offchain.core.fit import Misfit
from offchain.core.fleet import rules
from offchain.core.fleet.facts import Facts, reputation_of
from offchain.core.fleet.want import Want
from offchain.core.placing.cluster import Cluster, HostRoom, Refill
from offchain.core.placing.free import indices
from offchain.core.placing.kinds import STRANGER
from offchain.core.placing.shapes import WHOLE_GPU, GpuKind
from offchain.core.rate import rate_per_hour
from offchain.core.values import Device, DeviceSpec, Host


class Changes(NamedTuple):
    """What records have changed."""

    rooms: list[int]
    """The rows of hosts of which another part is free, or of which there is more or less."""
    facts: list[int]
    """Those of hosts of which something else is not what it was, or which are new."""


class Fleet:
    """Follows the chain's records by :meth:`put` and :meth:`gone`; placements are taken off its cluster."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.facts = Facts()
        self.records: dict[str, Host] = {}
        """As the chain has them, whatever was taken off since."""
        self.changes = 0
        """Grows whenever something but what is free of a host has changed."""

    def put(self, hosts: Iterable[Host]) -> Changes:
        """Take in records."""
        rooms: dict[int, Refill | None] = {}
        facts: list[int] = []
        for host in hosts:
            before = self.records.get(host.id)
            self.records[host.id] = host
            # Where only a heartbeat came, what was taken off since the last record stays taken.
            same_room = before is not None and _same_room(before, host)
            if before is None or not (same_room or _same_whole(before, host)):
                row = self.cluster.put(host.id, room_of(host), whole_of(host))
                self.changes += 1
                rooms[row] = None
            else:
                row = self.cluster.number(host.id)
                if not same_room:
                    rooms[row] = refill_of(host)
            if before is None or not _same_facts(before, host):
                self.facts.put(row, host)
                self.changes += 1
                facts.append(row)
        self.cluster.refill({row: refill for row, refill in rooms.items() if refill is not None})
        return Changes(list(rooms), facts)

    def put_room(self, host: Host) -> None:
        """Free what was taken off a host since its record came."""
        self.cluster.refill({self.cluster.number(host.id): refill_of(host)})

    def gone(self, host_id: str) -> int | None:
        """The host is no more. Gives its row; None where it was not known."""
        if self.records.pop(host_id, None) is None:
            return None
        self.changes += 1
        row = self.cluster.number(host_id)
        self.cluster.close(host_id)
        self.facts.gone(row)
        self.changes += 1
        return row

    def troubled(self, host_id: str, trouble: float) -> int | None:
        """So much failed there lately, from 0 to 1. Gives its row; None where the host is not known."""
        if host_id not in self.records:
            return None
        row = self.cluster.number(host_id)
        self.facts.trouble[row] = trouble
        return row

    def ran(self, manifest: bytes, host_id: str) -> list[int]:
        """A pod of this manifest runs there. Gives the rows of hosts that this makes others of."""
        changed = sorted(self.facts.ran.add(manifest, host_id) & self.records.keys())
        return [self.cluster.number(host) for host in changed]

    def rate_per_hour(self, want: Want, row: int, devices: int) -> int:
        """What such a pod costs an hour on these devices of the host in this row, by the chain's own rule."""
        record = self.records[self.cluster.names[row]]
        return rate_per_hour(want.resources, record.devices, indices(devices), record.ask, want.unit)

    def excluded(self, want: Want) -> Mapping[Misfit, int]:
        """How many hosts each rule excludes now; hosts that are no more do not count."""
        rows = None
        if len(self.cluster) > len(self.records):
            rows = np.fromiter(map(self.cluster.number, self.records), dtype=np.int64, count=len(self.records))
        return rules.excluded(want, self.facts, self.cluster, rows)


def whole_of(host: Host) -> HostRoom:
    """What it has when nothing runs there."""
    total = host.total
    devices = tuple((kind_of(device), WHOLE_GPU if device.healthy else 0) for device in host.devices)
    return HostRoom(total.cpu_milli, total.memory_mib, total.disk_gib, devices)


def room_of(host: Host) -> HostRoom:
    """What is free of it. Devices that are out of order keep their place and have nothing free."""
    return HostRoom(
        host.free.cpu_milli,
        host.free.memory_mib,
        host.free.disk_gib,
        tuple((kind_of(device), device.milli_free if device.healthy else 0) for device in host.devices),
        _sharers(host),
    )


def refill_of(host: Host) -> Refill:
    """Return what is free of a host whose devices are known already, as `room_of` does."""
    free = host.free
    milli = [device.milli_free if device.healthy else 0 for device in host.devices]
    return free.cpu_milli, free.memory_mib, free.disk_gib, milli, _sharers(host)


def _sharers(host: Host) -> Sequence[str]:
    """Return the account whose pods have shares of each device; an empty sequence where no device is shared."""
    if not any(device.shared_by is not None or 0 < device.milli_free < WHOLE_GPU for device in host.devices):
        return ()
    return [device.shared_by or (STRANGER if 0 < device.milli_free < WHOLE_GPU else "") for device in host.devices]


# Records that come one after the other share what has not changed: to see that is quicker than to compare it.


def _same_room(one: Host, other: Host) -> bool:
    """Whether as much is free, of as much."""
    return (
        (one.free is other.free or one.free == other.free)
        and (one.total is other.total or one.total == other.total)
        and one.devices == other.devices
    )


def _same_whole(one: Host, other: Host) -> bool:
    """Whether both are the same when nothing runs there."""
    return (one.total is other.total or one.total == other.total) and _same_devices(one, other)


def _same_facts(one: Host, other: Host) -> bool:
    """Whether nothing that facts are made of has changed."""
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
    """Whether they have the same devices, whatever is free of them."""
    return one.devices is other.devices or one.devices == other.devices or _of_devices(one) == _of_devices(other)


def _of_devices(host: Host) -> list[tuple[DeviceSpec, bool, bool]]:
    return [(device.spec, device.attested, device.healthy) for device in host.devices]


@lru_cache(maxsize=4096)
def _kind(spec: DeviceSpec, *, attested: bool) -> GpuKind:
    model = spec.model.decode("utf-8", "surrogateescape")
    return GpuKind(model, spec.vram_mib, attested, simulated=spec.simulated)


def kind_of(device: Device) -> GpuKind:
    """What tells it from other devices."""
    return _kind(device.spec, attested=device.attested)
