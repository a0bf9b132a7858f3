"""Assumed pods linked by host: columns, and the compiled loops that follow the links.

From the last pod of a host each pod links to the one before it, so that a hundred thousand are entered in one loop, and
only the pods of hosts that have changed are visited.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from offchain.core.scheduler.cluster import Cluster
from offchain.core.scheduler.columns import MAX_DEVICES, Bools, HostColumns, Ints, copy_row, resized
from offchain.core.scheduler.jit import compiled, inner
from offchain.core.scheduler.pod_request import DeviceClass, PodShape

Ints32 = npt.NDArray[np.int32]
States = npt.NDArray[np.int8]

REMOVED: Final = 0
"""The pod is not held any more."""
CONFIRMED: Final = 1
"""The pod is held, and the chain's records contain it already."""
ASSUMED: Final = 2
"""The pod is held, and the records do not contain it yet."""

_FEW: Final = 16
_NO_POD: Final = -1


class _Links(NamedTuple):
    last: Ints32
    """[row]: the last pod there; -1: none."""
    previous: Ints32
    """[pod]: the previous one on the same host; -1: none."""
    devices: Ints32
    """[pod]: as bits."""
    request: Ints32
    """[pod]: a row of :class:`_RequestColumns`."""
    state: States
    """[pod]"""


class _RequestColumns(NamedTuple):
    """The columns of :class:`KernelRequest`, [request]: compiled loops cannot read a list of requests.

    Only what an allocation needs; the number of devices is in :attr:`_Links.devices`. Equal requests are stored once.
    """

    cpu: Ints
    memory: Ints
    disk: Ints
    milli: Ints
    account: Ints
    """A number for the owner of pods that ask for shares of devices, which no other account may share; 0: no share."""
    accepts: Bools
    """[request, device class]"""


