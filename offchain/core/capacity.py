"""For how many pods of a task hosts have room, as they are, empty, or when leases have ended; host by host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from offchain.core.feasibility import Fit, Misfit, fit, take
from offchain.core.values import Capacity, Device, Host, Layout, Resources, Task
from offchain.schema.manifest.types import WHOLE_GPU


def emptied(host: Host) -> Host:
    """The host with nothing leased."""
    devices = tuple(replace(device, milli_free=WHOLE_GPU, shared_by=None) for device in host.devices)
    return replace(host, free=host.total, devices=devices)


def released(host: Host, resources: Resources, devices: Iterable[int]) -> Host:
    """The host when a lease of so much on these devices has ended."""
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


def room(host: Host, task: Task, most: int) -> tuple[int, Fit | Misfit]:
    """How many pods have room beside each other, up to `most`; and the first one's devices and rate, or why none."""
    first = found = fit(host, task.resources, task.placement, task.unit, task.max_rate_per_hour, task.tenant)
    pods = 0
    while isinstance(found, Fit):
        pods += 1
        if pods == most:
            break
        host = take(host, task.resources, found.devices, task.placement, task.tenant)
        found = fit(host, task.resources, task.placement, task.unit, task.max_rate_per_hour, task.tenant)
    return pods, first


class Together:
    """How many pods of a layout have room in all: of one that spreads them over providers, one for each of these."""

    def __init__(self, layout: Layout) -> None:
        self.pods = 0
        self._by_provider = layout is Layout.PROVIDERS
        self._hosts: Counter[str] = Counter()
        """[provider]: how many have room."""

    def changed(self, provider: str, before: int, after: int) -> None:
        """A host of this provider has room for so many."""
        if not self._by_provider:
            self.pods += after - before
            return
        had = self._hosts[provider] > 0
        self._hosts[provider] += (after > 0) - (before > 0)
        self.pods += (self._hosts[provider] > 0) - had


def open_to(task: Task, hosts: Mapping[str, Host]) -> list[Host]:
    """Those that others of its pods leave to it."""
    taken = {lease.host for lease in task.leases}
    if task.layout is Layout.HOSTS:
        return [host for host in hosts.values() if host.id not in taken]
    if task.layout is Layout.PROVIDERS:
        providers = {hosts[name].provider for name in taken if name in hosts}
        return [host for host in hosts.values() if host.provider not in providers]
    return list(hosts.values())


def most_of(task: Task) -> int:
    """So many of its pods one host may take."""
    return 1 if task.layout in (Layout.HOSTS, Layout.PROVIDERS) else max(1, len(task.open_pods))
