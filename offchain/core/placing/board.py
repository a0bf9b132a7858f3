"""Chooses a host for one pod after the other, and keeps the scores of hosts that have not changed."""

from __future__ import annotations

import numpy as np

from offchain.core.placing.cluster import Cluster, Floats, Ints
from offchain.core.placing.compiled import compiled
from offchain.core.placing.policy import Policy
from offchain.core.placing.shapes import Shape


class _Row:
    """The scores of one shape, as they were after `seen` placements."""

    __slots__ = ("devices", "scores", "seen")

    def __init__(self, hosts: int) -> None:
        self.scores: Floats = np.full(hosts, np.inf)
        self.devices: Ints = np.zeros(hosts, dtype=np.int64)
        self.seen = -1


class Board:
    """One policy at work on one cluster. Of hosts with the same least score, `draws` decide."""

    def __init__(self, cluster: Cluster, policy: Policy, seed: int) -> None:
        self.cluster = cluster
        self._policy = policy
        self._random = np.random.default_rng([seed, 1])
        self._draws: list[int] = []
        self._rows: dict[Shape, _Row] = {}
        self._changed: list[int] = []
        self._all: Ints = np.arange(len(cluster), dtype=np.int64)

    def place(self, shape: Shape) -> int | None:
        """Place one pod; gives its host, or None where it fits nowhere."""
        row = self._row(shape)
        if not self._draws:
            self._draws = self._random.integers(0, 2**31, 4096).tolist()
        host = int(least(row.scores, self._draws.pop()))
        if host < 0:
            return None
        self.cluster.take(host, shape, int(row.devices[host]))
        self._changed.append(host)
        return host

    def look(self, shape: Shape) -> None:
        """Score all hosts for a shape that may come, without placing one."""
        self._row(shape)

    def scores(self, shape: Shape) -> Floats:
        """The scores of all hosts for a shape that was looked at."""
        return self._rows[shape].scores

    def _row(self, shape: Shape) -> _Row:
        row = self._rows.get(shape)
        if row is None:
            row = self._rows[shape] = _Row(len(self.cluster))
        behind = len(self._changed) - row.seen
        if row.seen < 0 or behind >= len(self.cluster) or not self._policy.steady:
            self._policy.score(shape, self._all, row.scores, row.devices)
        elif behind == 1:
            self._policy.score(shape, np.array(self._changed[-1:], dtype=np.int64), row.scores, row.devices)
        elif behind:
            changed = np.array(list(set(self._changed[row.seen :])), dtype=np.int64)
            self._policy.score(shape, changed, row.scores, row.devices)
        row.seen = len(self._changed)
        return row


@compiled
def least(scores: Floats, draw: int) -> int:
    """The place of the least score; of equals, the one that `draw` falls on; -1 where all are infinite."""
    best = np.inf
    equals = 0
    for index in range(len(scores)):
        if scores[index] < best:
            best = scores[index]
            equals = 1
        elif scores[index] == best:
            equals += 1
    if best == np.inf:
        return -1
    skip = draw % equals
    for index in range(len(scores)):
        if scores[index] == best:
            if skip == 0:
                return index
            skip -= 1
    return -1
