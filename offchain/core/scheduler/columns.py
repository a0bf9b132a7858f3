"""Columns of the scheduler: free resources of hosts, device classes, and the accounts that have shares of devices."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from offchain.core.scheduler.jit import compiled, inner
from offchain.core.scheduler.pod_request import WHOLE_GPU, DeviceClass, PodShape

Ints = npt.NDArray[np.int64]
AnyInts = npt.NDArray[np.signedinteger[Any]]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

MAX_DEVICES = 16
"""The most devices of one host, as on the chain."""


class HostColumns(NamedTuple):
    """Free resources of all hosts. Row `i` of each column is host `i`.

    A device of which an account uses shares has a device class of its own, which no share of another account accepts.
    """

    cpu: Ints
    """Thousandths of cores; -1: the host accepts nothing."""
    memory: Ints
    disk: Ints
    device: AnyInts
    """[host, device]: free thousandths; 0 beyond the host's last device, so that nothing fits there."""
    device_class: AnyInts
    """[host, device]: index in :attr:`Cluster.classes`."""
    gpus: Ints
    """The number of devices."""
    main_class: Ints
    """The class of the host's first device, which stands for all of them."""
    state: Ints
    """A hash of all of this but the disk; 0: not computed since the last change."""


def zero_columns(hosts: int) -> HostColumns:
    """Return columns of zeros for `hosts` hosts."""

    def column(*more: int) -> Ints:
        return np.zeros((hosts, *more), dtype=np.int64)

    # Narrow, because loops read single hosts at random.
    devices = np.zeros((hosts, MAX_DEVICES), dtype=np.int16), np.zeros((hosts, MAX_DEVICES), dtype=np.int16)
    return HostColumns(column(), column(), column(), *devices, column(), column(), column())


def capacity_columns(free: HostColumns) -> HostColumns:
    """Return columns for the capacity of the same hosts; columns that do not depend on usage are shared with `free`."""
    cpu, memory, disk, device, device_class = (np.zeros_like(column) for column in (*free[:4], free.device_class))
    return free._replace(cpu=cpu, memory=memory, disk=disk, device=device, device_class=device_class)


def copy_columns(held: HostColumns, into: HostColumns) -> HostColumns:
    """Copy the rows of `held` to the beginning of `into`."""
    pairs: Iterable[tuple[AnyInts, AnyInts]] = zip(held, into, strict=True)
    for old, new in pairs:
        new[: len(old)] = old
    return into


def device_indices(devices: int) -> list[int]:
    """Return the numbers of the devices whose bits are set."""
    found = []
    while devices:
        least = devices & -devices
        found.append(least.bit_length() - 1)
        devices ^= least
    return found


def device_bits(devices: Iterable[int]) -> int:
    """Return the bitmask of these device numbers."""
    return sum(1 << index for index in devices)


def resized(column: npt.NDArray[Any], count: int, of: int = 0) -> npt.NDArray[Any]:
    """Return a copy with `count` rows; new rows are filled with `of`."""
    known = min(count, len(column))
    made = np.empty((count, *column.shape[1:]), dtype=column.dtype)
    made[:known], made[known:] = column[:known], of
    return made


NO_DEVICE = DeviceClass("")
"""The class of a host without devices, and of an index without a device."""


class SharingLevels(NamedTuple):
    """Shares that are still expected of each account, as levels (:mod:`offchain.core.scheduler.sharing_demand`)."""

    by_account: dict[str, int]
    other: int
    """The level of all other accounts."""


UNKNOWN_ACCOUNT = "?"
"""Has shares of a device, and is not known; or there are more accounts with shares than classes."""

UNUSED_ACCOUNT = "-"
"""Never has shares of a device: its shares fit on completely free devices alone."""

MAX_CLASSES = 1 << 15
"""The range of a column."""

RESERVED_CLASSES = 1 << 10
"""Classes kept for devices without shares of a known account."""

FEW_CLASSES = 1 << 10
"""Up to this many classes, and accounts, unused ones are kept."""


