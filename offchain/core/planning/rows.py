"""For each want, the points of every host; kept, and counted anew for hosts that have changed since."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from offchain.core.fleet.filters.price import surely_within
from offchain.core.fleet.fleet import Fleet
from offchain.core.fleet.rules import allowed
from offchain.core.fleet.want import Want
from offchain.core.placing.cluster import AnyInts, Bools, Floats, Ints
from offchain.core.placing.worth import Lane, Worth
from offchain.core.planning.scores import Weights, beside_room, parts_beside_room
from offchain.core.planning.scores.draw import draw

Points = npt.NDArray[np.float32]

MOST_ROWS = 1024
"""Wants that are kept; of more, those that were asked for longest ago go."""

_FEW = 16
_RECENT = 128
"""To look at so many changes is less work than to look at all hosts."""

_NOBODY: Ints = np.zeros(0, dtype=np.int64)


class _Row:
    """Narrow columns: with 400 wants and 100,000 hosts there are 40 million of each."""

    __slots__ = ("facts_seen", "lane", "room_seen")

    def __init__(self) -> None:
        self.lane = empty_lane(0)
        self.room_seen = 0
        self.facts_seen = 0

    def __len__(self) -> int:
        return len(self.lane.points)

    def grow(self, hosts: int) -> None:
        """To so many hosts."""
        points, devices, more, sure = self.lane
        self.lane = Lane(_longer(points, hosts), _longer(devices, hosts), _longer(more, hosts), _longer(sure, hosts))


class _Log:
    """Which hosts have changed since when: each host's last change, and the last few changes one by one."""

    def __init__(self) -> None:
        self.end = 0
        """How many changes there were."""
        self._last: Ints = np.zeros(_FEW, dtype=np.int64)
        """[host]: the number of its last change."""
        self._recent: list[int] = []

    def add(self, changed: Collection[int], hosts: int) -> None:
        if hosts > len(self._last):
            self._last = _longer(self._last, 2 * hosts)
        if len(changed) == 1:
            (one,) = changed
            self._last[one] = self.end + 1
        else:
            self._last[np.fromiter(changed, dtype=np.int64, count=len(changed))] = self.end + 1
        self.end += len(changed)
        self._recent.extend(changed)
        if len(self._recent) > 2 * _RECENT:
            del self._recent[:-_RECENT]

    def since(self, seen: int, hosts: int) -> Ints:
        """Each once."""
        new = self.end - seen
        if new <= min(_RECENT, len(self._recent)):
            return np.array(list(dict.fromkeys(self._recent[len(self._recent) - new :])), dtype=np.int64)
        return np.flatnonzero(self._last[:hosts] > seen)


