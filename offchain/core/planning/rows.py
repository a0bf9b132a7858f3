"""For each want, the points of every host; kept, and counted anew for hosts that have changed since."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.rules import allowed
from offchain.core.fleet.want import Want
from offchain.core.placing.cluster import Bools, Floats, Ints
from offchain.core.placing.policy import Policy
from offchain.core.planning.scores import Weights, beside_room
from offchain.core.planning.scores.draw import draw

MOST_ROWS = 1024
"""Wants that are kept; of more, those that were asked for longest ago go."""


class _Row:
    __slots__ = ("affordable", "allowed", "devices", "facts_seen", "more", "points", "room_seen")

    def __init__(self) -> None:
        self.points: Floats = np.zeros(0)
        self.devices: Ints = np.zeros(0, dtype=np.int64)
        self.allowed: Bools = np.zeros(0, dtype=np.bool_)
        self.more: Floats = np.zeros(0)
        self.room_seen = 0
        self.facts_seen = 0
        self.affordable: set[int] = set()


class _Log:
    """Which hosts have changed, in order; cut off at the front when it is long."""

    def __init__(self) -> None:
        self._hosts: list[int] = []
        self._cut = 0

    @property
    def end(self) -> int:
        return self._cut + len(self._hosts)

    def add(self, host: int, hosts: int) -> None:
        self._hosts.append(host)
        if len(self._hosts) > 4 * hosts + 4096:
            # Whoever has not looked for so long counts everything anew, which is less work by now.
            half = len(self._hosts) // 2
            del self._hosts[:half]
            self._cut += half

    def since(self, seen: int, hosts: int) -> Ints | None:
        """Each once; None where that is most of them."""
        if seen < self._cut or self.end - seen >= hosts:
            return None
        return np.array(list(set(self._hosts[seen - self._cut :])), dtype=np.int64)


class Rows:
    """Less is better; infinite where the pod cannot go. The same fleet and seed give the same points."""

    def __init__(self, fleet: Fleet, policy: Policy, weights: Weights, seed: bytes) -> None:
        self._fleet = fleet
        self._policy = policy
        self._weights = weights
        self._seed = seed
        self._rows: OrderedDict[Want, _Row] = OrderedDict()
        self._room, self._facts = _Log(), _Log()
        self._draw: Floats = np.zeros(0)

    def changed(self, host: int, *, facts: bool = False) -> None:
        """What is free there is not what it was. `facts`: nor is something else, or the host is new."""
        self._room.add(host, len(self._fleet.cluster))
        if facts:
            self._facts.add(host, len(self._fleet.cluster))

    def use(self, policy: Policy) -> None:
        """Score by another policy from now on."""
        self._policy = policy
        self._rows.clear()

    def best(self, want: Want) -> tuple[int, int] | None:
        """The best host and its devices as bits; None where the pod fits nowhere."""
        row = self._row(want)
        if not len(row.points):
            return None
        host = int(np.argmin(row.points))
        return None if row.points[host] == np.inf else (host, int(row.devices[host]))

    def points(self, want: Want) -> Floats:
        """Of all hosts."""
        return self._row(want).points

    def devices(self, want: Want) -> Ints:
        """[host]: those that the pod would take there, as bits; -1 where it has no room."""
        return self._row(want).devices

    def affordable(self, want: Want, host: int) -> bool:
        """Whether it was found that pods of this want cost no more than their limit there, on whatever devices."""
        return host in self._row(want).affordable

    def afford(self, want: Want, host: int) -> None:
        """It was found so; it holds until something but the room of the host changes."""
        self._row(want).affordable.add(host)

    def exclude(self, want: Want, host: int) -> None:
        """No pod of this want can go there, as an exact rule has found; until the host changes."""
        self._row(want).points[host] = np.inf

    def _row(self, want: Want) -> _Row:
        row = self._rows.get(want)
        if row is None:
            row = self._rows[want] = _Row()
            if len(self._rows) > MOST_ROWS:
                self._rows.popitem(last=False)
        self._rows.move_to_end(want)
        hosts = len(self._fleet.cluster)
        known = len(row.points)
        if known < hosts:
            row.points = _longer(row.points, hosts, np.inf)
            row.more = _longer(row.more, hosts, 0.0)
            row.devices = np.concatenate([row.devices, np.full(hosts - known, -1, dtype=np.int64)])
            row.allowed = np.concatenate([row.allowed, np.zeros(hosts - known, dtype=np.bool_)])
        everything = np.arange(hosts, dtype=np.int64)
        facts = None if not known else self._facts.since(row.facts_seen, hosts)
        if facts is None or len(facts):
            self._judge(want, row, everything if facts is None else facts)
        room = None if not known else self._room.since(row.room_seen, hosts)
        if room is None or len(room):
            self._count(want, row, everything if room is None else room)
        row.facts_seen, row.room_seen = self._facts.end, self._room.end
        return row

    def _judge(self, want: Want, row: _Row, hosts: Ints) -> None:
        """What does not depend on room."""
        row.affordable.difference_update(hosts.tolist())
        facts = self._fleet.facts if len(hosts) == len(row.points) else self._fleet.facts.at(hosts)
        row.allowed[hosts] = allowed(want, facts)
        row.more[hosts] = beside_room(want, facts, self._weights) + self._drawn()[hosts]

    def _count(self, want: Want, row: _Row, hosts: Ints) -> None:
        row.points[hosts] = np.inf
        open_to = hosts[row.allowed[hosts]]
        if len(open_to):
            self._policy.score(want.shape, open_to, row.points, row.devices)
            row.points[open_to] += row.more[open_to]

    def _drawn(self) -> Floats:
        """[host]: a number that depends on its name and the seed."""
        names = self._fleet.cluster.names
        if len(self._draw) < len(names):
            more = [draw(name, self._seed) for name in names[len(self._draw) :]]
            self._draw = np.concatenate([self._draw, np.array(more) * self._weights.draw])
        return self._draw


def _longer(column: Floats, rows: int, value: float) -> Floats:
    return np.concatenate([column, np.full(rows - len(column), value)])
