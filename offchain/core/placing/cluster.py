"""Hosts as columns: what is free of each, and of what kinds its devices are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from offchain.core.placing.compiled import compiled
from offchain.core.placing.free import (
    MOST_DEVICES,
    Bools,
    Columns,
    Floats,
    Ints,
    beside,
    bits,
    columns,
    copied,
    indices,
)
from offchain.core.placing.kinds import NOTHING, Kinds
from offchain.core.placing.shapes import WHOLE_GPU, GpuKind, Shape
from offchain.core.placing.sharing import Sharing

_FEW = 16
_NO_DEVICES = (0,) * MOST_DEVICES
_NO_HOSTS: Ints = np.zeros(0, dtype=np.int64)

Refill = tuple[int, int, int, Sequence[int], Sequence[str]]
"""Cores, memory and disk that are free of a host, and thousandths of each of its devices; of these 0 out of order.

Then whose pods have shares of each device, empty for nobody's; nothing where nobody has any of the host's.
"""


@dataclass(frozen=True, slots=True)
class HostSpec:
    """One host as it is when nothing runs there; all its GPUs are of one model."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    model: str = ""


@dataclass(frozen=True, slots=True)
class HostRoom:
    """What is free of one host. `devices`: the kind and the free thousandths of each, 0 where one is out of order.

    `accounts`: as in :data:`Refill`; the kinds do not say it.
    """

    cpu_milli: int
    memory_mib: int
    disk_gib: int
    devices: tuple[tuple[GpuKind, int], ...] = ()
    accounts: Sequence[str] = ()


