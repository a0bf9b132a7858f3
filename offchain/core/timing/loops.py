"""How much room a host has, and from when on: the loops that are compiled."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from offchain.core.scheduler.cluster import KernelRequest, copy_row
from offchain.core.scheduler.columns import Bools, HostColumns, Ints
from offchain.core.scheduler.kernel_cache import compiled, inner
from offchain.core.timing.claims import FOREVER, Column

AT, CPU, MEMORY, MILLI, DEVICES = range(5)
"""The columns of :attr:`Changes.rows`: when, and what comes (or, less than 0, goes); `MILLI` of each of `DEVICES`."""

MOMENT, HOST, PODS = range(3)
"""The columns of what :func:`steps` finds."""

NONE: Final = -1
"""No row."""

_FROM, _UNTIL, _OF_HOST = Column.FROM, Column.UNTIL, Column.HOST
_OF_CPU, _OF_MEMORY, _OF_MILLI, _OF_DEVICES = Column.CPU, Column.MEMORY, Column.MILLI, Column.DEVICES


class Changes(NamedTuple):
    """How what is free will change. A host's first row leads to its next one, in the order of time."""

    rows: Ints
    host: Ints
    """[row]: of which host."""
    after: Ints
    """[row]: the next one."""
    first: Ints
    """[host]: its first row."""
    shrinks_ms: Ints
    """[host]: when room goes for the last time, 0 where it only comes."""


@inner
def _enter(changes: Changes, row: int) -> None:
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
def enter(changes: Changes, some: Ints) -> None:
    """Chain these rows, which are not. It takes least where the last moments come first."""
    for row in some:
        _enter(changes, row)


@compiled
def leave(changes: Changes, some: Ints) -> None:
    """Take these rows, which are chained, out of their chains."""
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
def hold(claims: Ints, sign: int, now_ms: int, free: HostColumns, underway: Bools, changes: Changes, many: int) -> int:
    """Claims come (`sign` 1) or go (-1): to `free` where they have begun, else as rows from `many` on; how many then.

    `underway`: [host], whether something of it is held now.
    """
    rows, device = changes.rows, free.device
    for claim in range(len(claims)):
        host, from_ms, until_ms = claims[claim, _OF_HOST], claims[claim, _FROM], claims[claim, _UNTIL]
        if until_ms <= now_ms:
            continue
        cpu, memory, milli = claims[claim, _OF_CPU], claims[claim, _OF_MEMORY], claims[claim, _OF_MILLI]
        devices = claims[claim, _OF_DEVICES]
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
            comes = -sign if begins else sign
            rows[many, AT], rows[many, DEVICES] = at, devices
            rows[many, CPU], rows[many, MEMORY], rows[many, MILLI] = comes * cpu, comes * memory, comes * milli
            changes.host[many] = host
            _enter(changes, many)
            many += 1
            if comes < 0:
                changes.shrinks_ms[host] = max(changes.shrinks_ms[host], at)
    return many


@compiled
def pods_on(cpu: int, memory: int, device: Ints, wish: KernelRequest, most: int) -> int:
    """How many such pods have room beside each other, up to `most`; each needs its GPUs on different devices.

    `n` pods have, where the devices have room for `n` times their number, no device counting for more than `n`.
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


@compiled
def counts(free: HostColumns, wish: KernelRequest, most: int, found: Ints) -> None:
    """Write for each host how many such pods have room, up to `most`."""
    for host in range(len(free.cpu)):
        found[host] = 0
        if wish.accepts[free.main_class[host]]:
            found[host] = pods_on(free.cpu[host], free.memory[host], free.device[host], wish, most)


@inner
def _change(rows: Ints, row: int, device: Ints) -> None:
    devices = rows[row, DEVICES]
    if devices:
        for index in range(len(device)):
            device[index] += rows[row, MILLI] * (devices >> index & 1)


@compiled
def lowest(host: int, free: HostColumns, changes: Changes, from_ms: int, until_ms: int, least: Ints) -> tuple[int, int]:
    """The least cores and memory that are free at any moment before `until_ms`; into `least`, that of each device."""
    rows, after = changes.rows, changes.after
    row = changes.first[host]
    cpu, memory = free.cpu[host], free.memory[host]
    device = free.device[host].copy()
    while row != NONE and rows[row, AT] <= from_ms:
        cpu += rows[row, CPU]
        memory += rows[row, MEMORY]
        _change(rows, row, device)
        row = after[row]
    least_cpu, least_memory = cpu, memory
    copy_row(device, least)
    while row != NONE and rows[row, AT] < until_ms:
        moment = rows[row, AT]
        # What comes and what goes in the same moment are one change.
        while row != NONE and rows[row, AT] == moment:
            cpu += rows[row, CPU]
            memory += rows[row, MEMORY]
            _change(rows, row, device)
            row = after[row]
        least_cpu, least_memory = min(least_cpu, cpu), min(least_memory, memory)
        for index in range(len(device)):
            least[index] = min(least[index], device[index])
    return least_cpu, least_memory


@inner
def _moments(changes: Changes, first: int, begin_ms: int, longest_ms: int) -> Ints:
    """When the number of pods that could start may change: room comes, or a start would reach into what goes."""
    rows, after = changes.rows, changes.after
    many = 1
    row = first
    while row != NONE:
        many += 1
        row = after[row]
    moments = np.empty(many, dtype=np.int64)
    moments[0] = begin_ms
    row, many = first, 1
    while row != NONE:
        goes = rows[row, CPU] < 0 or rows[row, MEMORY] < 0 or rows[row, MILLI] < 0
        moment = max(begin_ms, rows[row, AT] - longest_ms + 1 if goes else rows[row, AT])
        # Sorted in: rows are in the order of time, so that only what goes has others to pass.
        place = many
        while moments[place - 1] > moment:
            moments[place] = moments[place - 1]
            place -= 1
        moments[place] = moment
        many += 1
        row = after[row]
    return moments


@compiled
def steps(  # noqa: C901  (one loop; parts of it as functions would take all of this as arguments)
    hosts: Ints,
    free: HostColumns,
    changes: Changes,
    wish: KernelRequest,
    begin_ms: int,
    longest_ms: int,
    pods: int,
    each: int,
    found: Ints,
) -> int:
    """Write when the number of pods that could start on each of `hosts`, and stay, changes by how many; how many rows.

    Of a host no more than `each` count. Nothing after the first moment at which one alone has room for all `pods`; of
    a single pod's hosts with the same moment, only the first.
    """
    rows, after = changes.rows, changes.after
    many = 0
    latest = FOREVER
    enough = 1 if pods == 1 else 0
    device = np.empty(free.device.shape[1], dtype=np.int64)
    for host in hosts:
        row = changes.first[host]
        had = 0
        if changes.shrinks_ms[host] > begin_ms:
            last = -1
            for moment in _moments(changes, row, begin_ms, longest_ms):
                if moment == last:
                    continue
                last = moment
                if moment > latest:
                    break
                cpu, memory = lowest(host, free, changes, moment, moment + longest_ms, device)
                has = pods_on(cpu, memory, device, wish, each)
                if has != had:
                    found[many, MOMENT], found[many, HOST], found[many, PODS] = moment, host, has - had
                    many += 1
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
                _change(rows, row, device)
                row = after[row]
            has = pods_on(cpu, memory, device, wish, each)
            if has > had:
                found[many, MOMENT], found[many, HOST], found[many, PODS] = moment, host, has - had
                many += 1
                had = has
            if had >= pods:
                latest = moment - enough
            if had >= each or row == NONE:
                break
            moment = rows[row, AT]
    return many