class PodsByHost:
    """Pods are numbered in the order in which they were added; each is assumed at first."""

    def __init__(self) -> None:
        self._pods = 0
        self._links = _Links(
            np.full(_FEW, _NO_POD, dtype=np.int32),
            np.zeros(_FEW, dtype=np.int32),
            np.zeros(_FEW, dtype=np.int32),
            np.zeros(_FEW, dtype=np.int32),
            np.zeros(_FEW, dtype=np.int8),
        )
        self._shapes: dict[PodShape, int] = {}
        self._accounts: dict[int, str] = {}
        """[request]: the owner of pods that ask for shares of devices."""
        self._requests = _request_columns((), Cluster())
        self._classes: Sequence[DeviceClass] = ()
        """Of the cluster, for which :attr:`_requests` was made; another list when they got other numbers."""

    def __len__(self) -> int:
        """The number of pods that were added."""
        return self._pods

    def add(self, hosts: Sequence[array[int]], devices: Sequence[array[int]], shapes: Sequence[PodShape]) -> None:
        """Add lists of pods: the rows of their hosts, their devices as bits. All pods of a list have one shape."""
        rows = np.frombuffer(b"".join(hosts), dtype=np.int32)
        requests = [self._shapes.setdefault(shape, len(self._shapes)) for shape in shapes]
        self._accounts.update(
            {request: one.account for request, one in zip(requests, shapes, strict=True) if one.account}
        )
        first, self._pods = self._pods, self._pods + len(rows)
        self._grow(1 + int(rows.max()))
        links, new = self._links, slice(first, self._pods)
        links.devices[new] = np.frombuffer(b"".join(devices), dtype=np.int32)
        links.request[new] = np.repeat(requests, [len(one) for one in hosts])
        links.state[new] = ASSUMED
        _link(rows, first, links)

    def mark(self, pods: Sequence[int], states: Sequence[int]) -> None:
        """Set the state of each of these pods; of several for one pod, the last counts."""
        self._links.state[np.array(pods, dtype=np.int64)] = states

    def has_pods(self, row: int) -> bool:
        """Whether pods on this host are held."""
        return any(self._links.state[pod] != REMOVED for pod in self._on(row))

    def assumed(self, row: int) -> list[int]:
        """Return the assumed pods on this host, the last first."""
        return [pod for pod in self._on(row) if self._links.state[pod] == ASSUMED]

    def allocate(self, rows: Sequence[int], cluster: Cluster) -> list[int]:
        """Allocate all assumed pods on each of these hosts.

        Return the rows of hosts where not all fit; nothing was allocated there.
        """
        same_classes = cluster.classes is self._classes and len(cluster.classes) == self._requests.accepts.shape[1]
        if not same_classes or len(self._shapes) != len(self._requests.cpu):
            self._requests, self._classes = _request_columns(list(self._shapes), cluster), cluster.classes
        of = np.array(rows, dtype=np.int64)
        of = of[of < len(self._links.last)]
        short = np.zeros(len(of), dtype=np.bool_)
        cluster.free_milli -= _allocate(of, self._links, self._requests, cluster.free, short)
        found: list[int] = of[short].tolist()
        if self._accounts:
            self._share(*_assumed_on(of[~short], self._links), cluster)
        return found

    def allocate_each(self, rows: Sequence[int], pods: Sequence[int], cluster: Cluster) -> None:
        """Allocate these pods one after the other where they fit; after :meth:`allocate`. Pods of one host in a row."""
        hosts, of = np.array(rows, dtype=np.int64), np.array(pods, dtype=np.int64)
        fits = np.zeros(len(of), dtype=np.bool_)
        cluster.free_milli -= _allocate_each(hosts, of, self._links, self._requests, cluster.free, fits)
        if self._accounts:
            self._share(hosts[fits], of[fits], cluster)

    def _on(self, row: int) -> Iterator[int]:
        """Yield the pods on this host, the last first; some are not held any more."""
        pod = int(self._links.last[row]) if row < len(self._links.last) else _NO_POD
        while pod != _NO_POD:
            yield pod
            pod = int(self._links.previous[pod])

    def _share(self, hosts: Ints, pods: Ints, cluster: Cluster) -> None:
        """Assign the devices of which shares were allocated to the accounts of the pods. `hosts`: [pod]."""
        requests = self._links.request[pods]
        in_order = np.argsort(requests, kind="stable")
        starts = np.flatnonzero(np.diff(requests[in_order], prepend=-1)).tolist()
        for start, end in pairwise((*starts, len(pods))):
            same = in_order[start:end]
            account = self._accounts.get(int(requests[same[0]]))
            if account is not None:
                cluster.share_all(hosts[same], self._links.devices[pods[same]].astype(np.int64), account)

    def _grow(self, rows: int) -> None:
        last, previous, devices, request, state = self._links
        pods = self._pods
        more = _grown(previous, pods), _grown(devices, pods), _grown(request, pods), _grown(state, pods)
        self._links = _Links(_grown(last, rows, _NO_POD), *more)


def _grown(column: npt.NDArray[Any], count: int, of: int = 0) -> npt.NDArray[Any]:
    return column if count <= len(column) else resized(column, max(count, 2 * len(column)), of)


def _request_columns(shapes: Sequence[PodShape], cluster: Cluster) -> _RequestColumns:
    known: dict[tuple[object, ...], Bools] = {}
    accounts = {"": 0}
    accepts = np.zeros((len(shapes), len(cluster.classes)), dtype=np.bool_)
    for number, one in enumerate(shapes):
        rule = one.models, one.min_vram_mib, one.verified_only, one.allow_simulated, one.account
        if rule not in known:
            known[rule] = cluster.accepts(one)
        accepts[number] = known[rule]
    return _RequestColumns(
        np.array([one.cpu_milli for one in shapes], dtype=np.int64),
        np.array([one.memory_mib for one in shapes], dtype=np.int64),
        np.array([one.disk_gib for one in shapes], dtype=np.int64),
        np.array([one.gpu_milli for one in shapes], dtype=np.int64),
        np.array([accounts.setdefault(one.account, len(accounts)) for one in shapes], dtype=np.int64),
        accepts,
    )


@compiled
def _link(rows: Ints32, first: int, links: _Links) -> None:
    """Enter pods on these hosts, numbered from `first` on."""
    last, previous = links.last, links.previous
    for place in range(len(rows)):
        row = rows[place]
        previous[first + place] = last[row]
        last[row] = first + place


