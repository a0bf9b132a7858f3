"""The host table: the chain's host records as columns of free resources and attributes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from offchain.core.pricing import rate_per_hour, with_surcharge
from offchain.core.scheduler.cluster import Cluster
from offchain.core.scheduler.columns import device_indices
from offchain.core.scheduler.host_attributes import HostAttributes, reputation_of
from offchain.core.scheduler.host_capacity import FreeResources, capacity_of, free_of, free_resources_of
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.values import DeviceSpec, Host


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
        """Return the rate of such a pod on these devices, by the chain's own rule."""
        record, chosen = self.records[self.cluster.names[row]], device_indices(devices)
        price = rate_per_hour(request.resources, record.devices, chosen, record.ask, request.unit)
        return with_surcharge(price, request.surcharge_ppm)


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
