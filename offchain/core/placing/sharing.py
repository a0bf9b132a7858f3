"""Whose the shares of devices are: a device of which an account has some is of a kind of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from offchain.core.placing.columns import as_long
from offchain.core.placing.compiled import compiled
from offchain.core.placing.free import AnyInts, Columns, Ints, indices
from offchain.core.placing.kinds import Kinds
from offchain.core.placing.shapes import WHOLE_GPU

_FEW = 16
_NO_HOSTS: Ints = np.zeros(0, dtype=np.int64)


class _Hosts:
    """Rows of hosts, and the same as a column."""

    def __init__(self) -> None:
        self._all: set[int] = set()
        self._rows: Ints | None = None
        self._most = _FEW

    @property
    def rows(self) -> Ints:
        """All of them, in no order."""
        if self._rows is None:
            self._rows = np.fromiter(self._all, dtype=np.int64, count=len(self._all))
        return self._rows

    @property
    def are_many(self) -> bool:
        """Whether it is time to see which of them still count."""
        return len(self._all) > self._most

    def add(self, rows: Sequence[int]) -> None:
        """More, or such as are known."""
        known = len(self._all)
        self._all.update(rows)
        if len(self._all) > known:
            self._rows = None

    def keep(self, rows: Ints) -> None:
        """Only these count."""
        self._all, self._rows = set(rows.tolist()), rows
        self._most = max(_FEW, 2 * len(rows))


class Sharing:
    """Of one cluster. `free`, here: what is free of its hosts; `whole`: what they have when nothing runs there."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._rows: set[int] = set()
        """Hosts with devices that may be shared."""
        self._hosts_of: dict[str, _Hosts] = {}
        self._kinds_of: dict[str, Ints] = {}
        """[account][kind]: the kind of such a device of which the account has shares; 0: not known."""

    def __contains__(self, row: int) -> bool:
        """Whether devices of this host may be shared."""
        return row in self._rows

    def share(self, free: Columns, whole: Columns, host: int, devices: int, account: str) -> None:
        """Shares of these devices are the account's from now on; of those that are somebody's nothing changes."""
        for index in indices(devices):
            kind = int(whole.kind[host, index])
            if free.kind[host, index] == kind and free.device[host, index] < WHOLE_GPU:
                free.kind[host, index] = self._kinds.shared(kind, account)
        free.state[host] = 0
        self._shared_on((host,), account)

    def share_all(self, free: Columns, whole: Columns, hosts: Ints, devices: Ints, account: str) -> None:
        """The same on many hosts; `devices` as bits."""
        done = 0
        while True:
            kinds = self._kinds_of.get(account, _NO_HOSTS)
            done += int(_share(free, whole.kind, hosts[done:], devices[done:], kinds))
            if done == len(hosts):
                break
            # Of these devices the account has no shares yet.
            host = int(hosts[done])
            for kind in {int(whole.kind[host, index]) for index in indices(int(devices[done]))}:
                kinds = as_long(kinds, max(len(kinds), kind + 1))
                kinds[kind] = self._kinds.shared(kind, account)
            self._kinds_of[account] = kinds
        self._shared_on(hosts.tolist(), account)

    def rows_of(self, free: Columns, account: str) -> Ints:
        """The hosts on which the account has shares of devices, and some on which it had."""
        found = self._hosts_of.get(account)
        if found is None:
            return _NO_HOSTS
        if found.are_many:
            rows = found.rows
            mine = self._kinds.whose[free.kind[rows]] == self._kinds.account(account)
            found.keep(rows[mine.any(axis=1)])
        return found.rows

    def set_anew(self, free: Columns, whole: Columns, of: Mapping[int, Sequence[str]]) -> None:
        """[row]: whose shares there are of each device of a host that was set."""
        for row, accounts in of.items():
            free.kind[row] = whole.kind[row]
            self._rows.discard(row)
            for index, account in enumerate(accounts):
                if account:
                    self.share(free, whole, row, 1 << index, account)

    @staticmethod
    def whole_again(free: Columns, whole: Columns, host: int, devices: int) -> None:
        """Of these devices, those of which nobody has shares any more are for everybody."""
        for index in indices(devices):
            if free.device[host, index] == WHOLE_GPU:
                free.kind[host, index] = whole.kind[host, index]

    def _shared_on(self, hosts: Sequence[int], account: str) -> None:
        self._rows.update(hosts)
        found = self._hosts_of.get(account)
        if found is None:
            found = self._hosts_of[account] = _Hosts()
        found.add(hosts)


@compiled
def _share(free: Columns, whole: AnyInts, hosts: Ints, on: Ints, shared: Ints) -> int:
    """Let devices be of kinds of which an account has shares: `shared`, by kind. How many: of the next it has none."""
    for pod in range(len(hosts)):
        host = hosts[pod]
        for index in range(free.gpus[host]):
            kind = whole[host, index]
            if on[pod] >> index & 1 and free.kind[host, index] == kind and free.device[host, index] < WHOLE_GPU:
                if kind >= len(shared) or not shared[kind]:
                    return pod
                free.kind[host, index] = shared[kind]
        free.state[host] = 0
    return len(hosts)