class DeviceClasses:
    """The device classes of a cluster, by number.

    A device of which an account has shares has a class of its own, which no share of another account accepts.
    """

    def __init__(self) -> None:
        self.all: list[DeviceClass] = [NO_DEVICE]
        self._numbers: dict[DeviceClass, int] = {NO_DEVICE: 0}
        self._by_account: dict[str, list[int]] = {"": [0]}
        """[account]: the classes of devices of which it has shares, ascending; "": of which nobody has."""
        self._accounts: dict[str, int] = {"": 0}
        self._unshared: Ints = np.zeros(0, dtype=np.int64)
        """[class]: the class of such a device without shares."""
        self._account_ids: Ints = np.zeros(0, dtype=np.int64)
        self._kept_at_most = FEW_CLASSES
        """Unused classes and accounts are dropped where there are more of either."""

    @property
    def are_many(self) -> bool:
        """Whether there are more classes, or accounts, than a limit, so that unused ones should be dropped."""
        return max(len(self.all), len(self._accounts)) > self._kept_at_most

    def keep(self, used: Ints) -> Ints:
        """Keep these classes, ascending, and the accounts that they name. Return [class]: its new number."""
        kept = [self.all[number] for number in used.tolist()]
        numbers: Ints = np.zeros(len(self.all), dtype=np.int64)
        numbers[used] = np.arange(len(used))
        self.all, self._numbers, self._by_account, self._accounts = [], {}, {"": []}, {"": 0}
        self._unshared, self._account_ids = self._unshared[:0], self._account_ids[:0]
        for device_class in kept:
            self.number(device_class)
        self._update_columns()
        self._kept_at_most = max(FEW_CLASSES, 2 * len(self.all))
        return numbers

    def number(self, device_class: DeviceClass) -> int:
        """Return the number of a class; a new one is added."""
        found = self._numbers.get(device_class)
        if found is None:
            found = self._numbers[device_class] = len(self.all)
            self.all.append(device_class)
            self._by_account.setdefault(device_class.account, []).append(found)
        return found

    def shared_class(self, device_class: int, account: str) -> int:
        """Return the class of such a device of which the account has shares."""
        of = replace(self.all[device_class], account=account)
        if of not in self._numbers and len(self.all) >= MAX_CLASSES - RESERVED_CLASSES:
            of = replace(of, account=UNKNOWN_ACCOUNT)
        return self.number(of)

    @property
    def account_ids(self) -> Ints:
        """[class]: the number of the account that has shares of such a device; 0: none."""
        self._update_columns()
        return self._account_ids

    def account(self, name: str) -> int:
        """Return the number of an account; 0 for the empty name."""
        return self._accounts.setdefault(name, len(self._accounts))

    def known_account(self, name: str) -> int:
        """Return the number of an account; where it has none, a number that no account has."""
        return self._accounts.get(name, len(self._accounts))

    def has_classes(self, account: str) -> bool:
        """Whether there are classes of devices of which the account has shares."""
        return account in self._by_account

    @property
    def accounts(self) -> int:
        """The number of known accounts: all account numbers are below it."""
        return len(self._accounts)

    def since(self, first: int, account: str) -> list[int]:
        """Return the device classes from number `first` on that a pod of the account can use.

        That is, of which nobody has shares, or the account has.
        """
        of = self._by_account[""], self._by_account.get(account, []) if account else []
        return [
            device_class
            for classes in of
            if classes and classes[-1] >= first
            for device_class in classes[bisect_left(classes, first) :]
        ]

    def accepted(self, shape: PodShape) -> Bools:
        """[class]: whether the shape may run there."""
        if len(self._by_account) == 1:
            return np.array([shape.accepts(device_class) for device_class in self.all], dtype=np.bool_)
        self._update_columns()
        unshared = np.flatnonzero(self._unshared == np.arange(len(self.all)))
        fine = np.zeros(len(self.all), dtype=np.bool_)
        fine[unshared] = [shape.accepts(self.all[number]) for number in unshared]
        found: Bools = fine[self._unshared]
        if shape.account:
            found &= (self._account_ids == 0) | (self._account_ids == self._accounts.get(shape.account, -1))
        return found

    def _update_columns(self) -> None:
        """Add new classes to the columns."""
        new = self.all[len(self._unshared) :]
        if not new:
            return
        same = [self._numbers[replace(device_class, account="")] for device_class in new]
        account_ids = [self.account(device_class.account) for device_class in new]
        self._unshared = np.concatenate([self._unshared, np.array(same, dtype=np.int64)])
        self._account_ids = np.concatenate([self._account_ids, np.array(account_ids, dtype=np.int64)])


_FEW = 16
_NO_HOSTS: Ints = np.zeros(0, dtype=np.int64)


class _HostSet:
    """A set of host rows, also as a column."""

    def __init__(self) -> None:
        self._all: set[int] = set()
        self._rows: Ints | None = None
        self._prune_above = _FEW

    @property
    def rows(self) -> Ints:
        """All rows, in no order."""
        if self._rows is None:
            self._rows = np.fromiter(self._all, dtype=np.int64, count=len(self._all))
        return self._rows

    @property
    def needs_pruning(self) -> bool:
        """Whether the set has grown so much that stale rows should be removed."""
        return len(self._all) > self._prune_above

    def add(self, rows: Sequence[int]) -> None:
        known = len(self._all)
        self._all.update(rows)
        if len(self._all) > known:
            self._rows = None

    def keep(self, rows: Ints) -> None:
        """Replace the set."""
        self._all, self._rows = set(rows.tolist()), rows
        self._prune_above = max(_FEW, 2 * len(rows))


