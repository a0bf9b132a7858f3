"""The chain's hosts as the planner has them: room as columns for placing, facts as columns for filters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from offchain.core.fit import Misfit
from offchain.core.fleet import rules
from offchain.core.fleet.facts import Facts, reputation_of
from offchain.core.fleet.want import Want
from offchain.core.placing.cluster import Cluster, HostRoom
from offchain.core.placing.shapes import WHOLE_GPU, GpuKind
from offchain.core.values import Device, DeviceSpec, Host


@dataclass(frozen=True, slots=True)
class Change:
    """What a record has changed of the host in this row."""

    row: int
    facts: bool
    room: bool


class Fleet:
    """Follows the chain's records by :meth:`put` and :meth:`gone`; placements are taken off its cluster."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.facts = Facts()
        self.records: dict[str, Host] = {}
        """As the chain has them, whatever was taken off since."""
        self.changes = 0
        """Grows whenever something but what is free of a host has changed."""

    def put(self, host: Host) -> Change:
        """Take in a host's record."""
        before = self.records.get(host.id)
        self.records[host.id] = host
        # Where only a heartbeat came, what was taken off since the last record stays taken.
        same_room = before is not None and _same_room(before, host)
        if before is None or not (same_room or _same_whole(before, host)):
            row = self.cluster.put(host.id, room_of(host), whole_of(host))
            self.changes += 1
        else:
            row = self.cluster.number(host.id)
            if not same_room:
                self._refill(row, host)
        same_facts = before is not None and _same_facts(before, host)
        if not same_facts:
            self.facts.put(row, host)
            self.changes += 1
        return Change(row, facts=not same_facts, room=not same_room)

    def put_room(self, host: Host) -> None:
        """Free what was taken off a host since its record came."""
        self._refill(self.cluster.number(host.id), host)

    def _refill(self, row: int, host: Host) -> None:
        free = host.free
        milli = [device.milli_free if device.healthy else 0 for device in host.devices]
        self.cluster.refill(row, free.cpu_milli, free.memory_mib, free.disk_gib, milli)

    def gone(self, host_id: str) -> Change | None:
        """The host is no more; None where it was not known."""
        if self.records.pop(host_id, None) is None:
            return None
        self.changes += 1
        row = self.cluster.number(host_id)
        self.cluster.close(host_id)
        self.facts.gone(row)
        self.changes += 1
        return Change(row, facts=True, room=True)

    def troubled(self, host_id: str, trouble: float) -> Change | None:
        """So much failed there lately, from 0 to 1; None where the host is not known."""
        if host_id not in self.records:
            return None
        row = self.cluster.number(host_id)
        self.facts.trouble[row] = trouble
        return Change(row, facts=True, room=False)

    def ran(self, manifest: bytes, host_id: str) -> list[Change]:
        """A pod of this manifest runs there."""
        changed = sorted(self.facts.ran.saw(manifest, host_id) & self.records.keys())
        return [Change(self.cluster.number(host), facts=True, room=False) for host in changed]

    def excluded(self, want: Want) -> Mapping[Misfit, int]:
        """How many hosts each rule excludes now; hosts that are no more do not count."""
        found = dict(rules.excluded(want, self.facts, self.cluster))
        over = len(self.cluster) - len(self.records)
        if over:
            # They are "not online", or lack the data, which is asked before.
            for misfit in (Misfit.DATA_ELSEWHERE, Misfit.NOT_ONLINE):
                less = min(over, found.get(misfit, 0))
                found[misfit] = found.get(misfit, 0) - less
                over -= less
        return {misfit: count for misfit, count in found.items() if count}


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
    )


def _same_room(one: Host, other: Host) -> bool:
    """Whether as much is free, of as much."""
    return one.free == other.free and one.total == other.total and one.devices == other.devices


def _same_whole(one: Host, other: Host) -> bool:
    """Whether both are the same when nothing runs there."""
    return one.total == other.total and (one.devices == other.devices or _of_devices(one) == _of_devices(other))


def _same_facts(one: Host, other: Host) -> bool:
    """Whether nothing that facts are made of has changed."""
    return (
        one.status is other.status
        and one.ask == other.ask
        and (one.devices == other.devices or _of_devices(one) == _of_devices(other))
        and one.region == other.region
        and one.provider == other.provider
        and one.tier is other.tier
        and one.capabilities == other.capabilities
        and one.network_mbps_down == other.network_mbps_down
        and one.network_mbps_up == other.network_mbps_up
        and reputation_of(one) == reputation_of(other)
    )


def _of_devices(host: Host) -> list[tuple[DeviceSpec, bool, bool]]:
    return [(device.spec, device.attested, device.healthy) for device in host.devices]


@lru_cache(maxsize=4096)
def _kind(spec: DeviceSpec, *, attested: bool) -> GpuKind:
    model = spec.model.decode("utf-8", "surrogateescape")
    return GpuKind(model, spec.vram_mib, attested, simulated=spec.simulated)


def kind_of(device: Device) -> GpuKind:
    """What tells it from other devices."""
    return _kind(device.spec, attested=device.attested)
