"""The chain's hosts as the planner has them: room as columns for placing, facts as columns for filters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from offchain.core.fit import Misfit
from offchain.core.fleet import rules
from offchain.core.fleet.facts import Facts, reputation_of
from offchain.core.fleet.want import Want
from offchain.core.placing.cluster import Cluster, HostRoom
from offchain.core.placing.shapes import WHOLE_GPU, GpuKind
from offchain.core.values import Device, Host


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
        """How often more than the room of a host has changed."""

    def put(self, host: Host) -> Change:
        """Take in a host's record."""
        before = self.records.get(host.id)
        self.records[host.id] = host
        room = room_of(host)
        changed = before is None or room_of(before) != room or whole_of(before) != whole_of(host)
        # Where only a heartbeat came, what was taken off since the last record stays taken.
        row = self.cluster.put(host.id, room, whole_of(host)) if changed else self.cluster.number(host.id)
        same = before is not None and _told_apart(before) == _told_apart(host)
        if before is None or not same or whole_of(before) != whole_of(host):
            self.changes += 1
        if not same:
            self.facts.put(row, host)
        return Change(row, facts=not same, room=changed)

    def put_room(self, host: Host) -> None:
        """Free what was taken off a host since its record came."""
        self.cluster.put(host.id, room_of(host), whole_of(host))

    def gone(self, host_id: str) -> Change | None:
        """The host is no more; None where it was not known."""
        if self.records.pop(host_id, None) is None:
            return None
        self.changes += 1
        row = self.cluster.number(host_id)
        self.cluster.close(host_id)
        self.facts.gone(row)
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


def _told_apart(host: Host) -> tuple[object, ...]:
    """What facts are made of."""
    healthy = tuple(device.healthy for device in host.devices)
    models = tuple(device.spec.model for device in host.devices)
    network = host.network_mbps_down, host.network_mbps_up
    place = host.status, host.region, host.provider, host.tier, host.capabilities
    return *place, *network, host.ask, healthy, models, reputation_of(host)


def kind_of(device: Device) -> GpuKind:
    """What tells it from other devices."""
    spec = device.spec
    return GpuKind(
        spec.model.decode("utf-8", "surrogateescape"), spec.vram_mib, device.attested, simulated=spec.simulated
    )
