"""Chooses a host for one pod after the other, and keeps the scores of hosts that have not changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from offchain.core.placing.cluster import Cluster
from offchain.core.placing.compiled import compiled
from offchain.core.placing.devices import Wish, fullest
from offchain.core.placing.free import Bools, Floats, Ints
from offchain.core.placing.policy import Policy
from offchain.core.placing.shapes import Shape

_FEW = 32
"""Hosts to ask one by one; if more got something back, all are looked at."""


class Place(NamedTuple):
    """Where a pod is: a host, and devices of it as bits."""

    host: int
    devices: int


class _Row:
    """The scores of one shape, as they were after `seen` changes."""

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
        self._given: list[int] = []
        """Hosts that got something back, in order."""
        self._nowhere: dict[Shape, int] = {}
        """Shapes that fitted on no host when so many had got something back."""
        self._wishes: dict[Shape, Wish] = {}
        self._all: Ints = np.arange(len(cluster), dtype=np.int64)

    def place(self, shape: Shape) -> int | None:
        """Place one pod; gives its host, or None where it fits nowhere."""
        place = self.put(shape)
        return None if place is None else place.host

    def put(self, shape: Shape, allowed: Callable[[Ints], Bools | None] | None = None) -> Place | None:
        """Place one pod on the best host, of those that are allowed; None where it fits on none of them.

        `allowed` is given the devices of each host that such a pod would take there, as bits, which mean nothing where
        it does not fit; it says for each host whether it may go there, or None: anywhere.
        """
        if not self._draws:
            self._draws = self._random.integers(0, 2**31, 4096).tolist()
        draw = self._draws.pop()
        if self.hopeless(shape):
            return None
        row = self._row(shape)
        open_to = None if allowed is None else allowed(row.devices)
        host = int(least(row.scores if open_to is None else np.where(open_to, row.scores, np.inf), draw))
        if host < 0:
            if open_to is None or row.scores.min() == np.inf:
                self._nowhere[shape] = len(self._given)
            return None
        place = Place(host, int(row.devices[host]))
        self.take(shape, place)
        return place

    def take(self, shape: Shape, place: Place) -> None:
        """Place one pod just there. ValueError: there is no room."""
        self.cluster.take(place.host, shape, place.devices)
        self._changed.append(place.host)

    def give(self, shape: Shape, place: Place) -> None:
        """A pod has ended: its share is free again. ValueError: it cannot have been there."""
        self.cluster.give(place.host, shape, place.devices)
        self._changed.append(place.host)
        self._given.append(place.host)

    def look(self, shape: Shape) -> None:
        """Score all hosts for a shape that may come, without placing one."""
        self._row(shape)

    def scores(self, shape: Shape) -> Floats:
        """The scores of all hosts for a shape that was looked at."""
        return self._rows[shape].scores

    def hopeless(self, shape: Shape) -> bool:
        """Whether it is known without a look at all hosts: it fitted nowhere, and fits on none that got more since."""
        since = self._nowhere.get(shape)
        if since is None or not self._policy.steady or len(self._given) - since > _FEW:
            return False
        wish = self._wishes.get(shape)
        if wish is None:
            wish = self._wishes[shape] = Wish.of(shape, self.cluster)
        if any(fullest(host, self.cluster.free, wish) >= 0 for host in self._given[since:]):
            return False
        self._nowhere[shape] = len(self._given)
        return True

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
