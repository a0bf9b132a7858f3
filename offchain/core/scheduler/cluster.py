"""Hosts as columns: what is free of each, and the devices that a pod takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from offchain.core.scheduler.columns import (
    MAX_DEVICES,
    NO_DEVICE,
    Bools,
    DeviceClasses,
    DeviceSharing,
    Floats,
    HostColumns,
    Ints,
    SharingLevels,
    capacity_columns,
    copy_columns,
    device_bits,
    device_indices,
    zero_columns,
)
from offchain.core.scheduler.host_capacity import FreeResources, HostCapacity
from offchain.core.scheduler.jit import compiled
from offchain.core.scheduler.pod_request import WHOLE_GPU, DeviceClass, PodShape

_FEW = 16
_NO_DEVICES = (0,) * MAX_DEVICES
_NO_HOSTS: Ints = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class HostSpec:
    """An idle host; all its GPUs are of one model."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    model: str = ""


class HostSlot(NamedTuple):
    """A host's row and devices of it, as bits."""

    host: int
    devices: int


NO_HOST: Final = ""
"""In place of the name of a host, in a row that no host has."""


class Cluster:
    """All hosts, each with a row that it keeps until :meth:`vacate`; then another host may get the row.

    What is free changes by :meth:`put`, :meth:`close`, :meth:`set_free`, :meth:`take` and :meth:`release` alone.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        """[row]: its host; :data:`NO_HOST` where there is none."""
        self._vacant: list[int] = []
        """Rows without a host."""
        self._classes = DeviceClasses()
        self._sharing = DeviceSharing(self._classes)
        self.main_classes = 1
        """Every host's :attr:`HostColumns.main_class` is below this."""
        self.total_milli = 0
        """Thousandths of all devices."""
        self.free_milli = 0
        self.max_free: Floats = np.ones(3)
        """The most cores, memory and thousandths of GPUs that were ever free on one host."""
        self._levels = SharingLevels({}, 1)
        self._class_levels: Ints = np.zeros(0, dtype=np.int64)
        self._rows: dict[str, int] = {}
        free = zero_columns(_FEW)
        self._columns = free, capacity_columns(free)
        self.free, self.whole = self._shown(0)

    @classmethod
    def of(cls, specs: Sequence[HostSpec]) -> Cluster:
        """Return a cluster of idle hosts."""
        found = cls()
        for spec in specs:
            device_class = DeviceClass(spec.model) if spec.gpus else NO_DEVICE
            devices = ((device_class, WHOLE_GPU),) * spec.gpus
            found.put(spec.name, HostCapacity(spec.cpu_milli, spec.memory_mib, 0, devices))
        return found

    def __len__(self) -> int:
        """The number of rows, those of closed hosts and without a host included."""
        return len(self.names)

    def __contains__(self, name: str) -> bool:
        """Whether the host has a row."""
        return name in self._rows

    def row(self, name: str) -> int:
        """Return the host's row. KeyError: unknown host."""
        return self._rows[name]

    def put(self, name: str, capacity: HostCapacity, whole: HostCapacity | None = None) -> int:
        """Set what is free of a new or known host, and return its row.

        `whole`: its capacity; None: equal to what is free. ValueError: more devices than :data:`MAX_DEVICES`.
        """
        if len(capacity.devices) > MAX_DEVICES:
            raise ValueError(f"host {name} has {len(capacity.devices)} devices; {MAX_DEVICES} is the most")
        host = self._rows.get(name)
        if host is None:
            host = self._rows[name] = self._unused_row(name)
        self.total_milli -= int(self.free.gpus[host]) * WHOLE_GPU
        self.free_milli -= sum(self.free.device[host].tolist())
        self._set(self.free, host, capacity)
        self._set(self.whole, host, whole or capacity)
        self._sharing.reset(self.free, self.whole, {host: capacity.accounts})
        self.total_milli += len(capacity.devices) * WHOLE_GPU
        free_milli = sum(left for _, left in capacity.devices)
        self.free_milli += free_milli
        np.maximum(self.max_free, (capacity.cpu_milli, capacity.memory_mib, free_milli), out=self.max_free)
        return host

    def set_free(self, by_row: Mapping[int, FreeResources]) -> None:
        """Set what is free of known hosts with unchanged devices, by row."""
        if not by_row:
            return
        free, rows = self.free, list(by_row)
        rest = np.array([resources[:3] for resources in by_row.values()], dtype=np.int64)
        device = np.array(
            [(*resources[3], *_NO_DEVICES[len(resources[3]) :]) for resources in by_row.values()], dtype=np.int64
        )
        self.free_milli += int(device.sum()) - int(free.device[rows].sum())
        free.cpu[rows], free.memory[rows], free.disk[rows] = rest[:, 0], rest[:, 1], rest[:, 2]
        free.device[rows] = device
        free.state[rows] = 0
        shared = {row: resources[4] for row, resources in by_row.items() if resources[4] or row in self._sharing}
        self._sharing.reset(free, self.whole, shared)
        max_free = (*rest[:, :2].max(axis=0).tolist(), int(device.sum(axis=1).max()))
        np.maximum(self.max_free, max_free, out=self.max_free)

    def share(self, host: int, devices: int, account: str) -> None:
        """Assign shares of these devices to the account until the whole device is free again.

        A device that is shared already is unchanged.
        """
        self._sharing.share(self.free, self.whole, host, devices, account)

    def share_all(self, hosts: Ints, devices: Ints, account: str) -> None:
        """Assign shares of devices (bitmasks) on many hosts to the account."""
        self._sharing.share_all(self.free, self.whole, hosts, devices, account)

    def rows_shared_by(self, account: str) -> Ints:
        """Return the rows of hosts where the account has shares of devices, and of some where it had."""
        return self._sharing.rows_of(self.free, account)

    @property
    def class_levels(self) -> Ints:
        """[class]: the level of such a device (:mod:`offchain.core.scheduler.sharing_demand`)."""
        known = len(self._class_levels)
        if known < len(self.classes):
            new = [self.sharing_level(device_class.account) for device_class in self.classes[known:]]
            self._class_levels = np.concatenate([self._class_levels, np.array(new, dtype=np.int64)])
        return self._class_levels

    def sharing_level(self, account: str) -> int:
        """Return the level of devices of which the account has shares; 0 for the empty name."""
        return self._levels.by_account.get(account, self._levels.other) if account else 0

    def set_sharing_levels(self, levels: SharingLevels) -> list[int]:
        """Set the levels of accounts, and return the rows of hosts with devices whose level changed."""
        before, self._levels = self._levels, levels
        rows: set[int] = set()
        for account in self._sharing.accounts:
            if before.by_account.get(account, before.other) != self.sharing_level(account):
                rows.update(self.rows_shared_by(account).tolist())
        found = sorted(rows)
        if found:
            self.free.state[found] = 0
        self._class_levels = self._class_levels[:0]
        return found

    def close(self, name: str) -> int | None:
        """Let the host accept nothing until it is put in again. Return its row; None: unknown."""
        host = self._rows.get(name)
        if host is not None:
            self.put(name, HostCapacity(-1, -1, -1))
        return host

    def vacate(self, name: str) -> None:
        """Let another host have the row of a closed host. KeyError: unknown host."""
        row = self._rows.pop(name)
        self.names[row] = NO_HOST
        self._vacant.append(row)

    def compact_classes(self) -> bool:
        """Drop device classes and accounts that no host has any more, where they are many.

        Return whether it was done: then all others have new numbers.
        """
        if not self._classes.are_many:
            return False
        free, whole = self._columns
        used = np.unique(np.concatenate([[0], free.device_class.ravel(), whole.device_class.ravel()]))
        numbers = self._classes.keep(used)
        for column in (free.device_class, whole.device_class, free.main_class):
            column[:] = numbers[column]
        free.state[:] = 0
        self._sharing.forget_unused()
        self._class_levels = self._class_levels[:0]
        self.main_classes = 1 + int(free.main_class.max(initial=0))
        return True

    @property
    def allocation_percent(self) -> float:
        """The percentage of all GPUs that is in use."""
        return 100.0 * (1.0 - self.free_milli / self.total_milli) if self.total_milli else 0.0

    @property
    def classes(self) -> Sequence[DeviceClass]:
        """All device classes, by number."""
        return self._classes.all

    @property
    def account_ids(self) -> Ints:
        """[class]: the number of the account that has shares of such a device; 0: none."""
        return self._classes.account_ids

    def account(self, name: str) -> int:
        """Return the number of an account; 0 for the empty name."""
        return self._classes.account(name)

    def known_account(self, name: str) -> int:
        """Return the number of an account; :attr:`accounts` where it has none."""
        return self._classes.known_account(name)

    @property
    def accounts(self) -> int:
        """The number of known accounts: all account numbers are below it."""
        return self._classes.accounts

    def classes_since(self, first: int, account: str) -> Sequence[int]:
        """Return the device classes from number `first` on that a pod of the account can use.

        That is, of which nobody has shares, or the account has.
        """
        return self._classes.since(first, account)

    def accepts(self, shape: PodShape) -> Bools:
        """[class]: whether the shape may run there."""
        return self._classes.accepted(shape)

    def fits_on(self, host: int, shape: PodShape, devices: int) -> bool:
        """Whether such a pod is feasible on exactly these devices, as :func:`offchain.core.feasibility.fits` says."""
        return self._fits(host, shape, device_indices(devices))

    def take(self, host: int, shape: PodShape, devices: int) -> None:
        """Allocate a pod's resources; bit `d` of `devices` stands for device `d`. ValueError: not feasible."""
        if not self.try_take(host, shape, devices):
            raise ValueError(f"host {self.names[host]} cannot take {shape} on devices {device_indices(devices)}")

    def try_take(self, host: int, shape: PodShape, devices: int) -> bool:
        """Allocate a pod's resources if that is feasible, and return whether it was."""
        chosen = device_indices(devices)
        fits = self._fits(host, shape, chosen)
        if fits:
            self._take(host, shape, chosen)
        return fits

    def release(self, host: int, shape: PodShape, devices: int) -> None:
        """Free the resources of a pod that has ended. ValueError: the pod cannot have run there."""
        asked = shape.cpu_milli, shape.memory_mib, shape.disk_gib, shape.gpus, shape.gpu_milli
        if not _release(self.free, host, devices, *asked):
            raise ValueError(f"no {shape} can have run on devices {device_indices(devices)} of host {self.names[host]}")
        self.free_milli += shape.total_milli
        if shape.account:
            self._sharing.unshare(self.free, self.whole, host, devices)

    def release_all(
        self, hosts: Sequence[int], devices: Sequence[int], shape_of_pod: Sequence[int], shapes: Sequence[PodShape]
    ) -> None:
        """Free the resources of many pods. `shape_of_pod`: [pod], its index in `shapes`."""
        of = np.array([(one.cpu_milli, one.memory_mib, one.disk_gib, one.gpus, one.gpu_milli) for one in shapes])
        pods = np.array([hosts, devices, shape_of_pod], dtype=np.int64)
        done = _release_all(self.free, pods, of)
        self.free_milli += int((of[:, 3] * of[:, 4])[pods[2, :done]].sum())
        if done < len(hosts):
            name, shape = self.names[hosts[done]], shapes[shape_of_pod[done]]
            raise ValueError(f"no {shape} can have run on devices {device_indices(devices[done])} of host {name}")
        shares = {index for index, shape in enumerate(shapes) if shape.account}
        for host, on, index in zip(hosts, devices, shape_of_pod, strict=True) if shares else ():
            if index in shares:
                self._sharing.unshare(self.free, self.whole, host, on)

    def _fits(self, host: int, shape: PodShape, chosen: Sequence[int]) -> bool:
        usable = len(chosen) == shape.gpus and not self._lacks_resources(host, shape)
        return usable and all(self._usable(host, index, shape) for index in chosen)

    def _usable(self, host: int, index: int, shape: PodShape) -> bool:
        there = index < self.free.gpus[host] and self.free.device[host, index] >= shape.gpu_milli
        return bool(there) and shape.accepts(self.classes[self.free.device_class[host, index]])

    def _lacks_resources(self, host: int, shape: PodShape) -> bool:
        free = self.free
        short = free.cpu[host] < shape.cpu_milli or free.memory[host] < shape.memory_mib
        return bool(short or free.disk[host] < shape.disk_gib)

    def _take(self, host: int, shape: PodShape, chosen: Sequence[int]) -> None:
        self.free.cpu[host] -= shape.cpu_milli
        self.free.memory[host] -= shape.memory_mib
        self.free.disk[host] -= shape.disk_gib
        for index in chosen:
            self.free.device[host, index] -= shape.gpu_milli
        self.free.state[host] = 0
        self.free_milli -= shape.total_milli
        if shape.account:
            self.share(host, device_bits(chosen), shape.account)

    def _set(self, columns: HostColumns, host: int, capacity: HostCapacity) -> None:
        devices = len(capacity.devices)
        columns.cpu[host], columns.memory[host], columns.disk[host] = (
            capacity.cpu_milli,
            capacity.memory_mib,
            capacity.disk_gib,
        )
        columns.device[host], columns.device_class[host], columns.gpus[host] = 0, 0, devices
        columns.device[host, :devices] = [left for _, left in capacity.devices]
        columns.device_class[host, :devices] = [
            self._classes.number(device_class) for device_class, _ in capacity.devices
        ]
        columns.main_class[host] = columns.device_class[host, 0]
        columns.state[host] = 0
        self.main_classes = max(self.main_classes, 1 + int(columns.main_class[host]))

    def _unused_row(self, name: str) -> int:
        """Return a row for a new host."""
        if self._vacant:
            row = self._vacant.pop()
            self.names[row] = name
            return row
        self.names.append(name)
        self._grow(len(self.names))
        return len(self.names) - 1

    def _grow(self, hosts: int) -> None:
        free, whole = self._columns
        if hosts > len(free.cpu):
            more = zero_columns(2 * len(free.cpu))
            self._columns = copy_columns(free, more), copy_columns(whole, capacity_columns(more))
        self.free, self.whole = self._shown(hosts)

    def _shown(self, hosts: int) -> tuple[HostColumns, HostColumns]:
        free, whole = (HostColumns._make(column[:hosts] for column in held) for held in self._columns)
        return free, whole


@compiled
def _release(free: HostColumns, host: int, on: int, cpu: int, memory: int, disk: int, gpus: int, milli: int) -> bool:
    """Free resources, of each device in `on` as many thousandths.

    Return False and change nothing where that is impossible.
    """
    count = 0
    for index in range(MAX_DEVICES):
        if on >> index & 1:
            count += 1
            if index >= free.gpus[host] or free.device[host, index] + milli > WHOLE_GPU:
                return False
    if count != gpus or on >> MAX_DEVICES:
        return False
    free.cpu[host] += cpu
    free.memory[host] += memory
    free.disk[host] += disk
    free.state[host] = 0
    for index in range(MAX_DEVICES):
        if on >> index & 1:
            free.device[host, index] += milli
    return True


@compiled
def _release_all(free: HostColumns, pods: Ints, shape_of_pod: Ints) -> int:
    """`pods`: hosts, devices as bits, rows of `shape_of_pod`.

    Return the number of pods done: the next one is impossible.
    """
    for pod in range(pods.shape[1]):
        cpu, memory, disk, gpus, milli = shape_of_pod[pods[2, pod]]
        if not _release(free, pods[0, pod], pods[1, pod], cpu, memory, disk, gpus, milli):
            return pod
    return int(pods.shape[1])
