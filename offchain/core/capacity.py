"""How many pods of a task fit on hosts: as the hosts are, without leases, or after some leases have ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from offchain.core.feasibility import Fit, Misfit, fit, take
from offchain.core.values import Capacity, Device, Host, Layout, Resources, Task
from offchain.schema.manifest.types import WHOLE_GPU


def emptied(host: Host) -> Host:
    """Return the host as if nothing were leased."""
    devices = tuple(replace(device, milli_free=WHOLE_GPU, shared_by=None) for device in host.devices)
    return replace(host, free=host.total, devices=devices)


def released(host: Host, resources: Resources, devices: Iterable[int]) -> Host:
    """Return the host after the end of a lease of `resources` on `devices`."""
    chosen = frozenset(devices)
    free = Capacity(
        min(host.total.cpu_milli, host.free.cpu_milli + resources.cpu_milli),
        min(host.total.memory_mib, host.free.memory_mib + resources.memory_mib),
        min(host.total.disk_gib, host.free.disk_gib + resources.disk_gib),
    )
    milli = resources.gpus.milli
    after = tuple(
        _given_back(device, milli) if index in chosen else device for index, device in enumerate(host.devices)
    )
    return replace(host, free=free, devices=after)


def _given_back(device: Device, milli: int) -> Device:
    free = min(WHOLE_GPU, device.milli_free + milli)
    return replace(device, milli_free=free, shared_by=None if free == WHOLE_GPU else device.shared_by)


def count_pods(host: Host, task: Task, most: int) -> tuple[int, Fit | Misfit]:
    """Return how many pods fit together, up to `most`, and the first one's devices and rate, or why none fits."""
    first = found = fit(host, task.resources, task.placement, task.unit, task.max_rate_per_hour, task.tenant)
    pods = 0
    while isinstance(found, Fit):
        pods += 1
        if pods == most:
            break
        host = take(host, task.resources, found.devices, task.placement, task.tenant)
        found = fit(host, task.resources, task.placement, task.unit, task.max_rate_per_hour, task.tenant)
    return pods, first


class GangCapacity:
    """Total number of pods that fit with a layout: one for each provider if it spreads pods over providers."""

    def __init__(self, layout: Layout) -> None:
        self.pods = 0
        self._by_provider = layout is Layout.PROVIDERS
        self._hosts: Counter[str] = Counter()
        """[provider]: number of its hosts on which a pod fits."""

    def update(self, provider: str, before: int, after: int) -> None:
        """Update the total after a host of `provider` that had capacity for `before` pods has it for `after`."""
        if not self._by_provider:
            self.pods += after - before
            return
        had = self._hosts[provider] > 0
        self._hosts[provider] += (after > 0) - (before > 0)
        self.pods += (self._hosts[provider] > 0) - had


def allowed_hosts(task: Task, hosts: Mapping[str, Host]) -> list[Host]:
    """Return the hosts on which the task's layout allows another of its pods."""
    taken = {lease.host for lease in task.leases}
    if task.layout is Layout.HOSTS:
        return [host for host in hosts.values() if host.id not in taken]
    if task.layout is Layout.PROVIDERS:
        providers = {hosts[name].provider for name in taken if name in hosts}
        return [host for host in hosts.values() if host.provider not in providers]
    return list(hosts.values())


def max_pods_per_host(task: Task) -> int:
    """Return how many of the task's pods its layout allows on one host."""
    return 1 if task.layout in (Layout.HOSTS, Layout.PROVIDERS) else max(1, len(task.open_pods))