@compiled
def _assumed_on(rows: Ints, links: _Links) -> tuple[Ints, Ints]:
    """Return the assumed pods on these hosts: the row and the pod of each."""
    count = 0
    for row in rows:
        pod = links.last[row]
        while pod != _NO_POD:
            count += links.state[pod] == ASSUMED
            pod = links.previous[pod]
    hosts, pods = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    place = 0
    for row in rows:
        pod = links.last[row]
        while pod != _NO_POD:
            if links.state[pod] == ASSUMED:
                hosts[place], pods[place] = row, pod
                place += 1
            pod = links.previous[pod]
    return hosts, pods


@compiled
def _allocate(rows: Ints, links: _Links, requests: _RequestColumns, free: HostColumns, short: Bools) -> int:
    """Allocate where all pods fit, else mark the host as `short`. Return the thousandths of devices in all.

    As free resources only fall, all pods fit one after the other, in any order, if nothing is below zero at the end and
    no device has shares of two accounts.
    """
    left, owners = np.zeros(MAX_DEVICES, dtype=np.int64), np.zeros(MAX_DEVICES, dtype=np.int64)
    total = 0
    for place in range(len(rows)):
        row = rows[place]
        cpu, memory, disk = free.cpu[row], free.memory[row], free.disk[row]
        copy_row(free.device[row], left)
        _clear(owners)
        taken = 0
        any_pods = False
        fine = True
        after = _NO_POD
        pod = links.last[row]
        while pod != _NO_POD:
            previous = links.previous[pod]
            if links.state[pod] == REMOVED:
                # Unlink it.
                if after == _NO_POD:
                    links.last[row] = previous
                else:
                    links.previous[after] = previous
            else:
                after = pod
                if links.state[pod] == ASSUMED:
                    any_pods = True
                    request = links.request[pod]
                    cpu -= requests.cpu[request]
                    memory -= requests.memory[request]
                    disk -= requests.disk[request]
                    for index in range(MAX_DEVICES):
                        if links.devices[pod] >> index & 1:
                            left[index] -= requests.milli[request]
                            taken += requests.milli[request]
                            fine &= index < free.gpus[row] and requests.accepts[request, free.device_class[row, index]]
                            fine &= _is_owner(owners[index], requests.account[request])
                            owners[index] = max(owners[index], requests.account[request])
            pod = previous
        if any_pods:
            if not fine or cpu < 0 or memory < 0 or disk < 0 or _least(left) < 0:
                short[place] = True
            else:
                free.cpu[row], free.memory[row], free.disk[row] = cpu, memory, disk
                copy_row(left, free.device[row])
                free.state[row] = 0
                total += taken
    return total


@inner
def _least(device: Ints) -> int:
    least = device[0]
    for left in device:
        least = min(least, left)
    return int(least)


@inner
def _clear(column: Ints) -> None:
    for index in range(len(column)):
        column[index] = 0


@inner
def _is_owner(owner: int, account: int) -> bool:
    """Whether a pod may have a device of which `owner` has shares. 0: nobody; the pod asks for no share."""
    return account in (0, owner) or owner == 0


@compiled
def _allocate_each(
    rows: Ints, pods: Ints, links: _Links, requests: _RequestColumns, free: HostColumns, allocated: Bools
) -> int:
    """Mark the pods that fit in `allocated`. Return their thousandths of devices in all."""
    owners = np.zeros(MAX_DEVICES, dtype=np.int64)
    total = 0
    for place in range(len(rows)):
        row, pod = rows[place], pods[place]
        if place and row != rows[place - 1]:
            _clear(owners)
        request, devices = links.request[pod], links.devices[pod]
        milli = requests.milli[request]
        fine = free.cpu[row] >= requests.cpu[request] and free.memory[row] >= requests.memory[request]
        fine &= free.disk[row] >= requests.disk[request]
        for index in range(MAX_DEVICES):
            if devices >> index & 1:
                fine &= index < free.gpus[row] and requests.accepts[request, free.device_class[row, index]]
                fine &= free.device[row, index] >= milli
                fine &= _is_owner(owners[index], requests.account[request])
        allocated[place] = fine
        if fine:
            free.cpu[row] -= requests.cpu[request]
            free.memory[row] -= requests.memory[request]
            free.disk[row] -= requests.disk[request]
            free.state[row] = 0
            for index in range(MAX_DEVICES):
                if devices >> index & 1:
                    free.device[row, index] -= milli
                    owners[index] = max(owners[index], requests.account[request])
                    total += milli
    return total