class Rows:
    """Less is better; infinite where the pod cannot go. The same fleet and seed give the same points."""

    def __init__(self, fleet: Fleet, policy: Worth, weights: Weights, seed: bytes) -> None:
        self._fleet = fleet
        self._policy = policy
        self._weights = weights
        self._seed = seed
        self._rows: OrderedDict[Want, _Row] = OrderedDict()
        self._room, self._facts = _Log(), _Log()
        self._draw: Floats = np.zeros(0)
        self._closed: Bools = np.zeros(0, dtype=np.bool_)

    def close(self, hosts: Bools) -> None:
        """[host]: nobody can go there, until this is called again; to hosts that come later anybody can."""
        before, self._closed = self._closed, hosts
        rows = np.arange(max(len(before), len(hosts)))
        self._room.add(rows[_at(before, rows) != _at(hosts, rows)].tolist(), len(self._fleet.cluster))

    def is_closed(self, host: int) -> bool:
        """Whether nobody can go there now."""
        return host < len(self._closed) and bool(self._closed[host])

    def changed(self, hosts: Collection[int], *, facts: bool = False) -> None:
        """What is free there is not what it was. `facts`: nor is something else, or the host is new."""
        if not hosts:
            return
        self._room.add(hosts, len(self._fleet.cluster))
        if facts:
            self._facts.add(hosts, len(self._fleet.cluster))

    def use(self, policy: Worth) -> None:
        """Score by another policy from now on."""
        self._policy = policy
        self._rows.clear()

    def fill(self, want: Want, pods: int) -> tuple[list[int], list[int], int]:
        """Place up to so many pods, one after the other, each on the best host, and take their shares.

        Gives their hosts, their devices as bits, and the host at which it stopped because only the exact rule knows
        whether it is too dear; -1: at none.
        """
        # What is closed is taken out of a row between scoring and placing; else one call does both.
        row, stale = (self._row(want), _NOBODY) if len(self._closed) else self._judged(want)
        chosen, on = np.empty(pods, dtype=np.int64), np.empty(pods, dtype=np.int64)
        placed, stopped = self._policy.fill(want.shape, stale, row.lane, chosen, on)
        hosts: list[int] = chosen[:placed].tolist()
        self._room.add(dict.fromkeys(hosts), len(self._fleet.cluster))
        row.room_seen = self._room.end
        return hosts, on[:placed].tolist(), stopped

    def points(self, want: Want) -> Points:
        """Of all hosts."""
        points: Points = self._row(want).lane.points
        return points

    def devices(self, want: Want) -> AnyInts:
        """[host]: those that the pod would take there, as bits; -1 where it has no room."""
        return self._row(want).lane.devices

    def parts(self, want: Want, hosts: Ints) -> dict[str, Floats]:
        """For each of these hosts, where the pod fits, what its points are made of, by name; they add up to them."""
        count = len(self._fleet.cluster)
        scores, devices = np.zeros(count), np.zeros(count, dtype=np.int64)
        self._policy.score(want.shape, hosts, scores, devices)
        beside = parts_beside_room(want, self._fleet.facts.at(hosts), self._weights)
        return self._policy.parts(scores[hosts]) | beside | {"draw": self._drawn()[hosts]}

    def affordable(self, want: Want, host: int) -> bool:
        """Whether pods of this want surely cost no more than their limit there, on whatever devices."""
        return bool(self._row(want).lane.sure[host])

    def afford(self, want: Want, host: int) -> None:
        """It was found so; it holds until something but the room of the host changes."""
        self._row(want).lane.sure[host] = True

    def exclude(self, want: Want, host: int) -> None:
        """No pod of this want can go there, as an exact rule has found; until the host changes."""
        self._row(want).lane.points[host] = np.inf

    def _row(self, want: Want) -> _Row:
        row, stale = self._judged(want)
        if len(stale):
            self._policy.fill(want.shape, stale, row.lane, _NOBODY, _NOBODY)
            if len(self._closed):
                row.lane.points[stale[_at(self._closed, stale)]] = np.inf
            row.room_seen = self._room.end
        return row

    def _judged(self, want: Want) -> tuple[_Row, Ints]:
        """The row, and the hosts that are to be scored anew in it."""
        row = self._rows.get(want)
        if row is None:
            row = self._rows[want] = _Row()
            if len(self._rows) > MOST_ROWS:
                self._rows.popitem(last=False)
        self._rows.move_to_end(want)
        if row.room_seen == self._room.end and row.facts_seen == self._facts.end:
            return row, _NOBODY
        hosts = len(self._fleet.cluster)
        if len(row) < hosts:
            row.grow(hosts)
        if row.facts_seen != self._facts.end:
            self._judge(want, row.lane, self._facts.since(row.facts_seen, hosts))
            row.facts_seen = self._facts.end
        return row, self._room.since(row.room_seen, hosts)

    def _judge(self, want: Want, lane: Lane, hosts: Ints) -> None:
        """What does not depend on room."""
        facts = self._fleet.facts if len(hosts) == len(lane.more) else self._fleet.facts.at(hosts)
        against = beside_room(want, facts, self._weights) + self._drawn()[hosts]
        lane.more[hosts] = np.where(allowed(want, facts), against, np.inf)
        lane.sure[hosts] = surely_within(want, facts)

    def _drawn(self) -> Floats:
        """[host]: a number that depends on its name and the seed."""
        names = self._fleet.cluster.names
        if len(self._draw) < len(names):
            more = [draw(name, self._seed) for name in names[len(self._draw) :]]
            self._draw = np.concatenate([self._draw, np.array(more) * self._weights.draw])
        return self._draw


def _at(column: Bools, rows: Ints) -> Bools:
    """False beyond its end."""
    found = np.zeros(len(rows), dtype=np.bool_)
    known = rows < len(column)
    found[known] = column[rows[known]]
    return found


def empty_lane(hosts: int) -> Lane:
    """Of so many hosts, all of them as good, and none sure."""
    points, more = np.zeros(hosts, dtype=np.float32), np.zeros(hosts, dtype=np.float32)
    return Lane(points, np.zeros(hosts, dtype=np.int32), more, np.zeros(hosts, dtype=np.bool_))


def _longer(column: npt.NDArray[Any], rows: int) -> npt.NDArray[Any]:
    more = np.zeros(rows, dtype=column.dtype)
    more[: len(column)] = column
    return more
