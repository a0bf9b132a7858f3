"""What is free of hosts, as columns for compiled loops."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
AnyInts = npt.NDArray[np.signedinteger[Any]]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

MOST_DEVICES = 16
"""Of one host, as on the chain."""


class Columns(NamedTuple):
    """What is free, as compiled loops read it. Row `i` of each column is host `i`.

    A device of which an account has shares is of a kind of its own, which no share of another account accepts.
    """

    cpu: Ints
    """-1: this host takes nothing at all."""
    memory: Ints
    disk: Ints
    device: AnyInts
    """[host, device]: free thousandths; 0 beyond the host's last device, so that nothing fits there."""
    kind: AnyInts
    """[host, device]: its place in :attr:`Cluster.kinds`."""
    gpus: Ints
    """How many devices."""
    main: Ints
    """The kind that stands for the host's devices: that of the first."""
    state: Ints
    """A number for all of this but the disk, the same where that is; 0: not counted since it changed."""


def columns(hosts: int) -> Columns:
    """Of so many hosts, all zero."""

    def column(*more: int) -> Ints:
        return np.zeros((hosts, *more), dtype=np.int64)

    # Narrow, for loops read them of one host here and one there.
    devices = np.zeros((hosts, MOST_DEVICES), dtype=np.int16), np.zeros((hosts, MOST_DEVICES), dtype=np.int16)
    return Columns(column(), column(), column(), *devices, column(), column(), column())


def beside(free: Columns) -> Columns:
    """Columns for the same hosts when nothing runs there: what does not depend on that is there once."""
    cpu, memory, disk, device, kind = (np.zeros_like(column) for column in (*free[:4], free.kind))
    return free._replace(cpu=cpu, memory=memory, disk=disk, device=device, kind=kind)


def copied(held: Columns, into: Columns) -> Columns:
    """These with the hosts of `held` as the first."""
    pairs: Iterable[tuple[AnyInts, AnyInts]] = zip(held, into, strict=True)
    for old, new in pairs:
        new[: len(old)] = old
    return into


def indices(devices: int) -> list[int]:
    """The numbers of the devices whose bits are set."""
    found = []
    while devices:
        least = devices & -devices
        found.append(least.bit_length() - 1)
        devices ^= least
    return found


def bits(devices: Iterable[int]) -> int:
    """The same the other way: a bit for each of these numbers."""
    return sum(1 << index for index in devices)