class DeviceSharing:
    """The accounts with shares of a cluster's devices. `free`: what is free of its hosts; `whole`: their capacity."""

    def __init__(self, classes: DeviceClasses) -> None:
        self._classes = classes
        self._rows: set[int] = set()
        """Hosts with devices that may be shared."""
        self._hosts_by_account: dict[str, _HostSet] = {}
        self._classes_by_account: dict[str, Ints] = {}
        """[account][class]: the class of such a device of which the account has shares; 0: not known."""

    def __contains__(self, row: int) -> bool:
        """Whether devices of this host may be shared."""
        return row in self._rows

    @property
    def accounts(self) -> Iterable[str]:
        """The accounts that have or had shares of devices."""
        return self._hosts_by_account

    def share(self, free: HostColumns, whole: HostColumns, host: int, devices: int, account: str) -> None:
        """Assign shares of these devices to the account; devices shared already are unchanged."""
        for index in device_indices(devices):
            device_class = int(whole.device_class[host, index])
            if free.device_class[host, index] == device_class and free.device[host, index] < WHOLE_GPU:
                free.device_class[host, index] = self._classes.shared_class(device_class, account)
        free.state[host] = 0
        self._add_hosts((host,), account)

    def share_all(self, free: HostColumns, whole: HostColumns, hosts: Ints, devices: Ints, account: str) -> None:
        """Assign shares of devices (bitmasks) on many hosts to the account."""
        done = 0
        while True:
            classes = self._classes_by_account.get(account, _NO_HOSTS)
            done += int(_share(free, whole.device_class, hosts[done:], devices[done:], classes))
            if done == len(hosts):
                break
            # The account has no shares of such devices yet.
            host = int(hosts[done])
            for device_class in {int(whole.device_class[host, index]) for index in device_indices(int(devices[done]))}:
                classes = resized(classes, max(len(classes), device_class + 1))
                classes[device_class] = self._classes.shared_class(device_class, account)
            self._classes_by_account[account] = classes
        self._add_hosts(hosts.tolist(), account)

    def rows_of(self, free: HostColumns, account: str) -> Ints:
        """Return the hosts where the account has shares of devices, and some where it had."""
        found = self._hosts_by_account.get(account)
        if found is None:
            return _NO_HOSTS
        if found.needs_pruning:
            rows = found.rows
            mine = self._classes.account_ids[free.device_class[rows]] == self._classes.account(account)
            found.keep(rows[mine.any(axis=1)])
        return found.rows

    def reset(self, free: HostColumns, whole: HostColumns, of: Mapping[int, Sequence[str]]) -> None:
        """Set the accounts with shares of each device of these hosts, by row."""
        for row, accounts in of.items():
            free.device_class[row] = whole.device_class[row]
            self._rows.discard(row)
            for index, account in enumerate(accounts):
                if account:
                    self.share(free, whole, row, 1 << index, account)

    @staticmethod
    def unshare(free: HostColumns, whole: HostColumns, host: int, devices: int) -> None:
        """Restore the class of those of these devices of which nobody has shares any more."""
        for index in device_indices(devices):
            if free.device[host, index] == WHOLE_GPU:
                free.device_class[host, index] = whole.device_class[host, index]

    def forget_unused(self) -> None:
        """Forget accounts without classes, and all numbers of classes, after :meth:`DeviceClasses.keep`."""
        self._classes_by_account.clear()
        self._hosts_by_account = {
            account: hosts for account, hosts in self._hosts_by_account.items() if self._classes.has_classes(account)
        }

    def _add_hosts(self, hosts: Sequence[int], account: str) -> None:
        self._rows.update(hosts)
        found = self._hosts_by_account.get(account)
        if found is None:
            found = self._hosts_by_account[account] = _HostSet()
        found.add(hosts)


@compiled
def _share(free: HostColumns, whole: AnyInts, hosts: Ints, on: Ints, shared_class: Ints) -> int:
    """Set the classes of devices to `shared_class`, by class.

    Return the number of pods done: the next device's class is unknown.
    """
    for pod in range(len(hosts)):
        host = hosts[pod]
        for index in range(free.gpus[host]):
            device_class = whole[host, index]
            if (
                on[pod] >> index & 1
                and free.device_class[host, index] == device_class
                and free.device[host, index] < WHOLE_GPU
            ):
                if device_class >= len(shared_class) or not shared_class[device_class]:
                    return pod
                free.device_class[host, index] = shared_class[device_class]
        free.state[host] = 0
    return len(hosts)


@inner
def copy_row(of: AnyInts, into: AnyInts) -> None:
    """Copy element by element: assignment to a slice takes much longer to compile."""
    for index in range(len(into)):
        into[index] = of[index]
