"""Column types of the scheduler, and what is free of hosts as columns for compiled loops."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
AnyInts = npt.NDArray[np.signedinteger[Any]]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

MAX_DEVICES = 16
"""The most devices of one host, as on the chain."""


class HostColumns(NamedTuple):
    """What is free of all hosts. Row `i` of each column is host `i`.

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
