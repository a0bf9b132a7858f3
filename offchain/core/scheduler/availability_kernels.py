"""Compiled loops of the availability profile: how many pods fit on a host, and from when on."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from offchain.core.scheduler.cluster import Cluster
from offchain.core.scheduler.columns import Bools, HostColumns, Ints, copy_row
from offchain.core.scheduler.device_choice import KernelRequest
from offchain.core.scheduler.jit import compiled, inner
from offchain.core.scheduler.pod_request import PodShape

FOREVER: Final = 1 << 62
"""An end, or a duration, without limit."""

NONE: Final = -1
"""In place of the number of a row."""

AT, CPU, MEMORY, MILLI, DEVICES = range(5)
"""Columns of `AvailabilityChanges.rows`: when, and what becomes free (below 0: used); `MILLI` on each of `DEVICES`."""

MOMENT, HOST, PODS = range(3)
"""Columns of the result of :func:`find_steps`."""


class AllocationColumn:
    """Columns of allocations as rows of numbers: :func:`offchain.core.scheduler.availability.allocation_rows`."""

    HOST, CPU, MEMORY, MILLI, DEVICES, FROM, UNTIL = range(7)
    COUNT = 7


_OF_HOST, _FROM, _UNTIL = AllocationColumn.HOST, AllocationColumn.FROM, AllocationColumn.UNTIL
_OF_CPU, _OF_MEMORY = AllocationColumn.CPU, AllocationColumn.MEMORY
_OF_MILLI, _OF_DEVICES = AllocationColumn.MILLI, AllocationColumn.DEVICES


class AvailabilityChanges(NamedTuple):
    """Future changes of free resources: a linked list of rows for each host, in order of time."""

    rows: Ints
    host: Ints
    """[row]: its host."""
    after: Ints
    """[row]: the next row of the host."""
    first: Ints
    """[host]: its first row."""
    shrinks_ms: Ints
    """[host]: the last time at which resources become used; 0 if they only become free."""


@inner
def _link(changes: AvailabilityChanges, row: int) -> None:
    rows, after, host = changes.rows, changes.after, changes.host[row]
    before, behind = NONE, changes.first[host]
    while behind != NONE and rows[behind, AT] < rows[row, AT]:
        before, behind = behind, after[behind]
    after[row] = behind
    if before == NONE:
        changes.first[host] = row
    else:
        after[before] = row


@compiled
def link_rows(changes: AvailabilityChanges, some: Ints) -> None:
    """Insert these rows into the lists of their hosts; fastest if the latest come first."""
    for row in some:
        _link(changes, row)


@compiled
def unlink_rows(changes: AvailabilityChanges, some: Ints) -> None:
    """Remove these rows from the lists of their hosts."""
    after = changes.after
    for row in some:
        host = changes.host[row]
        before, here = NONE, changes.first[host]
        while here != row:
            before, here = here, after[here]
        if before == NONE:
            changes.first[host] = after[row]
        else:
            after[before] = after[row]


@compiled
def apply_allocations(
    allocations: Ints,
    sign: int,
    now_ms: int,
    free: HostColumns,
    underway: Bools,
    changes: AvailabilityChanges,
    count: int,
) -> int:
    """Add (`sign` 1) or remove (-1) allocations; return the number of rows in use then, of which there were `count`.

    Those that have begun change `free`, and all that will begin or end add rows. `underway`: [host], whether something
    is allocated now.
    """
    rows, device = changes.rows, free.device
    for one in range(len(allocations)):
        host, from_ms, until_ms = allocations[one, _OF_HOST], allocations[one, _FROM], allocations[one, _UNTIL]
        if until_ms <= now_ms:
            continue
        cpu, memory, milli = allocations[one, _OF_CPU], allocations[one, _OF_MEMORY], allocations[one, _OF_MILLI]
        devices = allocations[one, _OF_DEVICES]
        if from_ms <= now_ms:
            underway[host] = True
            free.cpu[host] -= sign * cpu
            free.memory[host] -= sign * memory
            for index in range(device.shape[1]):
                device[host, index] -= sign * milli * (devices >> index & 1)
        for begins in (True, False):
            at = from_ms if begins else until_ms
            if at <= now_ms or at >= FOREVER:
                continue
            freed = -sign if begins else sign
            rows[count, AT], rows[count, DEVICES] = at, devices
            rows[count, CPU], rows[count, MEMORY], rows[count, MILLI] = freed * cpu, freed * memory, freed * milli
            changes.host[count] = host
            _link(changes, count)
            count += 1
            if freed < 0:
                changes.shrinks_ms[host] = max(changes.shrinks_ms[host], at)
    return count


@compiled
def pods_on(cpu: int, memory: int, device: Ints, wish: KernelRequest, most: int) -> int:
    """Return how many such pods fit beside each other, up to `most`; each needs its GPUs on different devices.

    `n` pods fit if the devices have room for `n` times their number, no device counting for more than `n`.
    """
    pods = most
    if wish.cpu > 0:
        pods = min(pods, cpu // wish.cpu)
    if wish.memory > 0:
        pods = min(pods, memory // wish.memory)
    if cpu < 0 or memory < 0 or pods <= 0:
        return 0
    if wish.gpus == 0:
        return pods
    while pods > 0:
        have = 0
        for left in device:
            if left >= wish.milli:
                have += min(left // wish.milli, pods)
        if have >= pods * wish.gpus:
            break
        pods = have // wish.gpus
    return pods


def pods_that_fit(cluster: Cluster, free: HostColumns, shape: PodShape, most: int) -> Ints:
    """Return how many such pods fit at once, up to `most`, [host], with so much free; disk is not looked at.

    Hosts with several models count as if all devices were of the first one. On others this is
    :func:`offchain.core.feasibility.count_pods` for all hosts, except that the devices of each pod are the best ones.
    """
    found: Ints = np.zeros(len(free.cpu), dtype=np.int64)
    _count_pods(free, KernelRequest.of(shape, cluster), most, found)
    return found


@compiled
def _count_pods(free: HostColumns, wish: KernelRequest, most: int, found: Ints) -> None:
    for host in range(len(free.cpu)):
        found[host] = 0
        if wish.accepts[free.main_class[host]]:
            found[host] = pods_on(free.cpu[host], free.memory[host], free.device[host], wish, most)


@inner
def _apply_to_devices(rows: Ints, row: int, device: Ints) -> None:
    devices = rows[row, DEVICES]
    if devices:
        for index in range(len(device)):
            device[index] += rows[row, MILLI] * (devices >> index & 1)


@compiled
def minimum_free(
    host: int, free: HostColumns, changes: AvailabilityChanges, from_ms: int, until_ms: int, least: Ints
) -> tuple[int, int]:
    """Return the least cores and memory free at any time in the interval, and write the least of each device."""
    rows, after = changes.rows, changes.after
    row = changes.first[host]
    cpu, memory = free.cpu[host], free.memory[host]
    device = free.device[host].copy()
    while row != NONE and rows[row, AT] <= from_ms:
        cpu += rows[row, CPU]
        memory += rows[row, MEMORY]
        _apply_to_devices(rows, row, device)
        row = after[row]
    least_cpu, least_memory = cpu, memory
    copy_row(device, least)
    while row != NONE and rows[row, AT] < until_ms:
        moment = rows[row, AT]
        # Rows with the same time are one change.
        while row != NONE and rows[row, AT] == moment:
            cpu += rows[row, CPU]
            memory += rows[row, MEMORY]
            _apply_to_devices(rows, row, device)
            row = after[row]
        least_cpu, least_memory = min(least_cpu, cpu), min(least_memory, memory)
        for index in range(len(device)):
            least[index] = min(least[index], device[index])
    return least_cpu, least_memory


@inner
def _moments(changes: AvailabilityChanges, first: int, begin_ms: int, duration_ms: int) -> Ints:
    """Return the times at which the number of pods that could start may change.

    Resources become free, or a start would overlap with a time at which they become used.
    """
    rows, after = changes.rows, changes.after
    count = 1
    row = first
    while row != NONE:
        count += 1
        row = after[row]
    moments = np.empty(count, dtype=np.int64)
    moments[0] = begin_ms
    row, count = first, 1
    while row != NONE:
        shrinks = rows[row, CPU] < 0 or rows[row, MEMORY] < 0 or rows[row, MILLI] < 0
        moment = max(begin_ms, rows[row, AT] - duration_ms + 1 if shrinks else rows[row, AT])
        # Insertion sort: rows are in order of time, so that only those which shrink have others to pass.
        at = count
        while moments[at - 1] > moment:
            moments[at] = moments[at - 1]
            at -= 1
        moments[at] = moment
        count += 1
        row = after[row]
    return moments


@compiled
def find_steps(  # noqa: C901  (one loop; parts of it as functions would take all of this as arguments)
    hosts: Ints,
    free: HostColumns,
    changes: AvailabilityChanges,
    wish: KernelRequest,
    begin_ms: int,
    duration_ms: int,
    pods: int,
    each: int,
    found: Ints,
) -> int:
    """Write when, and by how many, the number of pods that could start and stay on each host changes; return the rows.

    A host counts for at most `each` pods. Nothing is written after the first time at which one host alone has room for
    all `pods`; of the hosts of a single pod with the same time, only the first is written.
    """
    rows, after = changes.rows, changes.after
    count = 0
    latest = FOREVER
    enough = 1 if pods == 1 else 0
    device = np.empty(free.device.shape[1], dtype=np.int64)
    for host in hosts:
        row = changes.first[host]
        had = 0
        if changes.shrinks_ms[host] > begin_ms:
            last = -1
            for moment in _moments(changes, row, begin_ms, duration_ms):
                if moment == last:
                    continue
                last = moment
                if moment > latest:
                    break
                cpu, memory = minimum_free(host, free, changes, moment, moment + duration_ms, device)
                has = pods_on(cpu, memory, device, wish, each)
                if has != had:
                    found[count, MOMENT], found[count, HOST], found[count, PODS] = moment, host, has - had
                    count += 1
                    had = has
                if had >= pods:
                    latest = moment - enough
                    break
            continue
        cpu, memory = free.cpu[host], free.memory[host]
        copy_row(free.device[host], device)
        moment = begin_ms
        while moment <= latest:
            while row != NONE and rows[row, AT] <= moment:
                cpu += rows[row, CPU]
                memory += rows[row, MEMORY]
                _apply_to_devices(rows, row, device)
                row = after[row]
            has = pods_on(cpu, memory, device, wish, each)
            if has > had:
                found[count, MOMENT], found[count, HOST], found[count, PODS] = moment, host, has - had
                count += 1
                had = has
            if had >= pods:
                latest = moment - enough
            if had >= each or row == NONE:
                break
            moment = rows[row, AT]
    return count
