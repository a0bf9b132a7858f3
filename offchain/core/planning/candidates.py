"""What speaks for and against hosts for one task, at one moment: for people who ask why it went where it went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from offchain.core.fit import Misfit
from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Bools, indices
from offchain.core.planning.gates import Gate
from offchain.core.planning.rows import Rows
from offchain.core.values import Task


@dataclass(frozen=True, slots=True)
class Candidate:
    """A host that could take a pod. `points`: less is better, the sum of `parts`; `devices`: those it would take.

    `closed`: the round kept the host for others.
    """

    host: str
    devices: tuple[int, ...]
    points: float
    parts: Mapping[str, float]
    closed: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """All hosts as a task finds them before its first pod is placed.

    `fitting`: hosts that no rule excludes; `closed`: those of them that the round keeps for others. `excluded`: of the
    rest, how many by each rule. `best`: the best that are open, then the best that are closed.
    """

    hosts: int
    fitting: int
    closed: int
    excluded: Mapping[Misfit, int]
    best: tuple[Candidate, ...]


def look(fleet: Fleet, rows: Rows, task: Task, want: Want, gates: Sequence[Gate], most: int) -> Seen | None:
    """What a task sees now; None where no host has room for a pod of it."""
    points, devices = rows.points(want), rows.devices(want)
    fits = np.isfinite(points)
    open_to = int(fits.sum())
    if not open_to:
        return None
    excluded = fleet.excluded(want)
    # Others' hosts have no points at all.
    fitting = max(open_to, len(fleet.records) - sum(excluded.values()))
    shut: Bools = np.zeros(len(points), dtype=np.bool_)
    for gate in gates:
        mask = gate.closed(task, want, devices)
        if mask is not None:
            shut |= mask
    shut &= fits
    # Two short lists, so that a round that keeps nearly all hosts for others shows both.
    columns = (np.where(shut, np.inf, points), np.where(shut, points, np.inf)) if shut.any() else (points,)
    best = [host for column in columns for host in _least(column, most)][:most]
    parts = rows.parts(want, np.array(best, dtype=np.int64)) if best else {}
    candidates: list[Candidate] = []
    for place, host in enumerate(best):
        mine = {name: float(column[place]) for name, column in parts.items()}
        on = tuple(indices(int(devices[host])))
        candidates.append(Candidate(fleet.cluster.names[host], on, sum(mine.values()), mine, bool(shut[host])))
    return Seen(len(fleet.records), fitting, int(shut.sum()) + fitting - open_to, excluded, tuple(candidates))


def _least(column: npt.NDArray[np.floating[Any]], most: int) -> list[int]:
    """The places of the least finite values, the least first; of equals the first."""
    if not most:
        return []
    some = np.argpartition(column, most)[:most] if len(column) > most else np.arange(len(column))
    found = some[np.isfinite(column[some])]
    return [int(place) for place in found[np.lexsort((found, column[found]))]]