class Cluster:
    """All hosts, each with the number that it got when it was first put in.

    What is free changes by :meth:`put`, :meth:`close`, :meth:`take` and :meth:`give` alone.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self._kinds = Kinds()
        self._sharing = Sharing(self._kinds)
        self.mains = 1
        """The kind of every host's :attr:`Columns.main` is below this."""
        self.total_milli = 0
        """Thousandths of all devices."""
        self.free_milli = 0
        self.most: Floats = np.ones(3)
        """The most cores, memory and thousandths of GPUs that were free on one host."""
        self._numbers: dict[str, int] = {}
        free = columns(_FEW)
        self._held = free, beside(free)
        self.free, self.whole = self._shown(0)
        """`whole`: what each host has when nothing runs there; devices that are out of order have nothing."""

    @classmethod
    def of(cls, specs: Sequence[HostSpec]) -> Cluster:
        """Empty hosts."""
        found = cls()
        for spec in specs:
            kind = GpuKind(spec.model) if spec.gpus else NOTHING
            devices = ((kind, WHOLE_GPU),) * spec.gpus
            found.put(spec.name, HostRoom(spec.cpu_milli, spec.memory_mib, 0, devices))
        return found

    def __len__(self) -> int:
        """How many hosts, closed ones among them."""
        return len(self.names)

    def __contains__(self, name: str) -> bool:
        """Whether the host was ever put in."""
        return name in self._numbers

    def number(self, name: str) -> int:
        """The host's row. KeyError where there is none of this name."""
        return self._numbers[name]

    def put(self, name: str, room: HostRoom, whole: HostRoom | None = None) -> int:
        """Set what is free of a host, a new one or one that is known; gives its number.

        `whole`: what it has when nothing runs there; None: just that. ValueError: more devices than
        :data:`MOST_DEVICES`.
        """
        if len(room.devices) > MOST_DEVICES:
            raise ValueError(f"host {name} has {len(room.devices)} devices; {MOST_DEVICES} is the most")
        host = self._numbers.get(name)
        if host is None:
            host = self._numbers[name] = len(self.names)
            self.names.append(name)
            self._grow(len(self.names))
        else:
            self.total_milli -= int(self.free.gpus[host]) * WHOLE_GPU
            self.free_milli -= sum(self.free.device[host].tolist())
        self._set(self.free, host, room)
        self._set(self.whole, host, whole or room)
        self._sharing.set_anew(self.free, self.whole, {host: room.accounts})
        self.total_milli += len(room.devices) * WHOLE_GPU
        self._count(room.cpu_milli, room.memory_mib, [left for _, left in room.devices])
        return host

    def refill(self, of: Mapping[int, Refill]) -> None:
        """Set what is free of hosts that are known and have the same devices as before; by their rows."""
        if not of:
            return
        free, rows = self.free, list(of)
        rest = np.array([refill[:3] for refill in of.values()], dtype=np.int64)
        device = np.array([(*refill[3], *_NO_DEVICES[len(refill[3]) :]) for refill in of.values()], dtype=np.int64)
        self.free_milli += int(device.sum()) - int(free.device[rows].sum())
        free.cpu[rows], free.memory[rows], free.disk[rows] = rest[:, 0], rest[:, 1], rest[:, 2]
        free.device[rows] = device
        free.state[rows] = 0
        shared = {row: refill[4] for row, refill in of.items() if refill[4] or row in self._sharing}
        self._sharing.set_anew(free, self.whole, shared)
        most = (*rest[:, :2].max(axis=0).tolist(), int(device.sum(axis=1).max()))
        np.maximum(self.most, most, out=self.most)

    def share(self, host: int, devices: int, account: str) -> None:
        """Shares of these devices are the account's from now on, until all of a device is free again.

        Nothing changes for one of which somebody has shares already.
        """
        self._sharing.share(self.free, self.whole, host, devices, account)

    def share_all(self, hosts: Ints, devices: Ints, account: str) -> None:
        """The same on many hosts; `devices` as bits."""
        self._sharing.share_all(self.free, self.whole, hosts, devices, account)

    def with_shares_of(self, account: str) -> Ints:
        """The rows of hosts on which the account has shares of devices, and of some on which it had."""
        return self._sharing.rows_of(self.free, account)

    def _count(self, cpu_milli: int, memory_mib: int, devices: Sequence[int]) -> None:
        milli = sum(devices)
        self.free_milli += milli
        for place, value in enumerate((cpu_milli, memory_mib, milli)):
            self.most[place] = max(self.most[place], value)

    def close(self, name: str) -> int | None:
        """The host takes nothing any more, until it is put in again; gives its number, None where it is unknown."""
        host = self._numbers.get(name)
        if host is not None:
            self.put(name, HostRoom(-1, -1, -1))
        return host

    @property
    def allocation_percent(self) -> float:
        """The part of all GPUs that is in use."""
        return 100.0 * (1.0 - self.free_milli / self.total_milli) if self.total_milli else 0.0

    @property
    def kinds(self) -> Sequence[GpuKind]:
        """All that there are, by their numbers."""
        return self._kinds.all

    @property
    def whose(self) -> Ints:
        """[kind]: the number of the account that has shares of such a device; 0: nobody has."""
        return self._kinds.whose

    def account(self, name: str) -> int:
        """The number of an account; 0 for the empty name."""
        return self._kinds.account(name)

    def kinds_since(self, first: int, account: str) -> Sequence[int]:
        """The kinds from this number on of which a pod of the account may have a share, or a whole device."""
        return self._kinds.since(first, account)

    def accepts(self, shape: Shape) -> Bools:
        """For each kind, whether the shape may run there."""
        return self._kinds.accepted(shape)

    def fits(self, host: int, shape: Shape) -> bool:
        """Whether there is room for such a pod. This is the rule; devices.py has the same for compiled loops."""
        usable = sum(self._usable(host, index, shape) for index in range(int(self.free.gpus[host])))
        return not self._short(host, shape) and usable >= shape.gpus

    def fits_on(self, host: int, shape: Shape, devices: int) -> bool:
        """Whether there is room for such a pod on exactly these devices."""
        return self._fits(host, shape, indices(devices))

    def take(self, host: int, shape: Shape, devices: int) -> None:
        """Give a pod its share of `host`; bit `d` of `devices` is set for device `d`. ValueError: there is no room."""
        if not self.take_if(host, shape, devices):
            raise ValueError(f"host {self.names[host]} has no room for {shape} on devices {indices(devices)}")

    def take_if(self, host: int, shape: Shape, devices: int) -> bool:
        """The same where there is room; whether there was."""
        chosen = indices(devices)
        fits = self._fits(host, shape, chosen)
        if fits:
            self._take(host, shape, chosen)
        return fits

    def give(self, host: int, shape: Shape, devices: int) -> None:
        """Take the share back from a pod that has ended. ValueError: the host cannot have given it."""
        asked = shape.cpu_milli, shape.memory_mib, shape.disk_gib, shape.gpus, shape.gpu_milli
        if not _give(self.free, host, devices, *asked):
            raise ValueError(f"no {shape} can have run on devices {indices(devices)} of host {self.names[host]}")
        self.free_milli += shape.total_milli
        if shape.account:
            self._sharing.whole_again(self.free, self.whole, host, devices)

    def give_all(
        self, hosts: Sequence[int], devices: Sequence[int], asks: Sequence[int], shapes: Sequence[Shape]
    ) -> None:
        """The same for many pods, each on its host and devices. `asks`: [pod], which of the `shapes` it has."""
        of = np.array([(one.cpu_milli, one.memory_mib, one.disk_gib, one.gpus, one.gpu_milli) for one in shapes])
        pods = np.array([hosts, devices, asks], dtype=np.int64)
        done = _give_all(self.free, pods, of)
        self.free_milli += int((of[:, 3] * of[:, 4])[pods[2, :done]].sum())
        if done < len(hosts):
            name, shape = self.names[hosts[done]], shapes[asks[done]]
            raise ValueError(f"no {shape} can have run on devices {indices(devices[done])} of host {name}")
        shares = {ask for ask, shape in enumerate(shapes) if shape.account}
        for host, on, ask in zip(hosts, devices, asks, strict=True) if shares else ():
            if ask in shares:
                self._sharing.whole_again(self.free, self.whole, host, on)

    def _fits(self, host: int, shape: Shape, chosen: Sequence[int]) -> bool:
        usable = len(chosen) == shape.gpus and not self._short(host, shape)
        return usable and all(self._usable(host, index, shape) for index in chosen)

    def _usable(self, host: int, index: int, shape: Shape) -> bool:
        there = index < self.free.gpus[host] and self.free.device[host, index] >= shape.gpu_milli
        return bool(there) and shape.accepts(self.kinds[self.free.kind[host, index]])

    def _short(self, host: int, shape: Shape) -> bool:
        free = self.free
        short = free.cpu[host] < shape.cpu_milli or free.memory[host] < shape.memory_mib
        return bool(short or free.disk[host] < shape.disk_gib)

    def _take(self, host: int, shape: Shape, chosen: Sequence[int]) -> None:
        self.free.cpu[host] -= shape.cpu_milli
        self.free.memory[host] -= shape.memory_mib
        self.free.disk[host] -= shape.disk_gib
        for index in chosen:
            self.free.device[host, index] -= shape.gpu_milli
        self.free.state[host] = 0
        self.free_milli -= shape.total_milli
        if shape.account:
            self.share(host, bits(chosen), shape.account)

    def _set(self, columns: Columns, host: int, room: HostRoom) -> None:
        devices = len(room.devices)
        columns.cpu[host], columns.memory[host], columns.disk[host] = room.cpu_milli, room.memory_mib, room.disk_gib
        columns.device[host], columns.kind[host], columns.gpus[host] = 0, 0, devices
        columns.device[host, :devices] = [left for _, left in room.devices]
        columns.kind[host, :devices] = [self._kinds.number(kind) for kind, _ in room.devices]
        columns.main[host] = columns.kind[host, 0]
        columns.state[host] = 0
        self.mains = max(self.mains, 1 + int(columns.main[host]))

    def _grow(self, hosts: int) -> None:
        free, whole = self._held
        if hosts > len(free.cpu):
            more = columns(2 * len(free.cpu))
            self._held = copied(free, more), copied(whole, beside(more))
        self.free, self.whole = self._shown(hosts)

    def _shown(self, hosts: int) -> tuple[Columns, Columns]:
        free, whole = (Columns._make(column[:hosts] for column in held) for held in self._held)
        return free, whole


@compiled
def _give(free: Columns, host: int, on: int, cpu: int, memory: int, disk: int, gpus: int, milli: int) -> bool:
    """Give back so much, of devices in `on` so many thousandths each; False, and nothing has changed: not possible."""
    count = 0
    for index in range(MOST_DEVICES):
        if on >> index & 1:
            count += 1
            if index >= free.gpus[host] or free.device[host, index] + milli > WHOLE_GPU:
                return False
    if count != gpus or on >> MOST_DEVICES:
        return False
    free.cpu[host] += cpu
    free.memory[host] += memory
    free.disk[host] += disk
    free.state[host] = 0
    for index in range(MOST_DEVICES):
        if on >> index & 1:
            free.device[host, index] += milli
    return True


@compiled
def _give_all(free: Columns, pods: Ints, asks: Ints) -> int:
    """`pods`: hosts, devices as bits, and what each asks for, a row of `asks`. How many: the next is not possible."""
    for pod in range(pods.shape[1]):
        cpu, memory, disk, gpus, milli = asks[pods[2, pod]]
        if not _give(free, pods[0, pod], pods[1, pod], cpu, memory, disk, gpus, milli):
            return pod
    return int(pods.shape[1])
