"""Resources of one host: its capacity and what is free of it, as its record says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from offchain.core.scheduler.columns import UNKNOWN_ACCOUNT
from offchain.core.scheduler.pod_request import WHOLE_GPU, DeviceClass, device_class_of
from offchain.core.values import Host

FreeResources = tuple[int, int, int, Sequence[int], Sequence[str]]
"""Free cores, memory and disk of a host, free thousandths of each of its devices (0 if out of order), and the account
with shares of each device: "" for none, an empty sequence if no device is shared.
"""


@dataclass(frozen=True, slots=True)
class HostCapacity:
    """Resources of one host. `devices`: the class and the free thousandths of each, 0 where one is out of order.

    `accounts`: as in :data:`FreeResources`; the classes do not contain them.
    """

    cpu_milli: int
    memory_mib: int
    disk_gib: int
    devices: tuple[tuple[DeviceClass, int], ...] = ()
    accounts: Sequence[str] = ()


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
